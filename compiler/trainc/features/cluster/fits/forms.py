"""Answers as text and JSON, and what a change does to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.api.cluster import Dump
from trainc.api.findings import counted, first_of
from trainc.api.kube import Unchecked, names
from trainc.features.cluster.fits.answer import Fit, Fits, fits_named
from trainc.features.cluster.fits.cluster import Cluster, ClusterQueue
from trainc.features.cluster.fits.pods import amount_with_unit, counted_pods, shorten, written_amount
from trainc.features.cluster.fits.references import created_by
from trainc.features.cluster.fits.snapshot import read_cluster

VERSION = 1
NOTE = "A job that fits may still have to wait: running workloads, preemption, fair sharing and admission checks are not considered."
_MOST_DOMAINS, _MOST_FATES = 8, 10


def fits_text(fits: Fits) -> str:
    """A line for each job, followed by the resources of its pods; then the number of jobs for each verdict."""
    width = max((len(fit.job) for fit in fits.alone), default=0)
    lines = []
    for alone, together in zip(fits.alone, fits.together, strict=True):
        lines.append(f"{alone.job:<{width}}  {verdict_text(alone, together)}")
        lines += [f"  {line}" for line in _pod_sets(alone)]
    return "".join(f"{line}\n" for line in (*lines, "", *_counts(fits), NOTE))


def verdict_text(alone: Fit, together: Fit) -> str:
    """Both answers for a job on one line."""
    if alone.scheduler != "kueue":
        why = f" ({alone.cause})" if alone.cause else ""
        return "no queue: " + ("the nodes have room for it" if alone.verdict == "fits" else f"{alone.verdict}{why}")
    text = alone.verdict if alone.cause is None else f"{alone.verdict} ({alone.cause})"
    if alone.verdict == "fits" and alone.queue:
        text = f"fits queue {alone.queue}" + (", borrowing from its cohort" if alone.borrows else "")
        if alone.runs is False:
            return f"{text}; admitted, it never runs ({alone.cause})"
    if together.verdict == "waits":
        return f"{text}; together with the jobs before it, it waits ({together.cause})"
    if together.verdict == "admitted" and alone.verdict != "fits":
        return f"{text}; together with the jobs before it, it is admitted"
    return text


def _pod_sets(fit: Fit) -> Iterator[str]:
    for name, flavors in fit.flavors.items():
        by_flavor: dict[str, list[str]] = {}
        for resource, flavor in sorted(flavors.items()):
            by_flavor.setdefault(flavor, []).append(resource)
        chosen = ", ".join(f"{flavor} ({', '.join(of)})" for flavor, of in by_flavor.items())
        places = list(fit.places.get(name, {}).items())
        where = f", on {', '.join(f'{domain}: {count}' for domain, count in places[:_MOST_DOMAINS])}" if places else ""
        where += f" and {len(places) - _MOST_DOMAINS} more" if len(places) > _MOST_DOMAINS else ""
        yield f"{name}: {counted_pods(fit.pods[name])}, {chosen or 'no requests'}{where}"


def _counts(fits: Fits) -> Iterator[str]:
    alone = Counter(fit.verdict for fit in fits.alone)
    together = Counter(fit.verdict for fit in fits.together if fit.scheduler == "kueue")
    yield f"Each job alone on the idle cluster: {_count_text(alone, ('fits', 'never', 'inactive', 'refused', 'unknown'))}."
    yield f"All jobs in this order, if none of them ends: {_count_text(together, ('admitted', 'waits'))}."


def _count_text(counts: Counter[Any], verdicts: tuple[str, ...]) -> str:
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in verdicts if counts[verdict]) or "none"


def fits_json(fits: Fits) -> dict[str, Any]:
    """Return the answers in the shape documented in docs/fits.md."""
    jobs = [
        {**_fields(alone, "job", "queue", "scheduler"), "alone": _entry(alone), "together": _entry(both)}
        for alone, both in zip(fits.alone, fits.together, strict=True)
    ]
    return {"version": VERSION, "jobs": jobs, "note": NOTE}


def _entry(fit: Fit) -> dict[str, Any]:
    answer = ("verdict", "cause", "flavors", "borrows", "topology", "places", "runs", "pods", "requests")
    return {**_fields(fit, *answer), "reasons": [_fields(d, "code", "message", "hint") for d in fit.diagnostics]}


def _fields(record: object, *names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


def lines_by_job(fits: Sequence[Fit]) -> dict[str, list[str]]:
    """Return a line for each answer, by job: `fits queue team-a, with h100`."""
    lines: dict[str, list[str]] = {}
    for fit in fits:
        queue = f"queue {fit.queue}" if fit.queue else "the cluster without a queue"
        flavors = sorted({flavor for by_resource in fit.flavors.values() for flavor in by_resource.values()})
        using = f", with {', '.join(flavors)}" if flavors else ""
        if fit.verdict == "fits":
            line = f"fits {queue}{using}{', borrowing' if fit.borrows else ''}"
        else:
            line = f"{fit.verdict} in {queue}" + (f": {fit.cause}" if fit.cause else "")
        lines.setdefault(fit.job, []).append(line)
    return lines


def where_by_job(
    jobs: Sequence[tuple[str, Unchecked]], cluster: Sequence[Unchecked], output: Sequence[Unchecked] = ()
) -> dict[str, str]:
    """Where each JobSet of the output, given with the name of its job, fits in a cluster on its own, on one line."""
    fits = fits_named(jobs, Dump.of_objects(cluster), created_by(output))
    return {job: lines[0] for job, lines in lines_by_job(fits.alone).items()}


def fits_by_job(fits: Fits) -> dict[str, str]:
    """The answer for each job on one line, with the reason if it can never run."""
    return {
        alone.job: ": ".join((verdict_text(alone, together), *(d.message for d in alone.diagnostics)))
        for alone, together in zip(fits.alone, fits.together, strict=True)
    }


# Describe how a change affects the answers: jobs that can no longer be admitted, and changes of the queues.

# The JobSets, each with the name of its job, and the cluster of one side of the change.
Side: TypeAlias = tuple[Sequence[tuple[str, Unchecked]], Sequence[Unchecked]]

_MOST_NAMED = 5


def fit_changes(
    before: Side,
    after: Side,
    outputs: Sequence[Sequence[Unchecked]] = ((), ()),
    kueues: Sequence[str | None] = (None, None),
) -> list[str]:
    """Sentences about jobs and quotas that change; a single one if a snapshot cannot be read.

    `outputs` are all manifests of the two sides, which the cluster need not have, and `kueues` their versions of Kueue.
    """
    dumps = [Dump.of_objects(cluster) for _, cluster in (before, after)]
    created = list(map(created_by, outputs))
    in_use = bool(dumps[1].of_group(names.KUEUE_GROUP, "Workload"))
    answers = (
        fits_named(before[0], dumps[0], created[0], kueues[0]),
        fits_named(after[0], dumps[1], created[1], kueues[1], now=in_use),
    )
    if not all(fits.is_of_all for fits in answers):
        return [
            "The snapshot of the cluster cannot be read, so what it can admit is not compared; run `trainc fits` for details."
        ]
    old, new = ({fit.job: fit for fit in fits.alone} for fits in answers)
    clusters = [read_cluster(dump)[0] for dump in dumps]
    now = _now(answers[1], old) if in_use else ()
    return [*_unknown(answers), *_jobs(old, new), *now, *_queues(clusters[0], clusters[1], old, answers[1])]


def _unknown(answers: Iterable[Fits]) -> Iterator[str]:
    """What a snapshot lacks for some of the answers."""
    lacking = (d for fits in answers for d in fits.diagnostics if d.code == "SnapshotIncomplete" and d.object)
    for message in dict.fromkeys(d.message for d in lacking):
        yield f"{message[0].upper()}{message[1:]}."


def _jobs(old: Mapping[str, Fit], new: Mapping[str, Fit]) -> Iterator[str]:
    """What becomes of jobs; jobs with the same change for the same reason in one sentence."""
    by_change: dict[tuple[str, str], list[str]] = {}
    for job, fit in new.items():
        was = old.get(job)
        if _is_blocked(fit) and (was is None or not _is_blocked(was)):
            reason = "; ".join(diagnostic.message for diagnostic in fit.diagnostics)
            phrases = _BLOCK_WORDS["never runs" if fit.verdict == "fits" else fit.verdict]
            by_change.setdefault((phrases[was is not None], f": {reason}"), []).append(job)
        elif fit.verdict == "fits" and not _is_blocked(fit) and was and _is_blocked(was):
            by_change.setdefault(("can now run, which was impossible before", ""), []).append(job)
    for (phrase, reason), jobs in by_change.items():
        if len(jobs) == 1:
            yield f"{jobs[0]} {phrase.format(s='s', be='is')}{reason}."
        else:
            yield f"{counted(len(jobs), 'job')} {phrase.format(s='', be='are')}{reason} ({first_of(jobs)})."


def _now(fits: Fits, old: Collection[str]) -> Iterator[str]:
    """What would become of each new job at the moment of the snapshot."""
    from trainc.features.cluster.fits.now_forms import fates

    blocked = {fit.job for fit in fits.alone if _is_blocked(fit)}
    new = [(job, fate) for job, fate in fates(fits) if job not in old and job not in blocked]
    for job, fate in new[:_MOST_FATES]:
        yield f"{job}, by the cluster as of {fits.at or 'an unknown time'}: {fate}."
    if len(new) > _MOST_FATES:
        yield f"`trainc fits --now` has the answers for {len(new) - _MOST_FATES} more new jobs."


def _is_blocked(fit: Fit) -> bool:
    """Return whether a job can never run."""
    return fit.runs is False or fit.verdict in _BLOCK_WORDS


# For a new job, and for one that could run before.
_BLOCK_WORDS = {
    "never": ("can never be admitted", "can no longer be admitted"),
    "inactive": ("use{s} a queue that admits nothing", "now use{s} a queue that admits nothing"),
    "refused": ("{be} rejected by Kueue", "{be} now rejected by Kueue"),
    "never runs": ("can be admitted and never run{s}", "can still be admitted and no longer run"),
}


def _queues(before: Cluster, after: Cluster, old: Mapping[str, Fit], fits: Fits) -> Iterator[str]:
    """The changes of each queue, and how many of its jobs can never be admitted afterwards."""
    for name in sorted({*before.cluster_queues, *after.cluster_queues}):
        was, now = before.cluster_queues.get(name), after.cluster_queues.get(name)
        if was and not now:
            yield f"ClusterQueue {name} was removed{_consequence(name, before, old, fits)}."
        if not was or not now:
            continue
        if now.stopped and not was.stopped:
            yield f"ClusterQueue {name} was stopped{_consequence(name, after, old, fits)}."
        if after.faults(now):  # It admits nothing, whatever its quota, which is said of its jobs.
            continue
        for change, is_less in _quota(was, now):
            yield f"quota of {name}: {change}{_consequence(name, after, old, fits) if is_less else ''}."


def _quota(before: ClusterQueue, after: ClusterQueue) -> Iterator[tuple[str, bool]]:
    """Yield each change, and whether there is less now."""
    for key in sorted({*before.quotas, *after.quotas}):
        flavor, resource = key
        amounts = [queue.quotas[key].nominal if key in queue.quotas else 0 for queue in (before, after)]
        if amounts[0] != amounts[1]:
            where = f" in flavor {flavor}" if len({*before.flavors, *after.flavors}) > 1 else ""
            text = f"{written_amount(resource, amounts[0])} -> {amount_with_unit(resource, amounts[1])}{where}"
            yield text, amounts[1] < amounts[0]


def _consequence(name: str, cluster: Cluster, old: Mapping[str, Fit], fits: Fits) -> str:
    """How many of a queue's jobs can never be admitted, and how many of those could be before."""
    of_queue = {key for key, local in cluster.local_queues.items() if local.cluster_queue == name}
    blocked = [
        fit.job
        for fit in fits.alone
        if _is_blocked(fit)
        and (fit.job.rpartition("/")[0], fit.queue) in of_queue
        and (fit.job not in old or not _is_blocked(old[fit.job]))
    ]
    if not blocked:
        return ""
    return f"; {len(blocked)} {'job' if len(blocked) == 1 else 'jobs'} can no longer be admitted ({shorten(blocked, _MOST_NAMED)})"
