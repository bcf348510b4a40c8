"""The answer for each job: whether Kueue can ever admit it, and which of the jobs are admitted together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from trainc.diagnostics import Diagnostic
from trainc.fits.assignment import TOPOLOGY, Assignment
from trainc.fits.cluster import Cluster, ClusterQueue
from trainc.fits.flavors import State
from trainc.fits.scheduling import ADMITTED, Entry, Scheduler, idle
from trainc.fits.snapshot import read_cluster
from trainc.fits.webhooks import refusals
from trainc.fits.workload import Workload, job_name, place, queue_of, workload_of
from trainc.records import dataclass, field

Json: TypeAlias = Mapping[str, Any]
Verdict: TypeAlias = Literal["fits", "never", "inactive", "refused", "admitted", "waits"]


@dataclass(frozen=True, slots=True)
class Fit:
    """The answer for one job, `namespace/name`.

    `verdict` is, for the job alone on the idle cluster, "fits", "never", "inactive" or "refused"; for all jobs together
    "admitted" or "waits" in place of "fits". `cause` is a stable word for why not. `flavors` is pod set -> resource ->
    ResourceFlavor; `borrows` whether more is used than the queue's own; `topology` "found", "not found" or None where
    it did not decide; `places` pod set -> domain -> pods. `pods` and `requests` (milli-CPU, bytes, units) are what the
    quota is charged, per pod set.
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
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Fits:
    """The answers for all jobs, in their order: each alone, and all together. `diagnostics` are about the snapshot."""

    alone: list[Fit]
    together: list[Fit]
    diagnostics: list[Diagnostic]


def fits(jobsets: Sequence[Json], cluster: Sequence[Json]) -> Fits:
    """What Kueue would say to `jobsets`, with the cluster as its objects in `cluster` describe it.

    `cluster` holds what `kubectl get -o yaml` prints, Lists or single objects; other kinds are ignored.
    """
    read, problems = read_cluster(cluster)
    state = idle(read)
    jobs = [_job(jobset, read) for jobset in jobsets]
    alone = [_alone(job, state) for job in jobs]
    return Fits(alone, _together(jobs, alone, state), problems)


@dataclass(frozen=True, slots=True)
class _Job:
    """A job on its way to the scheduler. `cause` is why it never gets there."""

    name: str
    workload: Workload | None = None
    queue: ClusterQueue | None = None
    verdict: Verdict = "fits"
    cause: str | None = None


def _job(jobset: Json, cluster: Cluster) -> _Job:
    namespace, name = place(jobset)
    job, queue = job_name(namespace, name), queue_of(jobset, cluster)
    refused = refusals(jobset)
    if refused:
        return _Job(job, verdict="refused", cause=refused[0][0])
    workload = workload_of(jobset, queue, cluster)
    local = cluster.local_queues.get((namespace, queue))
    if local is None:
        return _Job(job, workload, verdict="inactive", cause="local-queue-missing")
    if local.stopped:
        return _Job(job, workload, verdict="inactive", cause="local-queue-stopped")
    behind = cluster.cluster_queues.get(local.cluster_queue)
    if behind is None:
        return _Job(job, workload, verdict="inactive", cause="cluster-queue-missing")
    if cluster.faults(behind):
        return _Job(job, workload, verdict="inactive", cause="cluster-queue-inactive")
    return _Job(job, workload, behind)


def _alone(job: _Job, state: State) -> Fit:
    if job.workload is None or job.queue is None:
        return _fit(job, job.verdict, job.cause, None)
    entry = Entry(0, job.workload)
    Scheduler(state).submit(entry, job.queue)
    if entry.cause == ADMITTED:
        return _fit(job, "fits", None, entry.assignment)
    return _fit(job, "never", entry.cause, None)


def _together(jobs: Sequence[_Job], alone: Sequence[Fit], state: State) -> list[Fit]:
    """All jobs, submitted one after the other. One that waits may be admitted in the course of a later one."""
    everyone = Scheduler(state)
    entries: dict[int, Entry] = {}
    for order, job in enumerate(jobs):
        if job.workload and job.queue:
            entries[order] = Entry(order, job.workload)
            everyone.submit(entries[order], job.queue)
    return [_beside_others(job, alone[order], entries.get(order)) for order, job in enumerate(jobs)]


def _beside_others(job: _Job, alone: Fit, entry: Entry | None) -> Fit:
    if entry is None:
        return alone
    if entry.cause == ADMITTED:
        return _fit(job, "admitted", None, entry.assignment)
    return alone if alone.verdict != "fits" else _fit(job, "waits", entry.cause, None)


def _fit(job: _Job, verdict: Verdict, cause: str | None, found: Assignment | None) -> Fit:
    pod_sets = job.workload.pod_sets if job.workload else ()
    places = {
        one.pod_set.name: {"/".join(values): count for values, count in one.placement}
        for one in (found.pod_sets if found else ())
        if one.placement is not None
    }
    return Fit(
        job.name,
        verdict,
        cause,
        found.chosen if found else {},
        bool(found and found.level),
        "found" if places else "not found" if cause == TOPOLOGY and verdict == "never" else None,
        places,
        {one.name: one.count for one in pod_sets},
        {one.name: one.total for one in pod_sets},
    )
