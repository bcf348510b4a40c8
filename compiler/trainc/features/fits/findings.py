"""Diagnostics about jobs that cannot run and about incomplete snapshots."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.features.fits.cluster import Cluster, ClusterQueue
from trainc.features.fits.shortfall import Shortfall
from trainc.features.fits.snapshot import FETCH, KINDS
from trainc.features.fits.webhooks import Refusal
from trainc.features.fits.workload import QUEUE, Workload
from trainc.findings import Diagnostic, Path, format_path
from trainc.findings.text import did_you_mean

_QUEUE_PATH: Path = ("metadata", "labels", QUEUE)


def refused_job(job: str, found: list[Refusal]) -> list[Diagnostic]:
    """Why Kueue refuses a JobSet."""
    hint = "change the field, or Kueue's webhook rejects the JobSet"
    return [_about(job, "RefusedByKueue", message, hint, path) for _, path, message in found]


def inactive_queue(
    job: str, cause: str, workload: Workload, queue: ClusterQueue | None, cluster: Cluster
) -> Diagnostic:
    """Why a job's queue cannot admit anything."""
    namespace = workload.namespace
    local = cluster.local_queues.get((namespace, workload.queue))
    if not namespace:
        message, hint = (
            "the job has no namespace, so its LocalQueue cannot be looked up",
            "set metadata.namespace, or compile with --namespace",
        )
    elif cause == "local-queue-missing":
        known = [name for space, name in cluster.local_queues if space == namespace]
        message = f"there is no LocalQueue {workload.queue} in namespace {namespace}"
        hint = did_you_mean(workload.queue, known) or _list_of(
            "the namespace has the LocalQueues", known, "the namespace has no LocalQueues"
        )
    elif cause == "local-queue-stopped":
        message = f"LocalQueue {namespace}/{workload.queue} is stopped (stopPolicy)"
        hint = "set stopPolicy: None on it, or use another queue"
    elif queue is None:
        behind = local.cluster_queue if local else ""
        message = f"LocalQueue {namespace}/{workload.queue} points to ClusterQueue {behind}, which does not exist"
        hint = did_you_mean(behind, cluster.cluster_queues) or "create it, or point the LocalQueue to another one"
    else:
        message = f"ClusterQueue {queue.name} is inactive: {'; '.join(cluster.faults(queue))}"
        hint = "fix this first: an inactive ClusterQueue admits nothing"
    return _about(job, "QueueInactive", message, hint, _QUEUE_PATH)


def _list_of(words: str, known: list[str], none: str) -> str:
    return f"{words} {', '.join(sorted(known))}" if known else none


def never_admitted(job: str, why: Shortfall, workload: Workload, *, by_kueue: bool = True) -> Diagnostic:
    """Why a job can never be admitted by Kueue, or never be placed by kube-scheduler."""
    index = next((one.index for one in workload.pod_sets if one.name == why.pod_set), None)
    path: Path = () if index is None else ("spec", "replicatedJobs", index)
    return _about(job, "NeverFits" if by_kueue else "NoNodeFits", why.message, why.hint, path or _QUEUE_PATH)


def undecided_job(job: str, kind: str) -> Diagnostic:
    """A job cannot be judged because the snapshot has no object of `kind`."""
    return _about(
        job,
        "SnapshotIncomplete",
        f"the snapshot has no {kind}, so trainc cannot tell whether this job fits",
        _fetch_hint(),
    )


def _about(job: str, code: str, message: str, hint: str, path: Path = ()) -> Diagnostic:
    return Diagnostic(code, "error", message, hint, f"JobSet {job}", format_path(path))


def _fetch_hint() -> str:
    return f"export all kinds: {FETCH}"


def missing_kinds(cluster: Cluster, *, queued: bool, unqueued: bool) -> Iterator[Diagnostic]:
    """What a snapshot lacks: an error for a kind that is referred to, an info for any other.

    `queued` and `unqueued` say whether there are jobs with and without a queue.
    """
    needs = _needed(cluster, queued=queued, unqueued=unqueued)
    for kind, needed in needs.items():
        if needed and not cluster.kinds.get(kind):
            message = f"the snapshot has no {kind}, and {needed}"
            yield Diagnostic("SnapshotIncomplete", "error", message, _fetch_hint(), kind)
    absent = [kind for kind in KINDS if not cluster.kinds.get(kind) and not needs.get(kind)]
    if absent:
        message = f"the snapshot has no {', '.join(absent)}; trainc assumes that the cluster has none"
        yield Diagnostic("SnapshotIncomplete", "info", message, _fetch_hint())
    for queue in cluster.cluster_queues.values():
        if queue.checks:
            message = f"its admission checks ({', '.join(queue.checks)}) are not evaluated; they run once it has reserved quota"
            yield Diagnostic("AdmissionCheckUnknown", "info", message, "", f"ClusterQueue {queue.name}")


def _needed(cluster: Cluster, *, queued: bool, unqueued: bool) -> dict[str, str]:
    """Kind -> why a snapshot without any object of that kind is incomplete; empty if it is complete."""
    queues = cluster.cluster_queues.values()
    topologies = any(flavor.topology for flavor in cluster.flavors.values())
    on_nodes = {"its flavors assign pods to nodes": topologies, "jobs without a queue are placed on nodes": unqueued}
    return {
        "ClusterQueue": "there are jobs with a queue" if queued else "",
        "LocalQueue": "there are jobs with a queue" if queued else "",
        "ResourceFlavor": "the ClusterQueues refer to flavors" if any(queue.flavors for queue in queues) else "",
        "Topology": "its flavors refer to topologies" if topologies else "",
        "Node": " and ".join(reason for reason, holds in on_nodes.items() if holds),
        "Namespace": "the ClusterQueues select namespaces" if queues else "",
    }
