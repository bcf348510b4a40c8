"""What `explain` says about the size of any gang and the resources that it requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trainc.api import names
from trainc.api.field_path import FieldPath, Item
from trainc.api.quantity import container_requests
from trainc.ir import gang
from trainc.ir.podset import Container, PodSet
from trainc.plugins.readings import pods_of, replicated_job
from trainc.plugins.rows import FixedRule, JobSetField, Ref, Situation, TemplateField, TrainJobField


def gang_pods(s: Situation) -> Iterator[Ref]:
    """Yield the inputs that decide how many pods each replicated job of the gang has."""
    for pod_set in gang.members(s.info):
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
    for pod_set in gang.members(s.info):
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
    requested = s.job.trainer.resources_per_node if s.job.trainer else None
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
    if gang.awaited_pod_sets(s.info):
        return "gang-of-pods-that-run-together"
    if any(pod_set.replicas > 1 for pod_set in s.info.pod_sets):
        return "gang-counts-replicas"
    limits_count = s.path[-2] == "minResources" and any(
        s.path[-1] in container.resources.get("limits", {})
        and s.path[-1] not in container.resources.get("requests", {})
        for pod_set in gang.members(s.info)
        for container in pod_set.containers
    )
    return "gang-counts-limits" if limits_count else ""
