"""What Kueue's Workloads in a dump hold, and which of them wait, in which order.

Source: kubernetes-sigs/kueue pkg/workload/workload.go (totalRequestsFromAdmission, Ordering), pkg/cache/scheduler/cache.go,
pkg/cache/queue/cluster_queue.go (backoffWaitingTimeExpired), pkg/util/priority/priority.go, v0.19.2.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from trainc.api.cluster import Dump, live_objects
from trainc.api.documents import label_of
from trainc.api.findings import Diagnostic, Finding
from trainc.api.jobs import JobSet
from trainc.api.kube import Unchecked, documents, identity_of, mapping, names, objects
from trainc.api.records import dataclass, field, replace
from trainc.features.cluster.fits.cluster import Cluster, FlavorResource
from trainc.features.cluster.fits.pods import amounts, pod_amounts
from trainc.features.cluster.fits.scheduling import Entry
from trainc.features.cluster.fits.snapshot import SHAPES, WORKLOADS, WrongValue, check_shape, check_type, unreadable
from trainc.features.cluster.fits.state import Holder
from trainc.features.cluster.fits.topology import Placement
from trainc.features.cluster.fits.workload import (
    GROUP,
    PREFERRED,
    PRIORITY,
    REQUIRED,
    SLICE_LAYERS,
    SLICE_LEVEL,
    SLICE_SIZE,
    UNCONSTRAINED,
    Workload,
    job_name,
    workload_of,
)

# No real assignment has as many domains.
_MOST_DOMAINS = 100_000
_MOST_PODS = 2**31


@dataclass(frozen=True, slots=True)
class Pending:
    """A Workload that waits in the line of a ClusterQueue."""

    name: str
    job: str
    queue: str
    entry: Entry
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """The Workloads of a dump: those that hold quota, those in line, and those that are not (`aside`, with the reason).

    `of_job` has the name of each job's Workload, by the kind, namespace and name of the job; `finished` the Workloads that ended.
    """

    holders: list[Holder] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)
    aside: dict[str, str] = field(default_factory=dict)
    finished: set[str] = field(default_factory=set)
    of_job: dict[tuple[str, str, str], str] = field(default_factory=dict)

    def of(self, namespace: str, job_names: Iterable[str]) -> str:
        """The Workload of a JobSet or TrainJob with one of these names; empty if there is none."""
        found = (self.of_job.get((kind, namespace, name)) for name in job_names for kind in ("JobSet", "TrainJob"))
        return next(filter(None, found), "")


def read_usage(cluster: Cluster, at: float) -> tuple[Usage, list[Diagnostic]]:
    """Read the Workloads of a dump that was made `at` a time; one that cannot be read is reported and left out."""
    usage, problems, guard = Usage(), list[Diagnostic](), Finding.Guard("what is in use", "reading this object", ())
    for (namespace, name), document in cluster.dump.of_group(names.KUEUE_GROUP, "Workload").items():
        with guard(label_of(document)):
            try:
                check_shape(document, SHAPES["Workload"], "")
                _read(job_name(namespace, name), namespace, document, cluster, at, usage)
            except ValueError as error:
                problems.append(unreadable(document, getattr(error, "path", ""), str(error), WORKLOADS))
    usage.pending.sort(key=lambda pending: pending.entry.order)
    return usage, [*problems, *guard.diagnostics]


def _read(  # noqa: PLR0913, PLR0917 - what is known of one Workload
    full_name: str, namespace: str, document: Unchecked, cluster: Cluster, at: float, usage: Usage
) -> None:
    spec, status = mapping(document.get("spec")), mapping(document.get("status"))
    owner = live_objects.controller_of(document) or next(
        iter(objects(mapping(document["metadata"]).get("ownerReferences"))), {}
    )
    usage.of_job[str(owner.get("kind")), namespace, str(owner.get("name"))] = full_name
    conditions = {str(c.get("type")): c for c in objects(status.get("conditions"))}
    if _holds(conditions, "Finished"):
        usage.finished.add(full_name)
        return
    job = job_name(namespace, str(owner.get("name") or identity_of(document)[1]))
    if spec.get("active") is False:
        usage.aside[full_name] = "it was deactivated (spec.active: false)"
    elif _holds(conditions, "QuotaReserved"):
        if holder := _holder(full_name, job, document, conditions, cluster):
            usage.holders.append(holder)
    else:
        _wait(full_name, job, document, conditions, cluster, at, usage)


def _holds(conditions: Mapping[str, Unchecked], kind: str) -> bool:
    return conditions.get(kind, {}).get("status") == "True"


def _holder(
    name: str, job: str, document: Unchecked, conditions: Mapping[str, Unchecked], cluster: Cluster
) -> Holder | None:
    """What a Workload with a reservation holds; None if its ClusterQueue is gone."""
    metadata, spec, status = (mapping(document.get(key)) for key in ("metadata", "spec", "status"))
    admission = mapping(status.get("admission"))
    queue = str(admission.get("clusterQueue"))
    if queue not in cluster.cluster_queues or cluster.loops(cluster.cluster_queues[queue].cohort):
        return None
    reclaimed = {str(item.get("name")): whole(item.get("count")) for item in objects(status.get("reclaimablePods"))}
    templates = {str(item.get("name")): mapping(item.get("template")) for item in objects(spec.get("podSets"))}
    used: dict[FlavorResource, int] = {}
    places = []
    for assigned in objects(admission.get("podSetAssignments")):
        pod_set, flavors = str(assigned.get("name")), mapping(assigned.get("flavors"))
        count = whole(assigned.get("count"), 1)
        left = max(0, count - reclaimed.get(pod_set, 0))
        totals = amounts(assigned.get("resourceUsage"))
        for resource, flavor in ((resource, str(flavor)) for resource, flavor in flavors.items()):
            total = totals.get(resource, 0)
            amount = total if left == count or not count else total // count * left
            used[flavor, resource] = used.get((flavor, resource), 0) + amount
        if assigned.get("topologyAssignment"):
            placement = domains_of(mapping(assigned["topologyAssignment"]))
            pod = check_type(templates.get(pod_set, {}).get("spec") or {}, "core.PodSpec", "spec.podSets")
            per_pod = pod_amounts(pod)
            places += [
                (flavor, _in_tree(placement, flavor, cluster), per_pod)
                for flavor in sorted(set(map(str, flavors.values())))
            ]
    reserved, admitted = conditions["QuotaReserved"], conditions.get("Admitted", {})
    seconds = spec.get("maximumExecutionTimeSeconds")
    started = time_of(admitted.get("lastTransitionTime")) if _holds(conditions, "Admitted") else None
    past = whole(
        status.get("accumulatedPastExecutionTimeSeconds") or status.get("accumulatedPastExexcutionTimeSeconds")
    )
    return Holder(
        name,
        job,
        queue,
        str(spec.get("queueName") or ""),
        whole(spec.get("priority")),
        time_of(reserved.get("lastTransitionTime")) or 0,
        _queued_at(metadata, conditions),
        str(metadata.get("uid") or ""),
        _holds(conditions, "Evicted"),
        used,
        places,
        None if seconds is None or started is None else started + whole(seconds) - past,
        _holds(conditions, "Admitted"),
    )


def _wait(  # noqa: PLR0913, PLR0917 - what is known of one Workload
    name: str,
    job: str,
    document: Unchecked,
    conditions: Mapping[str, Unchecked],
    cluster: Cluster,
    at: float,
    usage: Usage,
) -> None:
    metadata, spec, status = (mapping(document.get(key)) for key in ("metadata", "spec", "status"))
    namespace, local_queue = str(metadata.get("namespace") or ""), str(spec.get("queueName") or "")
    local = cluster.local_queues.get((namespace, local_queue))
    queue = cluster.cluster_queues.get(local.cluster_queue) if local else None
    requeue = time_of(mapping(status.get("requeueState")).get("requeueAt"))
    if local is None or queue is None or local.stopped or cluster.faults(queue):
        usage.aside[name] = f"its queue {local_queue} admits nothing"
    elif conditions.get("Requeued", {}).get("status") == "False" or (requeue is not None and requeue > at):
        usage.aside[name] = "Kueue queues it again later (status.requeueState)"
    elif any(check.get("state") in ("Retry", "Rejected") for check in objects(status.get("admissionChecks"))):
        usage.aside[name] = "an admission check has failed"
    else:
        workload = _pending_workload(document, local_queue, cluster)
        workload = replace(workload, priority=whole(spec.get("priority")), created=_queued_at(metadata, conditions))
        entry = Entry(order_of(workload, f"{metadata.get('uid') or ''} {name}"), with_priority(workload))
        reserved = conditions.get("QuotaReserved", {})
        reason, message = str(reserved.get("reason") or ""), str(reserved.get("message") or "")
        usage.pending.append(Pending(name, job, queue.name, entry, reason, message))


def order_of(workload: Workload, uid: str) -> tuple[float | str, ...]:
    """By what Kueue orders the jobs of a queue: priority, time, and an identifier that nobody chooses."""
    return -workload.priority, workload.created, uid


def with_priority(workload: Workload) -> Workload:
    """A job whose shape tells its priority, as only jobs of one priority are alike."""
    return replace(workload, shape=f"{workload.priority} {workload.shape}")


def _queued_at(metadata: Unchecked, conditions: Mapping[str, Unchecked]) -> float:
    """When a Workload was queued: at its creation, or at an eviction for which it is not to blame."""
    evicted = conditions.get("Evicted", {})
    if evicted.get("status") == "True" and evicted.get("reason") in ("PodsReadyTimeout", "AdmissionCheck"):
        return time_of(evicted.get("lastTransitionTime")) or 0
    return time_of(metadata.get("creationTimestamp")) or 0


def _pending_workload(document: Unchecked, queue: str, cluster: Cluster) -> Workload:
    """The job that a Workload stands for, as if it was a JobSet with a replicated job for each pod set."""
    metadata, status = mapping(document.get("metadata")), mapping(document.get("status"))
    reclaimed = {str(item.get("name")): whole(item.get("count")) for item in objects(status.get("reclaimablePods"))}
    jobs = []
    for pod_set in objects(mapping(document.get("spec")).get("podSets")):
        requested = mapping(pod_set.get("topologyRequest"))
        count = max(0, whole(pod_set.get("count"), 1) - reclaimed.get(str(pod_set.get("name")), 0))
        replicas = whole(requested.get("subGroupCount"), 1)
        replicas = replicas if replicas > 0 and count % replicas == 0 else 1
        template = {
            "metadata": {"annotations": dict(_annotations(requested))},
            "spec": check_type(mapping(pod_set.get("template")).get("spec") or {}, "core.PodSpec", "spec.podSets"),
        }
        job = {"spec": {"parallelism": count // replicas, "template": template}}
        jobs.append({"name": pod_set.get("name"), "replicas": replicas, "template": job})
    return workload_of({"metadata": metadata, "spec": {"replicatedJobs": jobs}}, queue, cluster)


_TEXTS = {"required": REQUIRED, "preferred": PREFERRED, "podSetGroupName": GROUP, "podSetSliceRequiredTopology": SLICE_LEVEL}  # fmt: skip


def _annotations(requested: Unchecked) -> Iterator[tuple[str, str]]:
    """The annotations of pods that make a topology request."""
    for key, annotation in _TEXTS.items():
        if requested.get(key) is not None:
            yield annotation, str(requested[key])
    if requested.get("unconstrained") is not None:
        yield UNCONSTRAINED, json.dumps(bool(requested["unconstrained"]))
    if requested.get("podSetSliceSize") is not None:
        yield SLICE_SIZE, str(whole(requested["podSetSliceSize"]))
    if layers := objects(requested.get("podsetSliceRequiredTopologyConstraints")):
        yield SLICE_LAYERS, json.dumps([dict(layer) for layer in layers])


def domains_of(assignment: Unchecked) -> Placement:
    """The domains of a topology assignment with their pods, as v1beta1 lists and as v1beta2 packs them."""
    found = [
        (tuple(map(str, documents.items(d.get("values")))), whole(d.get("count")))
        for d in objects(assignment.get("domains"))
    ]
    for part in objects(assignment.get("slices")):
        size = whole(part.get("domainCount"), 1)
        if not 0 <= size <= _MOST_DOMAINS:
            raise WrongValue("status.admission", f"a slice of its topologyAssignment has {size} domains")
        counts = list(_unpacked(mapping(part.get("podCounts")), size, whole))
        levels = [list(_unpacked(mapping(level), size, str)) for level in objects(part.get("valuesPerLevel"))]
        found += [(tuple(level[i] for level in levels), counts[i]) for i in range(size)]
    return tuple(found)


def _unpacked(packed: Unchecked, size: int, read: Any) -> Iterator[Any]:
    """The values that are written once for all, one by one, or with a common prefix and suffix."""
    individual = packed.get("individual")
    if "universal" in packed:
        values = [packed["universal"]] * size
    elif isinstance(individual, Mapping):
        prefix, suffix = str(individual.get("prefix") or ""), str(individual.get("suffix") or "")
        values = [f"{prefix}{root}{suffix}" for root in documents.items(individual.get("roots"))]
    else:
        values = documents.items(individual)
    if len(values) < size:
        raise WrongValue("status.admission", "its topologyAssignment has fewer values than domains")
    yield from map(read, values)


def _in_tree(placement: Placement, flavor: str, cluster: Cluster) -> Placement:
    """A placement by the domains of a flavor's topology: hosts have names that are unique."""
    found = cluster.flavors.get(flavor)
    levels = cluster.topologies.get(found.topology or "", ()) if found else ()
    by_host = bool(levels) and levels[-1] == "kubernetes.io/hostname"
    return tuple((values[-1:] if by_host else values, count) for values, count in placement)


def whole(value: Any, default: int = 0) -> int:
    """An integer of a dump. Raises WrongValue for anything else."""
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _MOST_PODS:
        raise WrongValue("", f"{str(value)[:50]!r} is not a number that Kueue writes")
    return value


def time_of(text: Any) -> float | None:
    """The seconds of a time as Kubernetes writes it; None without one. Raises WrongValue if it cannot be read."""
    if not text:
        return None
    try:
        time = datetime.fromisoformat(str(text))
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise WrongValue("", f"{str(text)[:50]!r} is not a time") from None


def priority_of(jobset: Unchecked, dump: Dump, *, default_class: bool) -> tuple[int, str]:
    """The priority that Kueue gives to a JobSet, and the WorkloadPriorityClass that it names and the dump lacks."""
    labels = mapping(mapping(jobset.get("metadata")).get("labels"))
    name = str(labels.get(PRIORITY) or "")
    if not name and default_class and dump.get("WorkloadPriorityClass", "", "default"):
        name = "default"
    if name:
        document = dump.get("WorkloadPriorityClass", "", name)
        return (whole(document.get("value")), "") if document else (0, name)
    specs = (job.pod_spec for job in JobSet.read(jobset).jobs)
    pod_class = next((str(spec["priorityClassName"]) for spec in specs if spec.get("priorityClassName")), "")
    classes = dump.of("PriorityClass")
    chosen = classes.get(("", pod_class)) if pod_class else _global_default(classes)
    return whole(mapping(chosen).get("value")), ""


def _global_default(classes: Mapping[tuple[str, str], Unchecked]) -> Unchecked | None:
    defaults = [document for document in classes.values() if document.get("globalDefault") is True]
    return min(defaults, key=lambda document: whole(document.get("value")), default=None)


def dump_time(dump: Dump) -> tuple[str, bool]:
    """When a dump was made, empty if nothing tells, and whether it says so itself (`takenAt`).

    Otherwise it is the newest time in it: those of heartbeats of nodes, conditions of Workloads and pods.
    """
    for document in dump.nameless:
        if document.get("takenAt"):
            return str(document["takenAt"]), True
    newest, text = -1.0, ""
    for time in _times(dump):
        try:
            seconds = time_of(time)
        except WrongValue:
            continue
        if seconds is not None and seconds > newest:
            newest, text = seconds, str(time)
    return text, False


def _times(dump: Dump) -> Iterator[Any]:
    for kind in ("Node", "Workload", "Pod", "JobSet", "ClusterQueue"):
        for document in dump.of(kind).values():
            yield mapping(document.get("metadata")).get("creationTimestamp")
            for condition in objects(mapping(document.get("status")).get("conditions")):
                yield condition.get("lastHeartbeatTime")
                yield condition.get("lastTransitionTime")
