"""Lints for gangs that wait for pods that will never exist, or that no longer match rendered manifests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from trainc.findings import Finding, Path
from trainc.ir import info as gang
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.kube import names
from trainc.kube.documents import POD_TEMPLATE, Foreign, Json, identity_of, value_at
from trainc.kube.jobset import JobSet
from trainc.plugins.plugin import Plugin
from trainc.plugins.workload import API_VERSION, PLUGIN
from trainc.plugins.workload.passes import groups, topology

_TOPOLOGY_GATE = "TopologyAwareWorkloadScheduling"
_HINT = "set prefixes, suffixes and new names in trainc's overlay, or before trainc runs, and compile again"


def too_few_pods(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield an error if minMember of a Volcano policy does not fit the gang's number of pods. Runs on sized jobs."""
    requested = value_at(info.gang("workload"), ("volcano", "minMember"))
    pods = gang.min_member(info)
    if requested is not None and not 1 <= requested <= pods:
        message = f"minMember is {requested}, but the gang has {pods} pods"
        hint = f"set minMember to a number from 1 to {pods}, or remove it to wait for all pods"
        path = ("spec", "podGroupPolicy", "volcano", "minMember")
        yield Finding("GangMinMemberTooLarge", "error", message, hint, path, "runtime")


def topology_behind_gate(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield an info for a topology: an API server without the feature gate drops it.

    Source: KEP-5732. The gate is off by default in 1.37.
    """
    policy = info.gang("workload") or {}
    keys = (topology(group, job, policy, info) for group in groups(job, info))
    if key := next(filter(None, keys), ""):
        message = f"the gang has to share one {key}, which an API server silently drops if {_TOPOLOGY_GATE} is off"
        hint = f"enable the feature gate {_TOPOLOGY_GATE} in the API server and the scheduler; it is off by default"
        yield Finding("TopologyNeedsGate", "info", message, hint, ("spec", "podGroupPolicy"), "runtime")


def stale_groups(jobset: Json, objects: Iterable[Foreign], plugins: Sequence[Plugin]) -> Iterator[Finding]:
    """Yield findings for groups of a rendered JobSet that have no template in its Workload, or wait for too many pods."""
    rendered = JobSet.read(jobset)
    siblings = [
        one for one in objects if one.text("apiVersion") == API_VERSION and one.identity[0] == rendered.namespace
    ]
    by_name = {(one.text("kind"), one.identity[1]): one for one in siblings}
    pods: dict[str, int] = {}
    first: dict[str, Path] = {}
    assert PLUGIN.gang is not None
    for job in rendered.jobs:
        name = Foreign(job.pod_template).text(*PLUGIN.gang.joins)
        if ("PodGroup", name) in by_name:
            pods[name] = pods.get(name, 0) + job.replicas * job.parallelism
            first.setdefault(name, (*job.path, *POD_TEMPLATE, *PLUGIN.gang.joins))
    for name, path in first.items():
        yield from _group(by_name["PodGroup", name], pods[name], path, jobset, by_name)


def _group(
    group: Foreign, pods: int, path: Path, jobset: Json, manifests: Mapping[tuple[str, str], Foreign]
) -> Iterator[Finding]:
    assert PLUGIN.gang is not None
    _, name = group.identity
    size = group.number(*PLUGIN.gang.size)
    if size is not None and size > pods:
        message = f"group {name!r} waits for {size} pods, but only {pods} of this JobSet belong to it"
        yield Finding("GangMinMemberTooLarge", "error", message, "compile again after changing the size", path)
    if not group.mapping("spec", "workloadRef") or not names.is_of_trainjob(jobset):
        return
    workload_name, template = (group.text("spec", "workloadRef", key) for key in ("workloadName", "templateName"))
    workload = manifests.get(("Workload", workload_name), Foreign({}))
    if template not in {part.text("name") for part in workload.parts("spec", "podGroupTemplates")}:
        message = (
            f"group {name!r} uses template {template!r} of Workload {workload_name!r}, which is not among the manifests"
        )
        yield Finding("StaleReference", "error", message, _HINT, path)
        return
    controller, actual = workload.text("spec", "controllerRef", "name"), identity_of(jobset)[1]
    if workload.text("spec", "controllerRef", "kind") == "JobSet" and controller != actual:
        message = f"the Workload of group {name!r} belongs to JobSet {controller!r}, and this is {actual!r}"
        yield Finding("StaleReference", "error", message, _HINT, path)
