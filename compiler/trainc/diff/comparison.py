"""Two sets of manifests to a `Diff`: match, compare, judge, and sum up, in that order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainc.diff.changes import Change, compare_manifests
from trainc.diff.content_hash import with_new_names
from trainc.diff.jobs import JobPairs, by_job
from trainc.diff.model import Diff, JobDiff, ObjectDiff, Side, Status, Versions
from trainc.diff.normal import Manifest
from trainc.diff.notes import notes_on, overall_notes
from trainc.diff.objects import Pair, match, repeated
from trainc.diff.outcomes import Outcome, worst
from trainc.diff.renames import with_renames
from trainc.diff.rules import ClusterRules
from trainc.diff.staging import with_common_fate
from trainc.diff.steps import Step, Totals, steps_of, totals_of
from trainc.diff.verdicts import judge
from trainc.diff.ways import WAYS, Way
from trainc.startup.records import replace

_QUIET: tuple[Outcome, ...] = ("nothing", "in-place")


def compare(before: Side, after: Side, rules: ClusterRules, way: Way, release: str) -> Diff:
    """What changes between two sets of manifests, and what the cluster that `rules` describe does about it.

    JobSets have passed their schema; neither set is changed. `way` is the one that the reader uses; `release` is the
    Trainer release that the rules are of.
    """
    groups = by_job(match(before.manifests, after.manifests))
    jobs = with_renames(groups, [_job_diff(group, rules) for group in groups])
    shown = tuple(job for job in jobs if job.objects)
    return Diff(
        before.label,
        after.label,
        release,
        way,
        shown,
        len(jobs) - len(shown),
        Versions(_sum(job.totals.before for job in jobs), _sum(job.totals.after for job in jobs)),
        (*_repetitions(before, after), *overall_notes(groups, jobs, rules)),
    )


def _repetitions(*sides: Side) -> list[str]:
    return [
        f"{side.label} has {name} more than once; the last one counts."
        for side in sides
        for name in repeated(side.manifests)
    ]


def _job_diff(group: JobPairs, rules: ClusterRules) -> JobDiff:
    objects = [_object_diff(pair, rules) for pair in group.pairs if pair.before != pair.after]
    objects = with_common_fate(with_new_names(group, objects, rules))
    shown = tuple(o for o in objects if o.status != "unchanged" or _is_refused(o))
    steps = [steps_of(jobset) if jobset else () for jobset in _jobsets(group)]
    job = JobDiff(
        kind=group.pairs[-1].key.kind,
        namespace=group.namespace,
        name=group.name,
        status=_status(group, shown),
        objects=shown,
        outcomes={way.id: worst(o.verdicts[way.id].outcome for o in shown) for way in WAYS},
        totals=Versions(*(_totals(group, side, steps[i]) for i, side in enumerate(("before", "after")))),
        steps_before=steps[0],
        steps_after=steps[1],
        notes=(),
    )
    return notes_on(job, group) if shown else job


def _object_diff(pair: Pair, rules: ClusterRules) -> ObjectDiff:
    before, after = pair.normal_before, pair.normal_after
    renamed = (_name(pair.before), _name(pair.after)) if pair.is_renamed else None
    if before is None or after is None:
        verdicts = judge(pair.before, pair.after, (), rules)
        return ObjectDiff(pair.key, "added" if before is None else "removed", (), (), verdicts)
    changes, moves = compare_manifests(before, after)
    verdicts = judge(pair.before, pair.after, changes, rules)
    status: Status = "changed" if changes or renamed else "unchanged"
    shown = tuple(map(_hidden, changes)) if pair.key.kind == "Secret" else changes
    return ObjectDiff(pair.key, status, shown, moves, verdicts, renamed)


def _hidden(change: Change) -> Change:
    """A change of a Secret without what it holds."""
    if change.path[0] == "metadata":
        return change
    before, after = (None if value is None else "(not shown)" for value in (change.before, change.after))
    return replace(change, before=before, after=after)


def _name(manifest: Manifest | None) -> str:
    return str(manifest["metadata"]["name"]) if manifest else ""


def _is_refused(diff: ObjectDiff) -> bool:
    """Whether an object that only looks the same is not the same to some cluster."""
    return any(v.refusals and v.outcome not in _QUIET for v in diff.verdicts.values())


def _status(group: JobPairs, shown: Sequence[ObjectDiff]) -> Status:
    main = group.pairs[-1]
    if main.before is None or main.after is None:
        return "added" if main.before is None else "removed"
    return "changed" if any(o.status != "unchanged" for o in shown) else "unchanged"


def _jobsets(group: JobPairs) -> tuple[Manifest | None, Manifest | None]:
    return (group.jobset.before, group.jobset.after) if group.jobset else (None, None)


def _totals(group: JobPairs, side: str, steps: Sequence[Step]) -> Totals | None:
    manifests = group.manifests(side)
    if not manifests or not group.jobset:
        return None
    return totals_of(steps, [manifest for manifest in manifests if manifest["kind"] == "PodGroup"])


def _sum(totals: Iterable[Totals | None]) -> Totals:
    total = Totals()
    for one in totals:
        total += one or Totals()
    return total
