"""Groups: the pods that Kubernetes schedules together, with the group's name, size, topology and priority.

Replicated jobs that start together are one group. If one waits for another, or all start in order, each is a separate
group, because a single one would wait for pods that have not been created yet.

Source: kubernetes-sigs/jobset keps/969-WAS-integration. Its names end with a hash; here a `.`, which job names cannot
contain, makes them unique.
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
    """The pods of one or more pod sets, with the names of their PodGroup and of its template in the Workload."""

    name: str
    template: str
    pod_sets: tuple[PodSet, ...]


def groups(job: TrainJob, info: Info) -> tuple[Group, ...]:
    """Return the groups of a job, in the order of its replicated jobs; empty if the job has no pods."""
    members = tuple(pod_set for pod_set in gang.members(info) if gang.pods(pod_set, info))
    if gang.held_back(info):
        return tuple(Group(f"{job.name}.{each.name}", each.name, (each,)) for each in members)
    return (Group(job.name, job.name, members),) if members else ()


def pod_group(group: Group, job: TrainJob, policy: Json, info: Info) -> dict[str, Any]:
    """Return the fields that a PodGroup shares with its template: size, topology, disruption mode and priority."""
    found: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": min_count(group, policy, info)}}}
    if key := topology(group, job, policy, info):
        found["schedulingConstraints"] = {"topology": [{"key": key}]}
    if policy.get("disruptionMode"):
        found["disruptionMode"] = policy["disruptionMode"]
    # The scheduler refuses a group whose priority differs from that of its pods.
    if priority := next(iter(pod_fields(group, "priorityClassName", info).values()), None):
        found["priorityClassName"] = priority
    return found


def min_count(group: Group, policy: Json, info: Info) -> int:
    """Return the number of pods for which the group waits: minMember of a replaced Volcano policy, else all pods."""
    requested: int | None = value_at(policy, ("volcano", "minMember"))
    return sum(gang.pods(pod_set, info) for pod_set in group.pod_sets) if requested is None else requested


def topology(group: Group, job: TrainJob, policy: Json, info: Info) -> str:
    """Return the node label whose value must be the same for all pods of the group, or an empty string.

    If a job has no queue, the topology requests of its pod templates for Kueue are used for the scheduler.
    """
    constraints: list[Json] = value_at(policy, ("schedulingConstraints", "topology")) or []
    if constraints or names.QUEUE_LABEL in {**info.labels, **job.labels}:
        return str(constraints[0]["key"]) if constraints else ""
    return next((key for key in requested_topologies(group, info).values() if key), "")


def requested_topologies(group: Group, info: Info) -> Mapping[str, str]:
    """Return the topology that each pod template of the group requests, by name; empty if it requests none."""
    path = ("template", "spec", "template", "metadata", "annotations", TOPOLOGY)
    return {name: str(value_at(written, path) or "") for name, written in _written(group, info)}


def pod_fields(group: Group, field: str, info: Info) -> Mapping[str, Any]:
    """Return a field of each pod spec of the group, by name; None if it is not set."""
    return {pod_set.name: info.pod_spec(pod_set.name).get(field) for pod_set in group.pod_sets}


def _written(group: Group, info: Info) -> Iterator[tuple[str, Json]]:
    inside = {pod_set.name for pod_set in group.pod_sets}
    return ((job["name"], job) for job in info.template.get("replicatedJobs", ()) if job["name"] in inside)
