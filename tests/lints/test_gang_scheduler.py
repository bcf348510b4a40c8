"""Gangs whose scheduler never hears of them."""

from __future__ import annotations

from typing import Any

import pytest
from builders import compiled, container, diagnostics_of, job, pod, runtime, trainjob

UNNAMED = "SchedulerNameMissing"
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
