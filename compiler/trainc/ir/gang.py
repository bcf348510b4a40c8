"""The gang: the pods that must be scheduled together, and what they need in sum.

Source: kubeflow/trainer plugins coscheduling and volcano (Build).
"""

from __future__ import annotations

from trainc.api.quantity import ResourceList, add_resources
from trainc.ir.info import Info
from trainc.ir.podset import PodSet


def members(info: Info) -> tuple[PodSet, ...]:
    """The pod sets of the gang.

    The controller counts every job. Under `gitops` a job that another one awaits with `dependsOn: Complete` is no
    member: it is gone before the others start, and a gang that counts it can never be complete.
    """
    if not info.gitops:
        return info.pod_sets
    gone = awaited_pod_sets(info)
    return tuple(pod_set for pod_set in info.pod_sets if pod_set.name not in gone)


def awaited_pod_sets(info: Info) -> frozenset[str]:
    """Names of the replicated jobs that must be complete before another one starts."""
    return frozenset(
        dependency["name"]
        for job in info.template.get("replicatedJobs", ())
        for dependency in job.get("dependsOn", ())
        if dependency.get("status") == "Complete"
    )


def held_back(info: Info) -> frozenset[str]:
    """Names of the members that are created only when other members run."""
    names = [pod_set.name for pod_set in members(info)]
    if (info.template.get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder":
        return frozenset(names[1:])
    awaits = {
        job["name"]: {dependency["name"] for dependency in job.get("dependsOn") or ()}
        for job in info.template.get("replicatedJobs", ())
    }
    found: set[str] = set()
    # JobSet lets a job await only those before it.
    for name, awaited_by_it in awaits.items():
        if awaited_by_it & (found | set(names)):
            found.add(name)
    return frozenset(found & set(names))


def min_member(info: Info) -> int:
    """How many pods the gang needs before any may start."""
    return sum(pods(pod_set, info) for pod_set in members(info))


def min_resources(info: Info, at_most: int | None = None) -> ResourceList:
    """The sum of the gang's requests per resource name, of its first `at_most` pods where that is fewer than all.

    Empty where no container requests anything.
    """
    total: ResourceList = {}
    left = at_most
    for pod_set in members(info):
        counted = pods(pod_set, info)
        if left is not None:
            counted = min(counted, left)
            left -= counted
        total = add_resources(total, {name: amount * counted for name, amount in pod_set.requests.items()})
    return total


def pods(pod_set: PodSet, info: Info) -> int:
    """Pods of one set that the gang waits for; the controller forgets replicas."""
    count = pod_set.count if pod_set.min_count is None else pod_set.min_count
    return count * pod_set.replicas if info.gitops else count
