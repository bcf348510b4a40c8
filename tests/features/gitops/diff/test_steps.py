"""What a job asks of the cluster: pods, devices, memory and gang, before and after."""

from __future__ import annotations

from typing import Any

import pytest
from builders import compiled, container, job, one, runtime, trainjob
from comparing import diff_of, manifests

from trainc.features.gitops.diff.model import Totals, totals_of
from trainc.kube.jobset import JobSet

Json = dict[str, Any]


def totals(*jobs: Json, **spec: Any) -> Totals:
    jobset = one(compiled(trainjob(), runtime(*jobs, **spec)), "JobSet")
    return totals_of(JobSet.read(jobset))


def asks(limits: Json | None = None, **requests: Any) -> list[Json]:
    return [container(resources={"requests": requests, **({"limits": limits} if limits else {})})]


def test_pods_are_replicas_times_what_runs_at_a_time() -> None:
    spec = {"parallelism": 4, "completions": 8, "template": {"spec": {"containers": asks(cpu="500m")}}}
    found = totals_of(
        JobSet.read({"spec": {"replicatedJobs": [{"name": "node", "replicas": 3, "template": {"spec": spec}}]}})
    )
    assert (found.nodes, str(found.cpu)) == (12, "6")


def test_no_more_pods_run_than_have_to_complete() -> None:
    spec = {"parallelism": 4, "completions": 2, "template": {"spec": {"containers": []}}}
    (step,) = JobSet.read({"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": spec}}]}}).jobs
    assert step.pods == 2


def test_a_limit_counts_where_nothing_is_requested() -> None:
    assert str(totals(job(containers=asks({"nvidia.com/gpu": 8, "memory": "1Gi"}))).gpus) == "8"


def test_steps_that_are_over_do_not_count() -> None:
    first = job("prepare", None, containers=[container("prepare", resources={"requests": {"cpu": 64}})])
    for status, expected in (("Complete", 1), ("Ready", 2)):
        assert totals(first, job(dependsOn=[{"name": "prepare", "status": status}])).nodes == expected


@pytest.mark.parametrize("resource", ["nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915"])
def test_gpus_of_every_maker_are_gpus(resource: str) -> None:
    assert str(totals(job(containers=asks({resource: 2}))).gpus) == "2"


def test_totals_are_given_per_job_and_over_all_jobs() -> None:
    same = manifests("same")
    diff = diff_of([*manifests(), *same], [*manifests(numNodes=4), *same])
    (found,) = diff.jobs
    before, after = found.totals.before, found.totals.after
    assert before is not None
    assert after is not None
    assert (before.nodes, before.gang, after.nodes, after.gang) == (2, 2, 4, 4)
    assert (str(before.gpus), str(after.gpus), str(after.cpu), str(after.memory)) == ("8", "16", "8", "4Gi")
    total = diff.totals.after
    assert total is not None
    assert (total.nodes, total.gang, str(total.gpus)) == (6, 6, "24")


def test_a_job_that_is_new_has_nothing_before() -> None:
    (found,) = diff_of([], manifests()).jobs
    assert found.totals.before is None
    assert found.totals.after is not None
    assert diff_of([], manifests()).totals.before == Totals()


def test_a_job_without_a_pod_group_has_no_gang() -> None:
    (found,) = diff_of([], [m for m in manifests() if m["kind"] != "PodGroup"]).jobs
    assert found.totals.after is not None
    assert found.totals.after.gang is None
