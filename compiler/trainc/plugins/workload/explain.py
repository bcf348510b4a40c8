"""What `explain` says about Workload: sizes, topology, disruption mode and priority of the groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trainc.plugins.rows import (
    FixedRule,
    JobSetField,
    Ref,
    Row,
    Rows,
    Situation,
    fixed_rule,
    gang_deviation,
    gang_policy,
    job_name,
    namespace,
    pod_field,
    pods_of,
    replicated_job,
)
from trainc.plugins.workload import TOPOLOGY
from trainc.plugins.workload.passes import Group, groups


def _group(s: Situation) -> Group | None:
    """Return the group to which a leaf belongs: that of a template, a PodGroup or a pod template."""
    all_groups = groups(s.job, s.info)
    for group in all_groups:
        if group.template in s.path or group.name == s.object != s.job.name or s.pod_set in group.pod_sets:
            return group
    return all_groups[0] if len(all_groups) == 1 else None


def _name(s: Situation) -> Iterator[Ref]:
    """Yield the inputs of a group's name: the job's name and, if each step is a group, the step's."""
    yield from job_name(s)
    yield from _template(s)


def _template(s: Situation) -> Iterator[Ref]:
    """Yield the inputs of a template's name: the step's name if each step is a group, else the job's."""
    group = _group(s)
    if group is None or group.template == s.job.name:
        yield from job_name(s)
    else:
        yield JobSetField(replicated_job(group.pod_sets[0], "name"))


def _min_count(s: Situation) -> Iterator[Ref]:
    if "minMember" in ((s.info.gang("workload") or {}).get("volcano") or {}):
        yield from gang_policy("volcano", "minMember")(s)
    elif group := _group(s):
        for pod_set in group.pod_sets:
            yield from pods_of(pod_set)


def _topology(s: Situation) -> Iterable[Ref]:
    if (s.info.gang("workload") or {}).get("schedulingConstraints"):
        return gang_policy("workload", "schedulingConstraints", "topology", 0, "key")(s)
    return pod_field("metadata", "annotations", TOPOLOGY)(s)


def _policy(s: Situation) -> Iterator[Ref]:
    """Yield the policy that makes the pods a gang, of whichever scheduler it is."""
    policy = s.info.gang("workload") or {}
    replaced = [name for name in policy if name not in ("schedulingConstraints", "disruptionMode")]
    yield from gang_policy(*(replaced[:1] or ["workload"]))(s)
    if replaced:
        yield FixedRule("--gang workload: Kubernetes schedules the gang")


_PASS = (Row("...template.spec.schedulingGroup", (_name, _policy), lambda _: "gang-by-kubernetes"),)

_BUILD = (
    Row("metadata.name", (lambda s: (_name if s.object != s.job.name else job_name)(s),)),
    Row("metadata.namespace", (namespace,)),
    Row("spec.controllerRef.name", (job_name,)),
    Row("spec.workloadRef.workloadName", (job_name,)),
    Row("spec.workloadRef.templateName", (_template,)),
    Row("...minCount", (_min_count,), lambda s: gang_deviation(s) or "gang-by-kubernetes"),
    Row("...schedulingConstraints", (_topology,)),
    Row("...disruptionMode", (gang_policy("workload", "disruptionMode"),)),
    Row("...priorityClassName", (pod_field("spec", "priorityClassName"),)),
    Row("spec.podGroupTemplates[*].name", (_template,)),
    Row("...", (_policy, fixed_rule("required by scheduling.k8s.io/v1beta1"))),
)

ROWS: Rows = {"enforce_pod_group_policy": _PASS, "build": _BUILD}
