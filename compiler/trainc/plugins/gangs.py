"""What `explain` says about the size of any gang and the resources that it requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trainc.findings import Path
from trainc.ir import info
from trainc.ir.devices import is_gpu
from trainc.ir.info import Container, PodSet
from trainc.kube import names
from trainc.kube.documents import FieldPath, Item
from trainc.kube.quantity import container_requests, parse_quantity
from trainc.plugins.rows import (
    FixedRule,
    JobSetField,
    Ref,
    RuntimeField,
    Situation,
    TemplateField,
    TrainJobField,
    jobset_path,
    pods_of,
    replicated_job,
)


def gang_pods(s: Situation) -> Iterator[Ref]:
    """Yield the inputs that decide how many pods each replicated job of the gang has."""
    for pod_set in info.members(s.info):
        parallelism, replicas = pods_of(pod_set)
        yield parallelism
        if s.info.gitops:
            yield replicas


def gang_amounts(s: Situation) -> Iterator[Ref]:
    """Yield the inputs of one resource of the gang: what each member's containers request, and the number of members."""
    resource = str(s.path[-1])
    if resource == "minResources":
        yield FixedRule("no container of the gang has resource requests")
        return
    for pod_set in info.members(s.info):
        if resource not in pod_set.requests:
            continue
        parallelism, replicas = pods_of(pod_set)
        if pod_set.requests[resource].nanos:
            yield parallelism
            yield from (replicas,) if s.info.gitops else ()
        if pod_set.count:
            yield from _requested(pod_set, resource, s)


def _requested(pod_set: PodSet, resource: str, s: Situation) -> Iterator[Ref]:
    """Yield the fields in which the pods of one set request a resource."""
    pod = replicated_job(pod_set, "template", "spec", "template", "spec")
    yield JobSetField((*pod, "overhead", resource))
    for kind, containers in (("containers", pod_set.containers), ("initContainers", pod_set.init_containers)):
        for container in containers:
            resources, place = _counted(container, kind, pod_set, s)
            if resource in container_requests({"resources": resources}, limits_count=s.info.gitops):
                requested = "requests" if resource in resources.get("requests", {}) else "limits"
                yield place((*pod, kind, Item(container.name), "resources", requested, resource))


def _counted(
    container: Container, kind: str, pod_set: PodSet, s: Situation
) -> tuple[Mapping[str, Any], Callable[[FieldPath], Ref]]:
    """Return the resources that the gang counts for a container, and the field that sets them.

    The controller replaces the template's resources while it builds, but its gang counts the template's. Since 2.2 it
    counts the TrainJob's, for the trainer of an ML policy only.
    """
    requested = s.job.trainer.resources_per_node
    replaced = kind == "containers" and container.name == pod_set.main and requested is not None
    if requested is None or not replaced or s.info.gitops or s.info.release.resources == "merge":
        return container.resources, JobSetField
    if s.info.release.gang_sees_resources and s.info.ml_policy is not None and pod_set.ancestor == names.TRAINER:
        return requested, lambda path: TrainJobField(("spec", "trainer", "resourcesPerNode", *path[-2:]))
    return container.resources, TemplateField


def gang_deviation(s: Situation) -> str:
    """Return the deviation that affects the size or the resources of the gang, or an empty string."""
    if not s.info.gitops:
        return ""
    if info.awaited_pod_sets(s.info):
        return "gang-of-pods-that-run-together"
    if any(pod_set.replicas > 1 for pod_set in s.info.pod_sets):
        return "gang-counts-replicas"
    limits_count = s.path[-2] == "minResources" and any(
        s.path[-1] in container.resources.get("limits", {})
        and s.path[-1] not in container.resources.get("requests", {})
        for pod_set in info.members(s.info)
        for container in pod_set.containers
    )
    return "gang-counts-limits" if limits_count else ""


# The inputs from which plugins count processes: requested numbers, and the devices and CPUs of a node.


_TRAINER: Path = ("spec", "trainer")
_POLICY: Path = ("spec", "mlPolicy")


def devices(s: Situation) -> Iterator[Ref]:
    """Yield the inputs that decide the number of GPUs per node."""
    yield from amount(s, is_gpu) or (FixedRule("no GPU is requested"),)


def cores(s: Situation) -> Iterator[Ref]:
    """Yield the inputs that decide the number of CPUs per node."""
    yield from amount(s, lambda name: name == "cpu") or (FixedRule("at least one, because no CPU is requested"),)


def requesters(s: Situation, policy: str, default: int | str = 1) -> Iterator[Ref]:
    """Yield the field that sets the number of processes per node: the TrainJob's, else the policy's, if any."""
    if s.job.trainer.num_proc_per_node is not None:
        yield TrainJobField((*_TRAINER, "numProcPerNode"))
    elif "numProcPerNode" in (s.info.policy(policy) or {}):
        yield RuntimeField((*_POLICY, policy, "numProcPerNode"))
    else:
        yield FixedRule(f"numProcPerNode is not set: {default}")


def requested(s: Situation, policy: str, default: int | str = 1) -> int | str:
    """Return the requested number of processes per node, or a word such as "auto" that stands for it."""
    if s.job.trainer.num_proc_per_node is not None:
        return s.job.trainer.num_proc_per_node
    number: int | str = (s.info.policy(policy) or {}).get("numProcPerNode", default)
    return number


def amount(s: Situation, wanted: Callable[[str], bool]) -> tuple[Ref, ...]:
    """Return the resource amounts from which a count is taken: requests, or limits if requests have none."""
    resources, place = _counted_resources(s)
    for kind in ("requests", "limits"):
        for name, amount in (resources.get(kind) or {}).items():
            if wanted(name):
                if parse_quantity(str(amount)).units:
                    return (place(kind, name),)
                break
    return ()


def _counted_resources(s: Situation) -> tuple[Mapping[str, Any], Callable[[str, str], Ref]]:
    """Return the same as `ir.devices.resources_per_node`, with a function that locates each amount."""
    requested = s.job.trainer.resources_per_node
    if not s.info.gitops and requested is not None:
        return requested, lambda kind, name: TrainJobField((*_TRAINER, "resourcesPerNode", kind, name))
    for pod_set in s.info.pod_sets:
        if pod_set.role == names.NODE or pod_set.ancestor == names.TRAINER:
            container = pod_set.container(pod_set.main)
            if container is not None:
                return container.resources, _in_container(pod_set)
    return {}, lambda kind, name: FixedRule(f"no {kind} of {name}")


def _in_container(pod_set: PodSet) -> Callable[[str, str], Ref]:
    return lambda kind, name: JobSetField(jobset_path(pod_set, pod_set.main, "resources", kind, name))
