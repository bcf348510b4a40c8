"""What an upgrade of Trainer changes for a job of each runtime of the catalog, as a page that people read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from builders import trainjob
from comparing import diff_markdown
from golden_files import GoldenFile
from syrupy.assertion import SnapshotAssertion

from trainc import Options
from trainc.admission.updates import JobSetRules
from trainc.features.gitops.diff.comparison import compare
from trainc.features.gitops.diff.delivery import ARGOCD, DELIVERY_METHODS
from trainc.features.gitops.diff.model import Diff, Side
from trainc.functions import compile_documents
from trainc.kube.releases import NEWEST_RELEASE, RELEASES
from trainc.reading.catalog import find, names, releases
from trainc.reading.document import Document

ROOT = Path(__file__).parents[1]
INTRODUCTION = f"""\
# Upgrade impact

What moving from an older Trainer release to {NEWEST_RELEASE} changes in git, for the smallest TrainJob of every runtime
that trainc ships: `trainc diff --releases OLD..{NEWEST_RELEASE} --format markdown`. A runtime that an older release does
not have is under the first one that has it. `make golden` writes this page.
"""


class MarkdownExtension(GoldenFile):
    """A page at the top level of golden/."""

    file_extension = "md"


def job_of(runtime: str) -> dict[str, Any]:
    """The smallest TrainJob of a runtime, under a name that the longest of its steps leaves room for."""
    return trainjob(runtime=runtime, name=runtime.replace(".", "-"))


def compiled_for(runtimes: list[str], release: str) -> Side:
    documents = [Document.of(job_of(runtime)) for runtime in runtimes]
    compilation = compile_documents(documents, (), Options(release=release), find)
    return Side(f"Trainer {release}", compilation.manifests)


def upgrade(release: str) -> Diff | None:
    """The upgrade from `release`, for the runtimes that begin with it; None if there are none."""
    runtimes = [name for name in names() if releases(name)[0] == release and NEWEST_RELEASE in releases(name)]
    if release == NEWEST_RELEASE or not runtimes:
        return None
    sides = compiled_for(runtimes, release), compiled_for(runtimes, NEWEST_RELEASE)
    return compare(*sides, JobSetRules(NEWEST_RELEASE), [ARGOCD, *DELIVERY_METHODS], NEWEST_RELEASE)


@pytest.mark.golden
@pytest.mark.filterwarnings(r"ignore:\s*Can not relate snapshot:UserWarning")
def test_the_page_is_what_an_upgrade_changes(snapshot: SnapshotAssertion) -> None:
    upgrades = [diff for release in RELEASES if (diff := upgrade(release))]
    page = "\n".join([INTRODUCTION, *(diff_markdown(diff, most=10**9) for diff in upgrades)])
    assert page == snapshot.use_extension(MarkdownExtension)(name="upgrade-impact")


def test_every_runtime_that_serves_the_newest_release_is_compared_or_new_in_it() -> None:
    upgrades = [diff for release in RELEASES if (diff := upgrade(release))]
    compared = sum(len(diff.jobs) + diff.unchanged for diff in upgrades)
    served = [name for name in names() if NEWEST_RELEASE in releases(name)]
    new = [name for name in served if releases(name)[0] == NEWEST_RELEASE]
    assert compared + len(new) == len(served)
    assert compared > 5
