"""Groups: which pods Kubernetes schedules together, how they are called, and what is requested for each.

A gang of jobs that start together is one group. Where one waits for another to be ready, or all start in order, each is
a group of its own: one that waits for all pods would wait for those that are not created yet. Source: kubernetes-sigs/jobset
keps/969-WAS-integration, whose names end in a hash; here a `.`, which no job's name has, keeps them apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainc.api import names
from trainc.api.documents import Json, value_at
from trainc.ir import gang
from trainc.ir.info import Info
from trainc.ir.podset import PodSet
from trainc.ir.trainjob import TrainJob
from trainc.plugins.workload import TOPOLOGY
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Group:
    """The pods of some pod sets, by the name of their PodGroup and of its template in the Workload."""

    name: str
    template: str
    pod_sets: tuple[PodSet, ...]


def groups(job: TrainJob, info: Info) -> tuple[Group, ...]:
    """The groups of a job, in the order of its replicated jobs. Without any pod there is none."""
    members = tuple(pod_set for pod_set in gang.members(info) if gang.pods(pod_set, info))
    if gang.held_back(info):
        return tuple(Group(f"{job.name}.{each.name}", each.name, (each,)) for each in members)
    return (Group(job.name, job.name, members),) if members else ()


def pod_group(group: Group, job: TrainJob, policy: Json, info: Info) -> dict[str, Any]:
    """What its PodGroup and its template say alike: how many pods, how close together, and what becomes of them."""
    found: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": min_count(group, policy, info)}}}
    if key := topology(group, job, policy, info):
        found["schedulingConstraints"] = {"topology": [{"key": key}]}
    if policy.get("disruptionMode"):
        found["disruptionMode"] = policy["disruptionMode"]
    # The scheduler refuses a group whose priority is not that of its pods.
    if priority := next(iter(pod_fields(group, "priorityClassName", info).values()), None):
        found["priorityClassName"] = priority
    return found


def min_count(group: Group, policy: Json, info: Info) -> int:
    """How many pods the group waits for: all of them, or as many as Volcano was to wait for."""
    requested: int | None = value_at(policy, ("volcano", "minMember"))
    return sum(gang.pods(pod_set, info) for pod_set in group.pod_sets) if requested is None else requested


def topology(group: Group, job: TrainJob, policy: Json, info: Info) -> str:
    """The node label whose value all pods of the group are to share, empty where any node will do.

    Where a job has no queue, what its pod templates ask of Kueue is requested of the scheduler.
    """
    constraints: list[Json] = value_at(policy, ("schedulingConstraints", "topology")) or []
    if constraints or names.QUEUE_LABEL in {**info.labels, **job.labels}:
        return str(constraints[0]["key"]) if constraints else ""
    return next((key for key in requested_topologies(group, info).values() if key), "")


def requested_topologies(group: Group, info: Info) -> Mapping[str, str]:
    """The topology that each pod template of the group asks for, empty where it asks for none."""
    path = ("template", "spec", "template", "metadata", "annotations", TOPOLOGY)
    return {name: str(value_at(written, path) or "") for name, written in _written(group, info)}


def pod_fields(group: Group, field: str, info: Info) -> Mapping[str, Any]:
    """One field of the pod specs in the group, None where it is not set."""
    return {pod_set.name: info.pod_spec(pod_set.name).get(field) for pod_set in group.pod_sets}


def _written(group: Group, info: Info) -> Iterator[tuple[str, Json]]:
    inside = {pod_set.name for pod_set in group.pod_sets}
    return ((job["name"], job) for job in info.template.get("replicatedJobs", ()) if job["name"] in inside)
