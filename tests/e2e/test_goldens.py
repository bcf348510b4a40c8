"""Every golden in a live cluster: accepted, unchanged by a second apply, and as it is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from e2e.live import Live, problems
from test_golden import CASES, options_of

from trainc.features.cluster.doctor.comparison import number_of
from trainc.ir.release import release_facts
from trainc.kube.releases import NEWEST_RELEASE
from trainc.options import Limits
from trainc.reading.yaml_reader import read_documents

pytestmark = pytest.mark.e2e
GOLDEN = Path(__file__).parents[2] / "golden"
# The objects that the controller would create are not meant to be applied; v1/ has TrainJobs for Trainer itself.
FILES = [
    path
    for path in sorted([*GOLDEN.glob("*.yaml"), *GOLDEN.glob("seeds/*.yaml")])
    if not path.stem.endswith("-controller")
]


def documents_of(path: Path) -> list[dict[str, Any]]:
    documents, _ = read_documents(path.read_bytes(), str(path), Limits())
    return [dict(document.data) for document in documents]


def jobset_of(path: Path) -> str:
    """The JobSet minor that a golden is compiled for; that of the newest release if no case says so."""
    release = options_of(path.stem).release if path.parent == GOLDEN and path.stem in CASES else None
    return release_facts(release or NEWEST_RELEASE).jobset


@pytest.mark.parametrize("path", FILES, ids=[path.relative_to(GOLDEN).as_posix() for path in FILES])
def test_a_golden_is_accepted_and_stays_as_it_is(path: Path, live: Live) -> None:
    documents = live.here(documents_of(path))
    jobset = live.components.get("JobSet")
    if jobset is not None and number_of(jobset.version) > number_of(jobset_of(path)):
        pytest.skip(f"for an older JobSet than {jobset.version}, which sets defaults of its own")
    missing = live.missing_kinds(documents)
    if missing:
        pytest.skip(f"not in this cluster: {', '.join(missing)}")
    assert list(problems(live, documents)) == []
