"""The gang: the pods that must be scheduled together, and their total requests.

Source: kubeflow/trainer plugins coscheduling and volcano (Build).
"""

from __future__ import annotations

from trainc.api.quantity import ResourceList, add_resources
from trainc.ir.info import Info
from trainc.ir.podset import PodSet


def members(info: Info) -> tuple[PodSet, ...]:
    """Return the pod sets of the gang.

    The controller includes every job. With `gitops`, jobs that another one awaits with `dependsOn: Complete` are
    excluded: they finish before the others start, so a gang that included them could never be complete.
    """
    if not info.gitops:
        return info.pod_sets
    gone = awaited_pod_sets(info)
    return tuple(pod_set for pod_set in info.pod_sets if pod_set.name not in gone)


def awaited_pod_sets(info: Info) -> frozenset[str]:
    """Return the names of replicated jobs that must complete before another one starts."""
    return frozenset(
        dependency["name"]
        for job in info.template.get("replicatedJobs", ())
        for dependency in job.get("dependsOn", ())
        if dependency.get("status") == "Complete"
    )


def held_back(info: Info) -> frozenset[str]:
    """Return the names of members that are only created once other members run."""
    names = [pod_set.name for pod_set in members(info)]
    if (info.template.get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder":
        return frozenset(names[1:])
    awaits = {
        job["name"]: {dependency["name"] for dependency in job.get("dependsOn") or ()}
        for job in info.template.get("replicatedJobs", ())
    }
    found: set[str] = set()
    # In a JobSet, a job can only depend on earlier ones.
    for name, awaited_by_it in awaits.items():
        if awaited_by_it & (found | set(names)):
            found.add(name)
    return frozenset(found & set(names))


def min_member(info: Info) -> int:
    """Return the number of pods that the gang needs before any of them may start."""
    return sum(pods(pod_set, info) for pod_set in members(info))


def min_resources(info: Info, at_most: int | None = None) -> ResourceList:
    """Return the total requests of the gang by resource name, or only of its first `at_most` pods.

    Empty if no container has requests.
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
    """Return how many pods of a set the gang waits for; the controller ignores replicas."""
    count = pod_set.count if pod_set.min_count is None else pod_set.min_count
    return count * pod_set.replicas if info.gitops else count
