"""Gangs whose scheduler never hears of them, and gangs of more pods than there are."""

from __future__ import annotations

from typing import Any

import pytest
from builders import compiled, container, diagnostics_of, job, pod, runtime, trainjob

UNNAMED, TOO_LARGE = "SchedulerNameMissing", "GangMinMemberTooLarge"
COSCHEDULING: dict[str, Any] = {"coscheduling": {}}
VOLCANO: dict[str, Any] = {"volcano": {}}
NAMED = job(pod={"schedulerName": "gangs"})
INITIALIZER = job("dataset-initializer", "dataset-initializer", [container("dataset-initializer")])
AFTER: dict[str, Any] = {"dependsOn": [{"name": "dataset-initializer", "status": "Complete"}]}


@pytest.mark.parametrize("semantics", ["gitops", "controller"])
@pytest.mark.parametrize("gang", [COSCHEDULING, VOLCANO])
def test_a_gang_whose_pods_name_no_scheduler_is_reported(gang: dict[str, Any], semantics: str) -> None:
    (found,) = diagnostics_of(UNNAMED, trainjob(), runtime(gang=gang), semantics=semantics)
    assert (found.severity, found.object) == ("warning", "ClusterTrainingRuntime rt")
    assert "schedulerName" in found.hint


@pytest.mark.parametrize("gang", [COSCHEDULING, VOLCANO, None])
def test_pods_that_name_one_or_are_no_gang_are_fine(gang: dict[str, Any] | None) -> None:
    assert diagnostics_of(UNNAMED, trainjob(), runtime(NAMED, gang=gang)) == []
    assert diagnostics_of(UNNAMED, trainjob(), runtime()) == []


def test_one_pod_of_several_without_a_name_is_reported_alone() -> None:
    (found,) = diagnostics_of(UNNAMED, trainjob(), runtime(job("side", None), NAMED, gang=COSCHEDULING))
    assert "(side)" in found.message
    assert "replicatedJobs[0]" in found.path


def test_a_job_that_is_over_before_the_gang_starts_needs_no_name() -> None:
    after = job(pod={"schedulerName": "gangs"}, **AFTER)
    assert diagnostics_of(UNNAMED, trainjob(), runtime(INITIALIZER, after, gang=COSCHEDULING)) == []


def test_volcano_is_named_where_nobody_is_and_the_report_says_so() -> None:
    assert pod(compiled(trainjob(), runtime(gang=VOLCANO)))["spec"]["schedulerName"] == "volcano"
    assert "they get schedulerName: volcano" in diagnostics_of(UNNAMED, trainjob(), runtime(gang=VOLCANO))[0].message
    assert "schedulerName" not in pod(compiled(trainjob(), runtime(gang=COSCHEDULING)))["spec"]


@pytest.mark.parametrize(("members", "nodes", "wrong"), [(3, 2, True), (0, 2, True), (2, 2, False), (1, 2, False)])
def test_volcano_waits_for_no_more_pods_than_there_are(members: int, nodes: int, wrong: bool) -> None:
    document = runtime(NAMED, policy={"torch": {}}, gang={"volcano": {"minMember": members}})
    found = diagnostics_of(TOO_LARGE, trainjob({"numNodes": nodes}), document)
    assert [d.severity for d in found] == ["error"] * wrong
    assert all(d.path == "spec.podGroupPolicy.volcano.minMember" for d in found)


def test_every_replica_of_a_job_is_a_member() -> None:
    side = job("side", None, replicas=3, pod={"schedulerName": "gangs"})
    assert diagnostics_of(TOO_LARGE, trainjob(), runtime(side, NAMED, gang={"volcano": {"minMember": 4}})) == []
    assert diagnostics_of(TOO_LARGE, trainjob(), runtime(side, NAMED, gang={"volcano": {"minMember": 5}})) != []
