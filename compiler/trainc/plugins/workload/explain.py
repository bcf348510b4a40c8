"""What `explain` says of Workload: the groups' sizes, topology, disruption mode and priority."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.plugins.gangs import gang_deviation, gang_pods
from trainc.plugins.readings import because, gang_policy, job_name, namespace, pods_of, replicated_job
from trainc.plugins.rows import Because, InJobSet, InRuntime, Ref, Row, Rows, Situation
from trainc.plugins.workload import TOPOLOGY
from trainc.plugins.workload.groups import Group, groups


def _group(s: Situation) -> Group | None:
    """The group that a leaf is about: the template at its index, or the only one."""
    found = groups(s.job, s.info)
    name = next((str(step) for step in s.path if str(step) in {group.template for group in found}), "")
    return next((group for group in found if group.template == name), found[0] if len(found) == 1 else None)


def _name(s: Situation) -> Iterator[Ref]:
    """The job's name, and the step's where each step is a group."""
    yield from job_name(s)
    if group := _group(s):
        for pod_set in group.pod_sets if group.name != s.job.name else ():
            yield InJobSet(replicated_job(pod_set, "name"))


def _min_count(s: Situation) -> Iterator[Ref]:
    policy = s.info.gang("workload") or {}
    if "minMember" in (policy.get("volcano") or {}):
        yield InRuntime(("spec", "podGroupPolicy", "volcano", "minMember"))
    elif group := _group(s):
        for pod_set in group.pod_sets:
            yield from pods_of(pod_set)
    else:
        yield from gang_pods(s)


def _topology(s: Situation) -> Iterator[Ref]:
    if (s.info.gang("workload") or {}).get("schedulingConstraints"):
        yield InRuntime(("spec", "podGroupPolicy", "workload", "schedulingConstraints", "topology", 0, "key"))
        return
    for pod_set in s.info.pod_sets:
        path = replicated_job(pod_set, "template", "spec", "template", "metadata", "annotations", TOPOLOGY)
        if s.is_set(path):
            yield InJobSet(path)


def _priority(s: Situation) -> Iterator[Ref]:
    """The pods' class, the same in all of them."""
    for pod_set in s.info.pod_sets:
        path = replicated_job(pod_set, "template", "spec", "template", "spec", "priorityClassName")
        if s.is_set(path):
            yield InJobSet(path)


def _policy(s: Situation) -> Iterator[Ref]:
    """The policy that asks for a gang, whichever scheduler it names."""
    policy = s.info.gang("workload") or {}
    replaced = [name for name in policy if name not in ("schedulingConstraints", "disruptionMode")]
    yield (
        InRuntime(("spec", "podGroupPolicy", *replaced[:1]))
        if replaced
        else InRuntime(("spec", "podGroupPolicy", "workload"))
    )
    if replaced:
        yield Because("--gang workload leaves it to Kubernetes")


def _deviation(s: Situation) -> str:
    return gang_deviation(s) or "gang-by-kubernetes"


_PASS = (Row("...template.spec.schedulingGroup", (_name, _policy), lambda _: "gang-by-kubernetes"),)

_BUILD = (
    Row("metadata.name", (_name,)),
    Row("metadata.namespace", (namespace,)),
    Row("spec.controllerRef.name", (job_name,)),
    Row("spec.workloadRef.workloadName", (job_name,)),
    Row("spec.workloadRef.templateName", (_name,)),
    Row("...minCount", (_min_count,), _deviation),
    Row("...schedulingConstraints", (_topology,)),
    Row("...disruptionMode", (gang_policy("workload", "disruptionMode"),)),
    Row("...priorityClassName", (_priority,)),
    Row("spec.podGroupTemplates...name", (_name,)),
    Row("...", (_policy, because("scheduling.k8s.io/v1beta1 wants it so"))),
)

ROWS: Rows = {"enforce_pod_group_policy": _PASS, "build": _BUILD}
