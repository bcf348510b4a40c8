"""The answer for each job: whether Kueue can ever admit it, and which of the jobs are admitted together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from trainc.api.documents import Json, mapping
from trainc.api.releases import NEWEST_RELEASE
from trainc.api.schema.shapes import ROOTS, Struct
from trainc.api.schema.walking import mistyped, without_nulls
from trainc.diagnostics import Diagnostic
from trainc.fits import findings
from trainc.fits.assignment import TOPOLOGY, Assignment
from trainc.fits.cluster import Cluster, ClusterQueue
from trainc.fits.flavors import State
from trainc.fits.scheduler_nodes import node_shortfall
from trainc.fits.scheduling import ADMITTED, NAMESPACE, Entry, Scheduler, idle_state
from trainc.fits.shortfall import Shortfall, shortfall
from trainc.fits.snapshot import read_cluster
from trainc.fits.trials import admitted
from trainc.fits.webhooks import refusals
from trainc.fits.workload import Workload, job_name, place, queue_of, workload_of
from trainc.startup.records import dataclass, field

Verdict: TypeAlias = Literal["fits", "never", "inactive", "refused", "admitted", "waits", "unknown"]

_KUBE, _KUEUE = "kube-scheduler", "kueue"
# Cause -> the kind without any object of which it says nothing about the cluster.
_HINGES_ON = {
    "local-queue-missing": "LocalQueue",
    "cluster-queue-missing": "ClusterQueue",
    NAMESPACE: "Namespace",
    TOPOLOGY: "Node",
    "no-node": "Node",
}


@dataclass(frozen=True, slots=True)
class Fit:
    """The answer for one job, `namespace/name`.

    `verdict` is, for the job alone on the idle cluster, "fits", "never", "inactive" or "refused"; for all jobs together
    "admitted" or "waits" in place of "fits"; "unknown" where the snapshot lacks a kind that it hinges on. `cause` is a
    stable word for why not. `flavors` is pod set -> resource -> ResourceFlavor; `borrows` whether more is used than the
    queue's own; `topology` "found", "not found" or None where it did not decide; `places` pod set -> domain -> pods.
    `pods` and `requests` (milli-CPU, bytes, units) are what the quota is charged, per pod set. `queue` is the
    LocalQueue. `scheduler` is "kueue"; "kube-scheduler" for a job without a queue, of which Kueue knows nothing: it
    "fits" where the nodes, all of them empty, could hold the pods. No verdict says that anything is free now.
    """

    job: str
    verdict: Verdict
    cause: str | None = None
    flavors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    borrows: bool = False
    topology: Literal["found", "not found"] | None = None
    places: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    pods: Mapping[str, int] = field(default_factory=dict)
    requests: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    queue: str = ""
    scheduler: str = _KUEUE
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Fits:
    """The answers for all jobs, in their order: each alone, and all together. `diagnostics` are about the snapshot."""

    alone: list[Fit]
    together: list[Fit]
    diagnostics: list[Diagnostic]


def fits(jobsets: Sequence[Json], cluster: Sequence[Json]) -> Fits:
    """What Kueue would say to `jobsets`, with the cluster as its objects in `cluster` describe it.

    `cluster` holds what `kubectl get -o yaml` prints, Lists or single objects; other kinds are ignored. Nothing is
    raised for a snapshot that is wrong or not whole: `diagnostics` of the answer says so.
    """
    read, problems = read_cluster(cluster)
    state = idle_state(read)
    jobs = [_readable_job(jobset, read) for jobset in jobsets]
    alone = _alone_each(jobs, state)
    queued = {bool(fit.queue) for fit in alone if fit.verdict != "refused"}
    problems += findings.missing_kinds(read, queued=True in queued, unqueued=False in queued)
    return Fits(alone, _together(jobs, alone, state), problems)


@dataclass(frozen=True, slots=True)
class _Job:
    """A job on its way to the scheduler. `verdict` and `cause` say why it never gets there."""

    name: str
    workload: Workload | None = None
    queue: ClusterQueue | None = None
    verdict: Verdict = "fits"
    cause: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


def _readable_job(jobset: Json, cluster: Cluster) -> _Job:
    """The job of a JobSet; one with a value of a wrong type, or an amount that cannot be read, is refused."""
    wrong = mistyped(jobset, ROOTS["JobSet"], NEWEST_RELEASE)
    if wrong is None:
        try:
            return _job(without_nulls(jobset, Struct(ROOTS["JobSet"]), NEWEST_RELEASE), cluster)
        except ValueError:
            wrong = ()
    name = job_name(*place(jobset)) if isinstance(mapping(jobset).get("metadata"), Mapping) else ""
    found = ("jobset-schema", wrong, "the JobSet has fields of the wrong type; `trainc check` lists them")
    return _Job(name, verdict="refused", cause="jobset-schema", diagnostics=tuple(findings.refused_job(name, [found])))


def _job(jobset: Json, cluster: Cluster) -> _Job:
    namespace, name = place(jobset)
    job, queue = job_name(namespace, name), queue_of(jobset, cluster)
    refused = refusals(jobset, queue)
    if refused:
        return _Job(job, verdict="refused", cause=refused[0][0], diagnostics=tuple(findings.refused_job(job, refused)))
    workload = workload_of(jobset, queue, cluster)
    if not queue:
        return _Job(job, workload)
    local = cluster.local_queues.get((namespace, queue))
    behind = cluster.cluster_queues.get(local.cluster_queue) if local else None
    cause = _closed(local is None, bool(local and local.stopped), behind, cluster)
    if cause is None:
        return _Job(job, workload, behind)
    return _Job(
        job, workload, None, "inactive", cause, (findings.inactive_queue(job, cause, workload, behind, cluster),)
    )


def _closed(missing: bool, stopped: bool, queue: ClusterQueue | None, cluster: Cluster) -> str | None:
    """Why a queue leads nowhere; None where it does lead somewhere."""
    if missing:
        return "local-queue-missing"
    if stopped:
        return "local-queue-stopped"
    if queue is None:
        return "cluster-queue-missing"
    return "cluster-queue-inactive" if cluster.faults(queue) else None


def _alone_each(jobs: Sequence[_Job], state: State) -> list[Fit]:
    """Each job alone on the idle cluster; those of one shape in one queue are looked at once."""
    seen: dict[tuple[str, str, str], tuple[Entry, Shortfall | None]] = {}
    found = []
    for job in jobs:
        workload, queue = job.workload, job.queue
        if workload is None or queue is None:
            found.append(_outside(job, state.cluster))
            continue
        key = (workload.namespace, queue.name, workload.shape)
        if key not in seen:
            entry = admitted(workload, queue, state)
            seen[key] = entry, None if entry.cause == ADMITTED else shortfall(entry, queue, state)
        entry, why = seen[key]
        if why is None:
            found.append(_fit(job, "fits", None, state.cluster, entry.assignment))
        else:
            found.append(
                _fit(job, "never", entry.cause, state.cluster, findings.never_admitted(job.name, why, workload))
            )
    return found


def _outside(job: _Job, cluster: Cluster) -> Fit:
    """A job that never comes to Kueue's scheduler."""
    if job.workload is None or job.verdict != "fits":
        return _fit(job, job.verdict, job.cause, cluster, *job.diagnostics)
    lacking = node_shortfall(job.workload, cluster)
    if lacking is None:
        return _fit(job, "fits", None, cluster)
    cause, why = lacking
    return _fit(job, "never", cause, cluster, findings.never_admitted(job.name, why, job.workload, by_kueue=False))


def _together(jobs: Sequence[_Job], alone: Sequence[Fit], state: State) -> list[Fit]:
    """All jobs, submitted one after the other. One that waits may be admitted in the course of a later one."""
    everyone = Scheduler(state)
    entries: dict[int, Entry] = {}
    for order, job in enumerate(jobs):
        if job.workload and job.queue:
            entries[order] = Entry(order, job.workload)
            everyone.submit(entries[order], job.queue)
    return [_with_others(job, alone[order], entries.get(order), state.cluster) for order, job in enumerate(jobs)]


def _with_others(job: _Job, alone: Fit, entry: Entry | None, cluster: Cluster) -> Fit:
    if entry is None:
        return alone
    if entry.cause == ADMITTED:
        return _fit(job, "admitted", None, cluster, entry.assignment)
    return alone if alone.verdict != "fits" else _fit(job, "waits", entry.cause, cluster)


def _fit(
    job: _Job, verdict: Verdict, cause: str | None, cluster: Cluster, *found: Assignment | Diagnostic | None
) -> Fit:
    """An answer, with what was found for the job or what there is to say about it."""
    assignment = next((one for one in found if isinstance(one, Assignment)), None)
    diagnostics = tuple(one for one in found if isinstance(one, Diagnostic))
    kind = _HINGES_ON.get(cause or "")
    if kind and verdict in ("inactive", "never") and not cluster.kinds.get(kind):
        verdict, diagnostics = "unknown", (findings.undecided_job(job.name, kind),)
    pod_sets = job.workload.pod_sets if job.workload else ()
    places = _places(assignment)
    queue = job.workload.queue if job.workload else ""
    return Fit(
        job.name,
        verdict,
        cause,
        assignment.chosen if assignment else {},
        bool(assignment and assignment.level),
        "found" if places else "not found" if cause == TOPOLOGY and verdict == "never" else None,
        places,
        {one.name: one.count for one in pod_sets},
        {one.name: one.total for one in pod_sets},
        queue,
        _KUEUE if queue or verdict == "refused" else _KUBE,
        diagnostics,
    )


def _places(found: Assignment | None) -> dict[str, dict[str, int]]:
    """The pods per domain of each pod set that is placed."""
    return {
        one.pod_set.name: {"/".join(values): count for values, count in one.placement}
        for one in (found.pod_sets if found else ())
        if one.placement is not None
    }
