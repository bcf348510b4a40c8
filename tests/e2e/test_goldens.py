"""Every golden in a live cluster: accepted, unchanged by a second apply, and as it is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from e2e.live import Live, problems

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


@pytest.mark.parametrize("path", FILES, ids=[path.relative_to(GOLDEN).as_posix() for path in FILES])
def test_a_golden_is_accepted_and_stays_as_it_is(path: Path, live: Live) -> None:
    documents = live.here(documents_of(path))
    missing = live.missing_kinds(documents)
    if missing:
        pytest.skip(f"not in this cluster: {', '.join(missing)}")
    assert list(problems(live, documents)) == []
