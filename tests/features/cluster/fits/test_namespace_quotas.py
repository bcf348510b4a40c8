"""ResourceQuotas that the pods of a job exceed together, and pods that the API server refuses."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from clusters import GPU, Json, alone, jobset, local, node, queue

QUEUE = [queue("a", 1000), local("a")]
NODES = [node(f"n{i}", "r0") for i in range(8)]
for each in NODES:
    each["status"]["allocatable"] |= {"cpu": 64, "memory": "1Ti"}


def quota(
    scopes: list[str] | Json | None = None, name: str = "compute", namespace: str = "team-a", **hard: Any
) -> Json:
    spec: Json = {"hard": {key.replace("__", ".").replace("gpu", GPU): value for key, value in hard.items()}}
    spec["scopeSelector" if isinstance(scopes, dict) else "scopes"] = scopes or []
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec}


def limit_range(kind: str = "Container", **limits: Json) -> Json:
    metadata = {"name": "limits", "namespace": "team-a"}
    item = {"type": kind, **limits}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": [item]}}


def job(pods: int = 2, *, to: str | None = None, spec: Json | None = None, **resources: Json) -> Json:
    """A job of containers with these requests and limits."""
    given = {part: {key.replace("gpu", GPU): v for key, v in amounts.items()} for part, amounts in resources.items()}
    container = {"name": "node", "image": "train:1", "resources": given}
    return jobset(pods=pods, to=to, spec={"containers": [container], **(spec or {})})


def codes(job: Json, *of: Json) -> list[str]:
    return [one.code for one in alone(job, [*QUEUE, *NODES, *of]).diagnostics]


SMALL = job(limits={"gpu": 4, "cpu": 2, "memory": "8Gi"})
PRIORITY = {"priorityClassName": "high"}


def selector(operator: str, *values: str) -> Json:
    return {"matchExpressions": [{"scopeName": "PriorityClass", "operator": operator, "values": list(values)}]}


OVER = {
    "GPUs": (SMALL, quota(requests__gpu=7)),
    "CPU": (SMALL, quota(cpu=3)),
    "requests": (SMALL, quota(requests__cpu="3500m")),
    "limits": (SMALL, quota(limits__memory="15Gi")),
    "pods": (SMALL, quota(pods=1)),
    "counted pods": (SMALL, quota(count__pods=1) | {"spec": {"hard": {"count/pods": 1}}}),
    "Jobs": (SMALL, quota() | {"spec": {"hard": {"count/jobs.batch": 0}}}),
    "JobSets": (SMALL, quota() | {"spec": {"hard": {"count/jobsets.jobset.x-k8s.io": "0"}}}),
    "pods without a deadline": (SMALL, quota(["NotTerminating"], pods=1)),
    "pods with a deadline": (job(spec={"activeDeadlineSeconds": 9}), quota(["Terminating"], pods=1)),
    "pods that request something": (SMALL, quota(["NotBestEffort"], pods=1)),
    "pods that request no CPU and memory": (job(limits={"gpu": 1}), quota(["BestEffort"], pods=1)),
    "a priority": (job(spec=PRIORITY), quota(selector("In", "high", "low"), pods=1)),
    "any priority": (job(spec=PRIORITY), quota(selector("Exists"), pods=1)),
    "another priority": (job(spec=PRIORITY), quota(selector("NotIn", "low"), pods=1)),
    "no priority": (SMALL, quota(selector("DoesNotExist"), pods=1)),
    "both scopes": (SMALL, quota(["NotTerminating", "NotBestEffort"], pods=1)),
}
WITHIN = {
    "as much as there is": (SMALL, quota(requests__gpu=8, cpu=4, limits__memory="16Gi", pods=2)),
    "of another namespace": (SMALL, quota(namespace="team-b", pods=1)),
    "a bare device, which is not counted": (SMALL, quota(gpu=1)),
    "another resource": (SMALL, quota(requests__storage="1Gi", services=0)),
    "pods with a deadline": (SMALL, quota(["Terminating"], pods=1)),
    "pods that request nothing": (SMALL, quota(["BestEffort"], pods=1)),
    "pods that request something": (job(limits={"gpu": 1}), quota(["NotBestEffort"], pods=1)),
    "a priority": (job(spec=PRIORITY), quota(selector("In", "low"), pods=1)),
    "any priority": (SMALL, quota(selector("Exists"), pods=1)),
    "another priority": (job(spec=PRIORITY), quota(selector("NotIn", "high"), pods=1)),
    "one scope of two": (SMALL, quota(["NotTerminating", "BestEffort"], pods=1)),
    "affinity across namespaces": (SMALL, quota(["CrossNamespacePodAffinity"], pods=1)),
}


@pytest.mark.parametrize("what", OVER)
def test_more_than_a_quota_allows_is_an_error(what: str) -> None:
    given, limit = OVER[what]
    assert codes(given, limit) == ["ExceedsQuota"]


@pytest.mark.parametrize("what", WITHIN)
def test_what_a_quota_allows_or_does_not_count_gets_nothing(what: str) -> None:
    given, limit = WITHIN[what]
    assert codes(given, limit) == []


def test_the_default_priority_class_counts() -> None:
    default = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "usual"},
        "globalDefault": True,
    }
    limit = quota(selector("In", "usual"), pods=1)
    assert codes(SMALL, limit) == []
    assert codes(SMALL, limit, default) == ["ExceedsQuota"]


def test_the_message_has_numbers_and_the_size_that_would_fit() -> None:
    found = alone(job(pods=4, to="a", limits={"gpu": 8}), [*QUEUE, quota(requests__gpu=20)])
    assert (found.verdict, found.runs, found.cause) == ("fits", False, "resource-quota")
    (one,) = found.diagnostics
    assert one.message == (
        "the pods need 32 GPUs at once, and ResourceQuota compute allows 20 (requests.nvidia.com/gpu) in namespace "
        "team-a; 16 would fit: numNodes 2"
    )
    assert one.hint == "write numNodes: 2, or raise spec.hard of the ResourceQuota to 32"
    assert alone(job(pods=2, to="a", limits={"gpu": 8}), [*QUEUE, quota(requests__gpu=20)]).diagnostics == ()


def test_a_job_without_a_queue_is_compared_with_the_quota_too() -> None:
    found = alone(jobset(pods=2, to=None), [*NODES, quota(requests__gpu=8)])
    assert (found.verdict, found.cause, [one.code for one in found.diagnostics]) == (
        "never",
        "resource-quota",
        ["ExceedsQuota"],
    )


def with_initializer(**resources: Any) -> Json:
    whole = job(**resources)
    first, second = (deepcopy(whole["spec"]["replicatedJobs"][0]) for _ in range(2))
    first["name"] = "dataset-initializer"
    second["dependsOn"] = [{"name": "dataset-initializer", "status": "Complete"}]
    whole["spec"]["replicatedJobs"] = [first, second]
    return whole


def test_pods_that_run_one_after_the_other_are_not_added_up() -> None:
    given = with_initializer(limits={"gpu": 4})
    assert codes(given, quota(requests__gpu=8)) == []
    assert codes(given, quota(requests__gpu=7)) == ["ExceedsQuota"]
    given["spec"]["replicatedJobs"][1]["dependsOn"][0]["status"] = "Ready"
    assert codes(given, quota(requests__gpu=8)) == ["ExceedsQuota"]


def test_pods_that_the_api_server_refuses_never_run_after_admission() -> None:
    """Which those are is tested in tests/pods."""
    found = alone(job(to="a", limits={"gpu": 1}), [*QUEUE, quota(requests__cpu=10)])
    assert (found.verdict, found.runs, found.cause) == ("fits", False, "pods-refused")
    assert [(one.code, one.path) for one in found.diagnostics] == [
        ("QuotaNeedsResources", "spec.replicatedJobs[0].template.spec.template.spec.containers[0].resources")
    ]
    free = alone(job(limits={"gpu": 1}), [*NODES, quota(requests__cpu=10)])
    assert (free.verdict, free.cause) == ("never", "pods-refused")


def test_what_kueue_refuses_already_is_not_said_twice() -> None:
    assert codes(job(to="a", limits={"gpu": 8}), limit_range(max={GPU: 4})) == ["NeverFits"]
    assert codes(job(limits={"gpu": 8}), limit_range(max={GPU: 4})) == ["OutsideLimitRange"]
