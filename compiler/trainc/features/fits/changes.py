"""Describe how a change affects the answers: jobs that can no longer be admitted, and changes of the queues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from trainc.api.cluster import Dump
from trainc.api.findings import counted
from trainc.api.kube import Json
from trainc.features.fits.answer import Fit, Fits, fits_named
from trainc.features.fits.cluster import Cluster, ClusterQueue
from trainc.features.fits.snapshot import read_cluster
from trainc.features.fits.words import amount_with_unit, bare_amount
from trainc.findings.text import first_of

# The JobSets, each with the name of its job, and the cluster of one side of the change.
Side: TypeAlias = tuple[Sequence[tuple[str, Json]], Sequence[Json]]

_MOST_NAMED = 5


def fit_changes(before: Side, after: Side) -> list[str]:
    """Sentences about jobs and quotas that change; a single one if a snapshot cannot be read."""
    dumps = [Dump.of_objects(cluster) for _, cluster in (before, after)]
    answers = fits_named(before[0], dumps[0]), fits_named(after[0], dumps[1])
    if any(one.severity == "error" for found in answers for one in found.diagnostics):
        return [
            "The snapshot of the cluster cannot be read, so what it can admit is not compared; run `trainc fits` for details."
        ]
    old, new = ({fit.job: fit for fit in found.alone} for found in answers)
    clusters = [read_cluster(dump)[0] for dump in dumps]
    return [*_unknown(answers), *_jobs(old, new), *_queues(clusters[0], clusters[1], old, answers[1])]


def _unknown(answers: Iterable[Fits]) -> Iterator[str]:
    """What a snapshot lacks for some of the answers."""
    lacking = (one for found in answers for one in found.diagnostics if one.code == "SnapshotIncomplete" and one.object)
    for message in dict.fromkeys(one.message for one in lacking):
        yield f"{message[0].upper()}{message[1:]}."


def _jobs(old: Mapping[str, Fit], new: Mapping[str, Fit]) -> Iterator[str]:
    """What becomes of jobs; jobs with the same change for the same reason in one sentence."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for job, fit in new.items():
        was = old.get(job)
        if _is_blocked(fit) and (was is None or not _is_blocked(was)):
            reason = "; ".join(one.message for one in fit.diagnostics)
            words = _BLOCK_WORDS["never runs" if fit.verdict == "fits" else fit.verdict]
            found.setdefault((*words[was is not None], f": {reason}"), []).append(job)
        elif fit.verdict == "fits" and not _is_blocked(fit) and was and _is_blocked(was):
            can = "can now run, which was impossible before"
            found.setdefault((can, can, ""), []).append(job)
    for (one, several, reason), jobs in found.items():
        names = f" ({first_of(jobs)})" if len(jobs) > 1 else ""
        yield (
            f"{jobs[0]} {one}{reason}." if len(jobs) == 1 else f"{counted(len(jobs), 'job')} {several}{reason}{names}."
        )


def _is_blocked(fit: Fit) -> bool:
    """Whether a job can never run."""
    return fit.runs is False or fit.verdict in _BLOCK_WORDS


# For a new job, and for one that could run before.
# Each for one job and for several.
_BLOCK_WORDS = {
    "never": (("can never be admitted",) * 2, ("can no longer be admitted",) * 2),
    "inactive": (
        ("uses a queue that admits nothing", "use a queue that admits nothing"),
        ("now uses a queue that admits nothing", "now use a queue that admits nothing"),
    ),
    "refused": (
        ("is rejected by Kueue", "are rejected by Kueue"),
        ("is now rejected by Kueue", "are now rejected by Kueue"),
    ),
    "never runs": (
        ("can be admitted and never runs", "can be admitted and never run"),
        ("can still be admitted and no longer run",) * 2,
    ),
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
        if _is_blocked(fit)
        and (fit.job.rpartition("/")[0], fit.queue) in of_queue
        and (fit.job not in old or not _is_blocked(old[fit.job]))
    ]
    if not blocked:
        return ""
    some = ", ".join(blocked[:_MOST_NAMED]) + (", ..." if len(blocked) > _MOST_NAMED else "")
    return f"; {len(blocked)} {'job' if len(blocked) == 1 else 'jobs'} can no longer be admitted ({some})"
