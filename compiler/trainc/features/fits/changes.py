"""Describe how a change affects the answers: jobs that can no longer be admitted, and changes of the queues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from trainc.features.fits.answer import Fit, Fits, fits_named
from trainc.features.fits.cluster import Cluster, ClusterQueue
from trainc.features.fits.snapshot import read_cluster
from trainc.features.fits.words import amount_with_unit, bare_amount
from trainc.kube.documents import Json

# The JobSets, each with the name of its job, and the cluster of one side of the change.
Side: TypeAlias = tuple[Sequence[tuple[str, Json]], Sequence[Json]]

_BLOCKED = ("never", "inactive", "refused")
_MOST_NAMED = 5


def fit_changes(before: Side, after: Side) -> list[str]:
    """Sentences about jobs and quotas that change; a single one if a snapshot is incomplete."""
    answers = fits_named(*before), fits_named(*after)
    if any(one.severity == "error" for found in answers for one in found.diagnostics):
        return [
            "The snapshot of the cluster is incomplete, so what it can admit is not compared; run `trainc fits` for details."
        ]
    old, new = ({fit.job: fit for fit in found.alone} for found in answers)
    clusters = read_cluster(before[1])[0], read_cluster(after[1])[0]
    return [*_jobs(old, new), *_queues(*clusters, old, answers[1])]


def _jobs(old: Mapping[str, Fit], new: Mapping[str, Fit]) -> Iterator[str]:
    for job, fit in new.items():
        was = old.get(job)
        if fit.verdict in _BLOCKED and (was is None or was.verdict not in _BLOCKED):
            reason = "; ".join(one.message for one in fit.diagnostics)
            yield f"{job} {_BLOCK_WORDS[fit.verdict][was is not None]}: {reason}."
        elif fit.verdict == "fits" and was and was.verdict in _BLOCKED:
            yield f"{job} can now be admitted, which was impossible before."


# For a new job, and for one that could be admitted before.
_BLOCK_WORDS = {
    "never": ("can never be admitted", "can no longer be admitted"),
    "inactive": ("uses a queue that admits nothing", "now uses a queue that admits nothing"),
    "refused": ("is rejected by Kueue", "is now rejected by Kueue"),
}


def _queues(before: Cluster, after: Cluster, old: Mapping[str, Fit], found: Fits) -> Iterator[str]:
    """The changes of each queue, and how many of its jobs can never be admitted afterwards."""
    for name in sorted({*before.cluster_queues, *after.cluster_queues}):
        was, now = before.cluster_queues.get(name), after.cluster_queues.get(name)
        if was and not now:
            yield f"ClusterQueue {name} was removed{_consequence(name, before, old, found)}."
        if not was or not now:
            continue
        if now.stopped and not was.stopped:
            yield f"ClusterQueue {name} was stopped{_consequence(name, after, old, found)}."
        for change in _quota(was, now):
            yield f"quota of {name}: {change}{_consequence(name, after, old, found)}."


def _quota(before: ClusterQueue, after: ClusterQueue) -> Iterator[str]:
    for key in sorted({*before.quotas, *after.quotas}):
        flavor, resource = key
        amounts = [queue.quotas[key].nominal if key in queue.quotas else 0 for queue in (before, after)]
        if amounts[0] != amounts[1]:
            where = f" in flavor {flavor}" if len({*before.flavors, *after.flavors}) > 1 else ""
            yield f"{bare_amount(resource, amounts[0])} -> {amount_with_unit(resource, amounts[1])}{where}"


def _consequence(name: str, cluster: Cluster, old: Mapping[str, Fit], found: Fits) -> str:
    """How many of a queue's jobs can never be admitted, and how many of those could be before."""
    of_queue = {place for place, local in cluster.local_queues.items() if local.cluster_queue == name}
    blocked = [
        fit.job
        for fit in found.alone
        if fit.verdict in _BLOCKED
        and (fit.job.rpartition("/")[0], fit.queue) in of_queue
        and (fit.job not in old or old[fit.job].verdict not in _BLOCKED)
    ]
    if not blocked:
        return ""
    some = ", ".join(blocked[:_MOST_NAMED]) + (", ..." if len(blocked) > _MOST_NAMED else "")
    return f"; {len(blocked)} {'job' if len(blocked) == 1 else 'jobs'} can no longer be admitted ({some})"
