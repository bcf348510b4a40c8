"""Runtimes that no TrainJob uses: what their TrainJobs would meet is said before there is one."""

from __future__ import annotations

from typing import Any

import pytest
from builders import container, job, runtime, trainjob

from trainc import Diagnostic, Options
from trainc.explain import place
from trainc.kube.releases import RELEASES
from trainc.pipeline.fragments import check_unused_runtimes
from trainc.pipeline.session import Session
from trainc.reading.catalog import find, names
from trainc.reading.document import Document

BARE = {"name": "node"}


def tried(*documents: dict[str, Any], release: str = "2.3", **options: Any) -> list[list[Diagnostic]]:
    return list(
        check_unused_runtimes(
            Session(Options(release=release, **options), diagnose_objects=place).with_input(
                [Document.of(d) for d in documents]
            )
        )
    )


def findings(*documents: dict[str, Any], **options: Any) -> dict[str, str]:
    return {d.code: d.severity for found in tried(*documents, **options) for d in found}


NODE = runtime(job(containers=[BARE]))
OTHER = [job("prepare", None), job(containers=[container()])]
FOUND: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "nothing": (runtime(policy={"torch": {}}), {}),
    "no trainer": (runtime(job("work", None)), {"MissingTrainerAncestor": "warning"}),
    "an image that a TrainJob can name": (NODE, {"MissingImage": "warning"}),
    "an image that no TrainJob can name": (
        runtime(job("prepare", None, containers=[{"name": "a"}]), job()),
        {"MissingImage": "error"},
    ),
    "a gang without a scheduler": (runtime(gang={"coscheduling": {}}), {"SchedulerNameMissing": "warning"}),
    "a gang that a larger TrainJob fills": (
        runtime(job(pod={"schedulerName": "volcano"}), gang={"volcano": {"minMember": 4}}),
        {"GangMinMemberTooLarge": "warning"},
    ),
    "an initializer that nothing awaits": (
        runtime(job("dataset-initializer", "dataset-initializer", [container("dataset-initializer")]), job()),
        {"InitializerNotOrdered": "warning"},
    ),
    "what JobSet would refuse": (
        runtime(job(), network={"subdomain": "Not_A_Name"}),
        {"InvalidSubdomain": "error"},
    ),
    "GPUs without a limit": (
        runtime(job(containers=[container(resources={"requests": {"nvidia.com/gpu": 1}})])),
        {"GPUWithoutLimit": "error"},
    ),
    "a launcher that is missing": (runtime(policy={"mpi": {}, "numNodes": 2}), {"MissingLauncher": "error"}),
}


@pytest.mark.parametrize("case", FOUND)
def test_a_runtime_that_no_job_uses_is_tried(case: str) -> None:
    document, expected = FOUND[case]
    given = findings(document)
    assert {code: given.get(code) for code in expected} == expected
    if not expected:
        assert [d for d in given if given[d] == "error"] == []


def test_a_runtime_that_a_job_uses_is_not_tried_again() -> None:
    assert tried(NODE, trainjob()) == []
    assert len(tried(NODE, runtime(name="other"), trainjob(runtime="other"))) == 1


def test_a_runtime_that_its_schema_refuses_is_not_tried() -> None:
    assert tried(runtime(policy={"torch": {"numNode": 1}})) == []


def test_what_is_reported_is_about_the_runtime() -> None:
    (found,) = tried(NODE)
    assert {(d.object, d.path.rpartition(".")[2]) for d in found} == {("ClusterTrainingRuntime rt", "containers[0]")}


@pytest.mark.parametrize("semantics", ["gitops", "controller"])
@pytest.mark.parametrize("release", RELEASES)
def test_the_shipped_runtimes_leave_nothing_to_say(release: str, semantics: str) -> None:
    shipped = [document.data for name in names(release) if isinstance(document := find(name, release), Document)]
    assert len(shipped) >= 6
    assert [d for found in tried(*shipped, release=release, semantics=semantics) for d in found] == []
