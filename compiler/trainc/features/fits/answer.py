"""Answer, for each job, whether Kueue can ever admit it, and which of the jobs can be admitted together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from trainc.features.fits import findings
from trainc.features.fits.assigner import State
from trainc.features.fits.assignment import TOPOLOGY, Assignment
from trainc.features.fits.cluster import Cluster, ClusterQueue
from trainc.features.fits.nodes import node_shortfall
from trainc.features.fits.scheduling import ADMITTED, NAMESPACE, Entry, Scheduler, admitted, idle_state
from trainc.features.fits.shortfall import Shortfall, shortfall
from trainc.features.fits.snapshot import read_cluster
from trainc.features.fits.webhooks import refusals
from trainc.features.fits.workload import Workload, job_name, place, queue_of, workload_of
from trainc.findings import Diagnostic
from trainc.kube.documents import Json, mapping
from trainc.kube.releases import NEWEST_RELEASE
from trainc.schema.shapes import ROOTS, Struct
from trainc.schema.unknown_fields import mistyped, without_nulls
from trainc.startup.records import dataclass, field

Verdict: TypeAlias = Literal["fits", "never", "inactive", "refused", "admitted", "waits", "unknown"]

_KUBE, _KUEUE = "kube-scheduler", "kueue"
# Cause -> the kind of which the snapshot must contain an object before the cause can be trusted.
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

    `verdict` for the job alone on the idle cluster is "fits", "never", "inactive" or "refused". For all jobs together,
    "fits" becomes "admitted" or "waits". It is "unknown" if the snapshot lacks a kind that the answer depends on.
    `cause` is a stable identifier of the reason. `flavors` maps pod set -> resource -> ResourceFlavor; `borrows` says
    whether usage exceeds the queue's own quota; `topology` is "found", "not found", or None if it was not decisive;
    `places` maps pod set -> domain -> pods. `pods` and `requests` (millicores, bytes, units) are charged to the quota,
    per pod set. `queue` is the LocalQueue. `scheduler` is "kueue", or "kube-scheduler" for a job without a queue, which
    "fits" if the nodes, when empty, can hold its pods. No verdict says that resources are free at the moment.
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
    """The answers for all jobs in order, alone and together. `diagnostics` are about the snapshot."""

    alone: list[Fit]
    together: list[Fit]
    diagnostics: list[Diagnostic]


def fits(jobsets: Sequence[Json], cluster: Sequence[Json]) -> Fits:
    """Predict how Kueue treats `jobsets` in the cluster that the objects in `cluster` describe.

    `cluster` contains the output of `kubectl get -o yaml`, as Lists or single objects; other kinds are ignored. An
    invalid or incomplete snapshot raises no CompileError but is reported in the `diagnostics` of the result.
    """
    return fits_named([(_name(jobset), jobset) for jobset in jobsets], cluster)


def fits_named(jobsets: Sequence[tuple[str, Json]], cluster: Sequence[Json]) -> Fits:
    """Like `fits`, for JobSets under the names that their answers are to have: those of the TrainJobs."""
    read, problems = read_cluster(cluster)
    state = idle_state(read)
    jobs = [_readable_job(name, jobset, read) for name, jobset in jobsets]
    alone = _alone_each(jobs, state)
    queued = {bool(fit.queue) for fit in alone if fit.verdict != "refused"}
    problems += findings.missing_kinds(read, queued=True in queued, unqueued=False in queued)
    return Fits(alone, _together(jobs, alone, state), problems)


@dataclass(frozen=True, slots=True)
class _Job:
    """A job before scheduling. `verdict` and `cause` are set if it never reaches the scheduler."""

    name: str
    workload: Workload | None = None
    queue: ClusterQueue | None = None
    verdict: Verdict = "fits"
    cause: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


def _name(jobset: Json) -> str:
    return job_name(*place(jobset)) if isinstance(mapping(jobset).get("metadata"), Mapping) else ""


def _readable_job(name: str, jobset: Json, cluster: Cluster) -> _Job:
    """Read the job of a JobSet; a value of the wrong type or an unreadable amount makes it refused."""
    wrong = mistyped(jobset, ROOTS["JobSet"], NEWEST_RELEASE)
    if wrong is None:
        try:
            return _job(name, without_nulls(jobset, Struct(ROOTS["JobSet"]), NEWEST_RELEASE), cluster)
        except ValueError:
            wrong = ()
    found = ("jobset-schema", wrong, "the JobSet has fields of the wrong type; `trainc check` lists them")
    return _Job(name, verdict="refused", cause="jobset-schema", diagnostics=tuple(findings.refused_job(name, [found])))


def _job(job: str, jobset: Json, cluster: Cluster) -> _Job:
    namespace, queue = place(jobset)[0], queue_of(jobset, cluster)
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
    """Why a queue cannot admit anything; None if it can."""
    if missing:
        return "local-queue-missing"
    if stopped:
        return "local-queue-stopped"
    if queue is None:
        return "cluster-queue-missing"
    return "cluster-queue-inactive" if cluster.faults(queue) else None


def _alone_each(jobs: Sequence[_Job], state: State) -> list[Fit]:
    """Each job alone on the idle cluster; jobs of the same shape in the same queue are evaluated once."""
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
    """The answer for a job that never reaches Kueue's scheduler."""
    if job.workload is None or job.verdict != "fits":
        return _fit(job, job.verdict, job.cause, cluster, *job.diagnostics)
    lacking = node_shortfall(job.workload, cluster)
    if lacking is None:
        return _fit(job, "fits", None, cluster)
    cause, why = lacking
    return _fit(job, "never", cause, cluster, findings.never_admitted(job.name, why, job.workload, by_kueue=False))


def _together(jobs: Sequence[_Job], alone: Sequence[Fit], state: State) -> list[Fit]:
    """All jobs, submitted in order. A waiting job may still be admitted when a later one is submitted."""
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
    """Build an answer from what was found for the job, or from the reason why nothing was."""
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
    """The pods per domain of each placed pod set."""
    return {
        one.pod_set.name: {"/".join(values): count for values, count in one.placement}
        for one in (found.pod_sets if found else ())
        if one.placement is not None
    }
