"""Compare two sets of manifests: match objects, compare them, judge the changes, and sum up, in that order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

from trainc.api.documents import Manifest
from trainc.diagnostics import Path
from trainc.diff.changes import Change, compare_manifests
from trainc.diff.delivery import DELIVERY_METHODS, NAME_HASH, DeliveryMethod
from trainc.diff.model import Diff, JobDiff, ObjectDiff, Side, Status, Versions
from trainc.diff.notes import add_notes, overall_notes
from trainc.diff.objects import JobPairs, Pair, find_duplicates, group_by_job, pair_objects, replace_hashed_names
from trainc.diff.outcomes import Outcome, worst
from trainc.diff.rules import ClusterRules
from trainc.diff.steps import Step, Totals, steps_of, totals_of
from trainc.diff.verdicts import Verdict, verdict_on
from trainc.startup.records import replace

_QUIET: tuple[Outcome, ...] = ("nothing", "in-place")


def compare(before: Side, after: Side, rules: ClusterRules, deliveries: Sequence[DeliveryMethod], release: str) -> Diff:
    """Compare two sets of manifests, and predict what the cluster that `rules` describe does about the changes.

    JobSets must have passed their schema; the inputs are not modified. The first of `deliveries` is the configured one;
    the notes cover all of them. `release` is the Trainer release that the rules belong to.
    """
    method, shown_methods = deliveries[0], tuple(method for method in DELIVERY_METHODS if method in deliveries)
    groups = group_by_job(pair_objects(before.manifests, after.manifests))
    jobs = with_renames(groups, [_job_diff(group, rules, shown_methods) for group in groups])
    shown = tuple(job for job in jobs if job.objects)
    return Diff(
        before.label,
        after.label,
        release,
        method,
        shown_methods,
        shown,
        len(jobs) - len(shown),
        Versions(_sum(job.totals.before for job in jobs), _sum(job.totals.after for job in jobs)),
        (*_repetitions(before, after), *overall_notes(groups, jobs, rules, shown_methods)),
    )


def _repetitions(*sides: Side) -> list[str]:
    return [
        f"{side.label} contains {name} more than once; the last one is used."
        for side in sides
        for name in find_duplicates(side.manifests)
    ]


def _job_diff(group: JobPairs, rules: ClusterRules, deliveries: Sequence[DeliveryMethod]) -> JobDiff:
    objects = [_object_diff(pair, rules) for pair in group.pairs if pair.before != pair.after]
    objects = hold_back_job(with_new_names(group, objects, rules))
    shown = tuple(o for o in objects if o.status != "unchanged" or _is_refused(o))
    # An object added or removed next to a surviving JobSet, such as another scheduler's PodGroup, does not end the job.
    deciding = [o for o in shown if o.status not in {"added", "removed"}] or shown
    steps = [steps_of(jobset) if jobset else () for jobset in _jobsets(group)]
    job = JobDiff(
        kind=group.pairs[-1].key.kind,
        namespace=group.namespace,
        name=group.name,
        status=_status(group, shown),
        objects=shown,
        outcomes={method.id: worst(o.verdicts[method.id].outcome for o in deciding) for method in DELIVERY_METHODS},
        totals=Versions(*(_totals(group, side, steps[i]) for i, side in enumerate(("before", "after")))),
        steps_before=steps[0],
        steps_after=steps[1],
        notes=(),
    )
    return add_notes(job, group, deliveries) if shown else job


def _object_diff(pair: Pair, rules: ClusterRules) -> ObjectDiff:
    before, after = pair.normal_before, pair.normal_after
    renamed = (_name(pair.before), _name(pair.after)) if pair.is_renamed else None
    if before is None or after is None:
        verdicts = verdict_on(pair.before, pair.after, (), rules)
        return ObjectDiff(pair.key, "added" if before is None else "removed", (), (), verdicts)
    changes, moves = compare_manifests(before, after)
    verdicts = verdict_on(pair.before, pair.after, changes, rules)
    status: Status = "changed" if changes or renamed else "unchanged"
    shown = tuple(map(_hide_secret, changes)) if pair.key.kind == "Secret" else changes
    return ObjectDiff(pair.key, status, shown, moves, verdicts, renamed)


def _hide_secret(change: Change) -> Change:
    """A change of a Secret without its values."""
    if change.path[0] == "metadata":
        return change
    before, after = (None if value is None else "(not shown)" for value in (change.before, change.after))
    return replace(change, before=before, after=after)


def _name(manifest: Manifest | None) -> str:
    return str(manifest["metadata"]["name"]) if manifest else ""


def _is_refused(diff: ObjectDiff) -> bool:
    """Whether some cluster refuses an object although its fields look unchanged."""
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


# How one refused object affects the others of its job, if the tool validates all of them before applying any.
#
# Source: fluxcd/pkg ssa/manager_apply.go (ApplyAll): a dry run of every object, and no apply if one of them fails.


_STOPS: tuple[Outcome, ...] = ("needs-suspend", "immutable", "invalid", "lost")


def hold_back_job(objects: Sequence[ObjectDiff]) -> list[ObjectDiff]:
    """The objects of a job under Flux: if one is refused, none is applied."""
    for method in DELIVERY_METHODS:
        if method.tool == "flux" and any(diff.verdicts[method.id].outcome in _STOPS for diff in objects):
            objects = [_held_back(diff, method.id) for diff in objects]
    return list(objects)


def _held_back(diff: ObjectDiff, method: str) -> ObjectDiff:
    """Undo an update, creation or re-creation. Pruning happens after the apply, so it does not happen either."""
    verdict = diff.verdicts[method]
    if verdict.outcome in _STOPS or verdict.outcome == "re-created":
        return diff
    return replace(diff, verdicts={**diff.verdicts, method: Verdict("nothing", verdict.per_change)})


# With a content hash in the names, a job whose content changes becomes a new job, and the old one is removed.


def with_new_names(group: JobPairs, objects: Sequence[ObjectDiff], rules: ClusterRules) -> list[ObjectDiff]:
    """Judge a job's objects again for hashed names: either all of them get a new name, or none does."""
    jobset = group.jobset
    if jobset is None or jobset.before is None or jobset.after is None or jobset.is_renamed or not objects:
        return list(objects)
    if rules.content_hash(group.manifests("before")) == rules.content_hash(group.manifests("after")):
        return list(objects)
    outcome: Outcome = "invalid" if rules.creation_refusals(jobset.after) else "re-created"
    before = {pair.key: pair.before for pair in group.pairs}
    return [_renamed(diff, before[diff.key], outcome, rules) for diff in objects]


def _renamed(diff: ObjectDiff, before: Manifest | None, outcome: Outcome, rules: ClusterRules) -> ObjectDiff:
    old = diff.verdicts[NAME_HASH.id]
    if before is None or diff.status == "removed":
        return diff
    plain = rules.content_hash([before])
    changed = [rules.content_hash([with_change(before, change)]) != plain for change in diff.changes]
    alone = tuple(outcome if c else was for c, was in zip(changed, old.per_change, strict=True))
    return replace(diff, verdicts={**diff.verdicts, NAME_HASH.id: Verdict(outcome, alone)})


# A single change applied on its own: the manifest as if nothing else had changed.


def with_change(before: Manifest, change: Change) -> Manifest:
    """`before`, in which `change` was found, with that change applied; unchanged parts are shared, not mutated."""
    is_new_item = len(change.old) < len(change.path)
    patched: Manifest = _put(before, change.old, change.after, append=is_new_item)
    return patched


def _put(tree: Any, path: Path, value: Any, *, append: bool) -> Any:
    if not path:
        return [*tree, value] if append else value
    step, *rest = path
    if isinstance(tree, list):
        assert isinstance(step, int)
        inner = _put(tree[step], tuple(rest), value, append=append)
        kept = [] if inner is None else [inner]
        return [*tree[:step], *kept, *tree[step + 1 :]]
    inner = _put(tree.get(step), tuple(rest), value, append=append)
    if inner is None:
        return {key: old for key, old in tree.items() if key != step}
    return {**tree, step: inner}


# Renamed jobs: a single job to its author, but two jobs to the cluster.


_Side: TypeAlias = Literal["before", "after"]


def with_renames(groups: Sequence[JobPairs], jobs: Sequence[JobDiff]) -> list[JobDiff]:
    """Add a note to jobs that only changed their name. `groups` are the jobs' objects, in the same order."""
    gone = _by_content(groups, jobs, "removed", "before")
    came = _by_content(groups, jobs, "added", "after")
    noted = list(jobs)
    for content, old in gone.items():
        new = came.get(content, [])
        if len(old) == len(new) == 1:
            was, now = noted[old[0]], noted[new[0]]
            goes = f"{now.label} has the same content: the job was renamed, and training starts from the beginning under the new name."
            comes = f"{was.label} had the same content: the job was renamed, and training starts from the beginning."
            noted[old[0]] = replace(was, notes=(goes, *was.notes))
            noted[new[0]] = replace(now, notes=(comes, *now.notes))
    return noted


def _by_content(
    groups: Sequence[JobPairs], jobs: Sequence[JobDiff], status: Literal["added", "removed"], side: _Side
) -> dict[str, list[int]]:
    """The indexes of jobs with a given status, grouped by their content apart from the name."""
    found: dict[str, list[int]] = {}
    for i, (group, job) in enumerate(zip(groups, jobs, strict=True)):
        if job.status == status and group.jobset is not None:
            found.setdefault(_content(group, side), []).append(i)
    return found


def _content(group: JobPairs, side: _Side) -> str:
    jobset = getattr(group.jobset, side)
    plain = {jobset["metadata"]["name"]: ""}
    return json.dumps([replace_hashed_names(manifest, plain) for manifest in group.manifests(side)], sort_keys=True)
