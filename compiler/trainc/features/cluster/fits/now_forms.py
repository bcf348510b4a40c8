"""Answers about now as text and JSON: each job's fate, and who holds what in the queues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from trainc.api.findings import aligned, counted
from trainc.features.cluster.fits.answer import NO_PRIORITY_CLASS, NO_QUEUE, NO_WORKLOADS, Fit, Fits
from trainc.features.cluster.fits.cluster import FlavorResource, available
from trainc.features.cluster.fits.now import ASIDE, FINISHED, RUNNING, Moment
from trainc.features.cluster.fits.pods import is_gpu, shorten, written_amount
from trainc.features.cluster.fits.scheduling import BEHIND

NOTE = (
    "Each job is judged as the only new one. Fair sharing, MultiKueue, pods outside of Kueue and what Kueue remembers"
    " of earlier attempts are not known."
)
_MOST_NAMED = 3
_KNOWN = {
    RUNNING: "runs already",
    FINISHED: "has finished",
    ASIDE: "waits, and Kueue does not try it for now: `trainc why` says why",
    NO_QUEUE: "has no queue: what runs on the nodes is not in the snapshot",
    NO_WORKLOADS: "unknown: the snapshot has no Workloads",
    NO_PRIORITY_CLASS: "its WorkloadPriorityClass is not in the snapshot, and without it Kueue makes no Workload",
}


def now_text(fits: Fits) -> str:
    """The fate of each job on a line, then a table of what the queues hold."""
    width = max((len(fit.job) for fit in fits.now), default=0)
    lines = [f"{job:<{width}}  {fate}" for job, fate in fates(fits)]
    table = list(_table(fits.moment)) if fits.moment else []
    return "".join(f"{line}\n" for line in (*lines, "", *table, *([""] if table else []), NOTE))


def fates(fits: Fits) -> Iterator[tuple[str, str]]:
    """What becomes of each job now, by its name."""
    cohorts = _cohorts(fits.moment)
    for now, alone in zip(fits.now, fits.alone, strict=True):
        yield now.job, fate_text(now, alone, cohorts)


def fate_text(now: Fit, alone: Fit, cohorts: Mapping[str, str]) -> str:
    """What becomes of a job now, in a phrase: `waits for 24 more nvidia.com/gpu of flavor h100, behind 3 jobs`."""
    if now.cause in _KNOWN:
        return _KNOWN[now.cause]
    flavors = ", ".join(sorted({flavor for by in now.flavors.values() for flavor in by.values()}))
    using = f" with {flavors}{', borrowing' if now.borrows else ''}" if flavors else ""
    if now.verdict in ("admitted", "reserved"):
        return (
            f"starts now{using}"
            if now.verdict == "admitted"
            else f"gets its quota now{using}; admission checks are left"
        )
    if now.verdict == "preempts":
        whys = [f"{name} ({why})" for name, why in now.chosen.items()]
        evicted = shorten(whys, _MOST_NAMED)
        return f"starts{using} when {counted(len(now.preempts), 'job')} evicted for it stopped: {evicted}"
    if alone.verdict == "never" or now.verdict != "waits":
        return f"{alone.verdict} ({alone.cause})" if alone.cause else now.verdict
    behind = f", behind {counted(len(now.ahead), 'job')}: {shorten(now.ahead, _MOST_NAMED)}" if now.ahead else ""
    latest = f"; starts by {now.latest} at the latest, if nothing else is submitted" if now.latest else ""
    if not now.tried:
        return f"waits{behind or ', like a job of the same shape'}; Kueue does not consider it before that"
    missing = " or ".join(f"{item['more']} more {item['resource']} of flavor {item['flavor']}" for item in now.missing)
    cohort = cohorts.get(f"{now.job.rpartition('/')[0]}/{now.queue}")
    where = f" in cohort {cohort}" if missing and cohort else ""
    return (
        f"waits for {missing}{where}{behind}{latest}" if missing else f"waits ({now.cause or BEHIND}){behind}{latest}"
    )


def _cohorts(moment: Moment | None) -> dict[str, str]:
    """The cohort of each LocalQueue, by namespace and name."""
    if moment is None:
        return {}
    cluster = moment.state.cluster
    queues = ((key, cluster.cluster_queues.get(local.cluster_queue)) for key, local in cluster.local_queues.items())
    return {"/".join(key): queue.cohort for key, queue in queues if queue and queue.cohort}


def holdings(moment: Moment) -> Iterator[dict[str, Any]]:
    """What each ClusterQueue holds of each flavor's resource, by whom: accelerators only, if there are any.

    `lent` is the part of its unused quota that it could not get now, because others use it.
    """
    state, usage = moment.state, moment.usage
    keys = [(queue, key) for queue in state.cluster.cluster_queues.values() for key in queue.quotas]
    chosen = [item for item in keys if is_gpu(item[1][1])] or keys
    for queue, key in chosen:
        node = state.nodes.get(queue.name)
        if node is None:
            continue
        nominal, used = queue.quotas[key].nominal, state.used.get((node, key), 0)
        free = max(0, available(node, key, state.used))
        by: dict[str, int] = {}
        for holder in usage.holders:
            if holder.queue == queue.name and holder.amounts.get(key):
                team = f"{holder.name.partition('/')[0]}/{holder.local_queue}"
                by[team] = by.get(team, 0) + holder.amounts[key]
        yield {
            "queue": queue.name,
            "cohort": queue.cohort,
            "flavor": key[0],
            "resource": key[1],
            "nominal": nominal,
            "used": used,
            "borrowed": max(0, used - nominal),
            "lent": max(0, nominal - used - free),
            "free": free,
            "pending": sum(
                _wanted(pending.entry.workload.pod_sets, key)
                for pending in usage.pending
                if pending.queue == queue.name
            ),
            "by": dict(sorted(by.items())),
        }


def queues_now(moment: Moment, taken: str, unread: Sequence[str]) -> dict[str, Any]:
    """What the report shows of the queues now; empty if the snapshot has no Workload that holds quota or waits.

    `unread` says which Workloads are left out.
    """
    usage = moment.usage
    if not (unread or usage.holders or usage.pending or usage.aside):
        return {}
    waiting = [(pending.name, pending.queue, pending.message or pending.reason) for pending in usage.pending]
    waiting += [(name, "", why) for name, why in usage.aside.items()]
    rows = []
    for row in holdings(moment):
        written = partial(written_amount, row["resource"])
        by = {team: written(amount) for team, amount in row["by"].items()}
        rows.append(row | {"by": by, "text": {name: written(row[name]) for name in ("nominal", "used", "borrowed")}})
    return {"at": taken, "queues": rows, "waiting": sorted(waiting), "unread": unread}


def _wanted(pod_sets: Sequence[Any], key: FlavorResource) -> int:
    return sum(int(pod_set.total.get(key[1], 0)) for pod_set in pod_sets)


def _table(moment: Moment) -> Iterator[str]:
    columns = ("nominal", "used", "borrowed", "lent", "free", "pending")
    rows = [("queue", "cohort", "flavor", "resource", *columns, "by")]
    for row in holdings(moment):
        amounts = [written_amount(row["resource"], row[name]) for name in columns]
        by = ", ".join(f"{team} {written_amount(row['resource'], amount)}" for team, amount in row["by"].items())
        rows.append((row["queue"], row["cohort"], row["flavor"], row["resource"], *amounts, by))
    if len(rows) > 1:
        yield from aligned(rows)
        yield "pending counts what waits in a queue, of any flavor"


def now_json(fits: Fits) -> dict[str, Any]:
    """The answers about now and the holdings, in the shape documented in docs/now.md."""
    names = (
        "job",
        "verdict",
        "cause",
        "flavors",
        "borrows",
        "places",
        "preempts",
        "chosen",
        "missing",
        "ahead",
        "tried",
        "latest",
    )
    jobs = [{name: getattr(fit, name) for name in names} for fit in fits.now]
    return {"at": fits.at, "jobs": jobs, "queues": list(holdings(fits.moment)) if fits.moment else []}


def now_changes(before: Fits, after: Fits) -> list[str]:
    """What becomes of jobs otherwise, once objects are added to the snapshot."""
    old, cohorts = {fit.job: fit for fit in before.now}, (_cohorts(before.moment), _cohorts(after.moment))
    changes = []
    for fit, was, now in zip(after.now, before.alone, after.alone, strict=True):
        texts = fate_text(old[fit.job], was, cohorts[0]), fate_text(fit, now, cohorts[1])
        if texts[0] != texts[1]:
            changes.append(f"{fit.job}: {texts[0]} -> {texts[1]}")
    return changes or ["nothing changes for any job"]
