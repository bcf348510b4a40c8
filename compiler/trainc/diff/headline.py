"""The first line of a comparison: how many jobs restart, end, start, are refused or change, and with how many GPUs."""

from __future__ import annotations

from collections.abc import Sequence

from trainc.diff.delivery import DeliveryMethod
from trainc.diff.model import Diff, JobDiff
from trainc.diff.outcomes import Outcome
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class _Fate:
    """What happens to jobs, phrased for one and for several."""

    outcomes: tuple[Outcome, ...]
    one: str
    several: str


# Most harmful first.
_FATES = (
    _Fate(("lost",), "stops for good", "stop for good"),
    _Fate(("re-created",), "restarts", "restart"),
    _Fate(("deleted",), "ends", "end"),
    _Fate(("immutable", "invalid", "needs-suspend"), "is refused", "are refused"),
    _Fate(("created",), "is new", "are new"),
    _Fate(("in-place",), "changes in place", "change in place"),
    _Fate(("unknown",), "is of a kind unknown to trainc", "are of kinds unknown to trainc"),
    _Fate(("nothing",), "stays as it is in the cluster", "stay as they are in the cluster"),
)


def headline(diff: Diff) -> str:
    """`1 of 31 jobs restarts, 384 GPUs; 2 are new, 16 GPUs` for the configured delivery; empty without changes."""
    parts = [part for fate in _FATES if (part := _part(fate, _of(fate, diff)))]
    if not parts:
        return ""
    total = len(diff.jobs) + diff.unchanged
    count, _, rest = parts[0].partition(" ")
    return "; ".join((f"{count} of {total:,} {'job' if total == 1 else 'jobs'} {rest}", *parts[1:]))


def fate_of(job: JobDiff, method: DeliveryMethod) -> str:
    """What happens to a changed job under a delivery method, e.g. `restarts`."""
    return next(fate.one for fate in _FATES if job.outcomes[method.id] in fate.outcomes)


def _of(fate: _Fate, diff: Diff) -> Sequence[JobDiff]:
    changed = [job for job in diff.jobs if job.status != "unchanged"]
    return [job for job in changed if job.outcomes[diff.method.id] in fate.outcomes]


def _part(fate: _Fate, jobs: Sequence[JobDiff]) -> str:
    if not jobs:
        return ""
    gpus = sum((totals.gpus.units for job in jobs if (totals := job.totals.before or job.totals.after)), start=0)
    with_gpus = f", {gpus:,} {'GPU' if gpus == 1 else 'GPUs'}" if gpus else ""
    return f"{len(jobs):,} {fate.one if len(jobs) == 1 else fate.several}{with_gpus}"
