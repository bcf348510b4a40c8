"""The passes of Workload: a Workload and its PodGroups for kube-scheduler, and the field with which pods join them.

Source: kubernetes/api scheduling/v1beta1/types.go (1.37); kubernetes/enhancements KEP-4671, KEP-5710, KEP-5732.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainc.findings import Finding, Path, remove
from trainc.ir import info as gang
from trainc.ir.info import Info, PodSet
from trainc.ir.provenance import derived
from trainc.ir.release import Release
from trainc.ir.trainjob import TrainJob
from trainc.kube import names
from trainc.kube.documents import JOBS, POD_TEMPLATE, Json, Manifest, value_at
from trainc.kube.releases import KUBERNETES, Span
from trainc.plugins.plugin import Passes
from trainc.plugins.workload import API_VERSION, SINCE, TOPOLOGY
from trainc.startup.records import dataclass

# Groups: the pods that Kubernetes schedules together, with the group's name, size, topology and priority.
#
# Replicated jobs that start together are one group. If one waits for another, or all start in order, each is a
# separate group, because a single one would wait for pods that have not been created yet.
#
# Source: kubernetes-sigs/jobset keps/969-WAS-integration. Its names end with a hash; here a `.`, which job names
# cannot contain, makes them unique.


@dataclass(frozen=True, slots=True)
class Group:
    """The pods of one or more pod sets, with the names of their PodGroup and of its template in the Workload."""

    name: str
    template: str
    pod_sets: tuple[PodSet, ...]


def groups(job: TrainJob, info: Info) -> tuple[Group, ...]:
    """Return the groups of a job, in the order of its replicated jobs; empty if the job has no pods."""
    members = tuple(pod_set for pod_set in gang.members(info) if gang.pods(pod_set, info))
    if gang.delayed_members(info):
        return tuple(Group(_group_name(job, pod_set), pod_set.name, (pod_set,)) for pod_set in members)
    return (Group(job.name, job.name, members),) if members else ()


def _group_name(job: TrainJob, pod_set: PodSet) -> str:
    return derived(f"{job.name}.{pod_set.name}", job.name, pod_set.name)


def pod_group(group: Group, job: TrainJob, policy: Json, info: Info) -> dict[str, Any]:
    """Return the fields that a PodGroup shares with its template: size, topology, disruption mode and priority."""
    fields: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": min_count(group, policy, info)}}}
    if key := topology(group, job, policy, info):
        fields["schedulingConstraints"] = {"topology": [{"key": key}]}
    if policy.get("disruptionMode"):
        fields["disruptionMode"] = policy["disruptionMode"]
    # The scheduler refuses a group whose priority differs from that of its pods.
    if priority := next(iter(pod_fields(group, "priorityClassName", info).values()), None):
        fields["priorityClassName"] = priority
    return fields


def min_count(group: Group, policy: Json, info: Info) -> int:
    """Return the number of pods for which the group waits: minMember of a replaced Volcano policy, else all pods."""
    requested: int | None = value_at(policy, ("volcano", "minMember"))
    if requested is None:
        return gang.gang_size(group.pod_sets, info, "gang-by-kubernetes")
    return info.made(requested, requested, deviation="gang-by-kubernetes")


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
    path = (*POD_TEMPLATE, "metadata", "annotations", TOPOLOGY)
    names_in_group = {pod_set.name for pod_set in group.pod_sets}
    jobs = (job for job in info.template.get("replicatedJobs", ()) if job["name"] in names_in_group)
    return {job["name"]: str(value_at(job, path) or "") for job in jobs}


def pod_fields(group: Group, field: str, info: Info) -> Mapping[str, Any]:
    """Return a field of each pod spec of the group, by name; None if it is not set."""
    return {pod_set.name: info.pod_spec(pod_set.name).get(field) for pod_set in group.pod_sets}


# Validation of gangs that cannot be expressed as a Workload and PodGroups.
#
# Either the API server would refuse them, the scheduler would never place them, or a setting of the runtime would be
# lost.


_POLICY: Path = ("spec", "podGroupPolicy")
_VOLCANO: Path = (*_POLICY, "volcano")
_MOST_GROUPS = 8
_QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"
_DEFAULT_SCHEDULER = "default-scheduler"
# The default that Trainer's API server sets.
_DEFAULT_TIMEOUT = 60


def validate(job: TrainJob, policy: Json, info: Info) -> Iterator[Finding]:
    """Yield an error for each obstacle. `policy` contains the policies of the schedulers that it replaces."""
    for message, hint in missing_api(info.kubernetes, info.release):
        yield Finding("WorkloadAPIMissing", "error", message, hint, _POLICY, "runtime")
    for other in info.pod_group_policy or {}:
        if other != "workload":
            message = (
                f"workload and {other} cannot be used together: each would wait for pods that the other holds back"
            )
            hint = "keep the one whose scheduler runs in the cluster"
            yield Finding("MutuallyExclusivePolicies", "error", message, hint, (*_POLICY, other), "runtime")
    yield from _volcano_findings(policy.get("volcano") or {}, info)
    if "volcano" in policy and _QUEUE_ANNOTATION in info.annotations:
        yield _queue(("spec", "template", "metadata", "annotations", _QUEUE_ANNOTATION))
    timeout = value_at(policy, ("coscheduling", "scheduleTimeoutSeconds"))
    if timeout not in (None, _DEFAULT_TIMEOUT):
        message = f"scheduleTimeoutSeconds: {timeout} is lost: a PodGroup of {API_VERSION} has no timeout of its own"
        hint = "no action needed if the scheduler may keep trying until there is room; otherwise keep coscheduling"
        yield _lost_setting(message, hint, (*_POLICY, "coscheduling", "scheduleTimeoutSeconds"))
    gang_groups = groups(job, info)
    if len(gang_groups) > _MOST_GROUPS:
        message = f"the gang has {len(gang_groups)} groups, one for each job that starts after another, but a Workload has at most {_MOST_GROUPS}"
        yield _impossible(message, "start the jobs together: remove dependsOn with status Ready, or startupPolicy")
    for group in gang_groups:
        yield from _group_findings(group, policy, info, queued=names.QUEUE_LABEL in {**info.labels, **job.labels})


def missing_api(kubernetes: str, release: Release) -> Iterator[tuple[str, str]]:
    """Yield what of the API an older Kubernetes or Trainer lacks, and a hint."""
    otherwise = "leave the gang to coscheduling or volcano"
    if kubernetes not in Span(SINCE, axis=KUBERNETES):
        message = f"Kubernetes {kubernetes} does not have {API_VERSION}, which it needs to schedule pods as a gang"
        right = (
            f'if the cluster has Kubernetes {SINCE}, set --kubernetes {SINCE}, or kubernetes: "{SINCE}" in trainc.yaml'
        )
        yield message, f"{right}; otherwise {otherwise}"
    if not release.pods_name_their_group:
        message = f"JobSet {release.jobset}, the version for Trainer {release.minor}, drops schedulingGroup from pods"
        yield message, f"compile with --release 2.3, or {otherwise}"


def _volcano_findings(policy: Json, info: Info) -> Iterator[Finding]:
    """Yield findings for fields of Volcano's policy that Kubernetes' PodGroup lacks, or that differ in meaning."""
    if "queue" in policy:
        yield _queue((*_VOLCANO, "queue"))
    network = policy.get("networkTopology")
    if network is not None:
        path = (*_VOLCANO, "networkTopology")
        message = "Volcano's networkTopology counts tiers, but a PodGroup uses a node label"
        if network.get("mode") == "soft":
            yield _lost_setting(f"{message}: the preference is lost", _LABEL_HINT, path)
        else:
            yield _impossible(message, _LABEL_HINT, path)
    priority = policy.get("priorityClassName")
    pod_priorities = {info.pod_spec(pod_set.name).get("priorityClassName") for pod_set in gang.members(info)}
    if priority is not None and pod_priorities != {priority}:
        message = f"the group would have priority class {priority!r}, but not all of its pods have it, so the scheduler refuses it"
        hint = f"set priorityClassName: {priority} in the pod templates of the runtime, and remove it here"
        yield _impossible(message, hint, (*_VOLCANO, "priorityClassName"))
    if "minMember" in policy and gang.delayed_members(info):
        message = "minMember counts all pods, but jobs that start one after another are separate groups"
        hint = remove("remove minMember: each group then waits for all of its pods")
        yield _impossible(message, hint, (*_VOLCANO, "minMember"))


_LABEL_HINT = (
    "set the label in the runtime, as in podGroupPolicy: {workload: {schedulingConstraints: "
    "{topology: [{key: topology.kubernetes.io/rack}]}}}"
)


def _queue(path: Path) -> Finding:
    message = f"{path[-1]} is for a queue of Volcano, but Kubernetes' own gangs have no queues"
    hint = f"to use Kueue, set the label {names.QUEUE_LABEL} on the TrainJob; remove the queue of Volcano"
    return _impossible(message, hint, path)


def _group_findings(group: Group, policy: Json, info: Info, *, queued: bool) -> Iterator[Finding]:
    scheduling_groups = {name: value for name, value in pod_fields(group, "schedulingGroup", info).items() if value}
    for name in scheduling_groups:
        message = f"the pods of {name!r} already set a schedulingGroup"
        hint = remove("remove schedulingGroup from the pod template, or podGroupPolicy from the runtime")
        yield _impossible(message, hint, _pod(name, info, "schedulingGroup"))
    schedulers = {name: value or _DEFAULT_SCHEDULER for name, value in pod_fields(group, "schedulerName", info).items()}
    yield from _mixed(schedulers, "schedulerName", info, "the scheduler refuses a group whose pods use several")
    priorities = {name: value or "" for name, value in pod_fields(group, "priorityClassName", info).items()}
    yield from _mixed(priorities, "priorityClassName", info, "the scheduler refuses a group whose pods have several")
    if not queued and not value_at(policy, ("schedulingConstraints", "topology")):
        requested = requested_topologies(group, info)
        if len(set(requested.values())) > 1:
            name = next(name for name, key in requested.items() if key)
            message = f"{TOPOLOGY} is not the same in all of {', '.join(requested)}, whose pods are one group"
            hint = "request the same topology in all of their pod templates, or in none"
            yield _impossible(message, hint, (*_template(name, info), "metadata", "annotations", TOPOLOGY))


def _mixed(values: dict[str, str], field: str, info: Info, why: str) -> Iterator[Finding]:
    if len(set(values.values())) > 1:
        different = next(name for name, value in values.items() if value != next(iter(values.values())))
        values_text = ", ".join(f"{name}: {value or 'none'}" for name, value in values.items())
        message = f"{why}: {field} differs ({values_text})"
        hint = f"set the same {field} in the pod templates of {', '.join(values)}"
        yield _impossible(message, hint, _pod(different, info, field))


def _template(name: str, info: Info) -> Path:
    index = next(i for i, pod_set in enumerate(info.pod_sets) if pod_set.name == name)
    return (*JOBS, index, *POD_TEMPLATE)


def _pod(name: str, info: Info, field: str) -> Path:
    return (*_template(name, info), "spec", field)


def _impossible(message: str, hint: str, path: Path = _POLICY) -> Finding:
    return Finding("GangNotPossible", "error", message, hint, path, "runtime")


def _lost_setting(message: str, hint: str, path: Path) -> Finding:
    return Finding("GangSettingLost", "warning", message, hint, path, "runtime")


def enforce_pod_group_policy(job: TrainJob, policy: Json, info: Info) -> Info:
    """Make the gang's pods join their groups."""
    for group in groups(job, info):
        name = info.made(group.name, group.name, policy, deviation="gang-by-kubernetes")
        for pod_set in group.pod_sets:
            info = info.with_pod_set(pod_set.with_pod_fields(schedulingGroup={"podGroupName": name}))
    return info


def build(job: TrainJob, policy: Json, info: Info) -> Iterator[Manifest]:
    """Yield the Workload, and a PodGroup for each of its templates; nothing in the cluster creates them for a JobSet."""
    group_specs = [(group, pod_group(group, job, policy, info)) for group in groups(job, info)]
    if not group_specs:
        return
    yield {
        "apiVersion": API_VERSION,
        "kind": "Workload",
        "metadata": job.metadata,
        "spec": {
            "controllerRef": {"apiGroup": "jobset.x-k8s.io", "kind": "JobSet", "name": job.name},
            "podGroupTemplates": [{"name": group.template, **spec} for group, spec in group_specs],
        },
    }
    for group, spec in sorted(group_specs, key=lambda item: item[0].name):
        yield {
            "apiVersion": API_VERSION,
            "kind": "PodGroup",
            "metadata": job.metadata_for(group.name),
            "spec": {"workloadRef": {"workloadName": job.name, "templateName": group.template}, **spec},
        }


PASSES = Passes(validate=validate, enforce_pod_group_policy=enforce_pod_group_policy, build=build)
