"""Jobs that change in the same way, told once, with the lines of the input that are the cause."""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from operator import add
from typing import TypeAlias

from trainc.api.explained import ExplainedField, Explanation, Recorder, explanation
from trainc.api.findings import Source, first_of
from trainc.api.kube import releases
from trainc.api.records import replace
from trainc.features.gitops.diff.changes import Change
from trainc.features.gitops.diff.delivery import LABELS, DeliveryMethod, Outcome
from trainc.features.gitops.diff.model import Group, JobDiff, Versions
from trainc.features.gitops.diff.sides import ReadSide

# The lines that cause what changes in the jobs of a group, or else a reason in words.
Causes: TypeAlias = Callable[[Group], tuple[tuple[Source, ...], str]]

# Explaining takes longer than compiling, so of very many different changes only the largest groups are explained.
_MOST_EXPLAINED = 150
_LETTERS = frozenset(string.ascii_lowercase + string.digits)


def group_jobs(jobs: Sequence[JobDiff], method: DeliveryMethod) -> tuple[Group, ...]:
    """Group jobs that change in the same way, the most harmful first. Values are compared without the job's own name."""
    by_content: dict[str, list[JobDiff]] = {}
    for job in jobs:
        by_content.setdefault(_content(job), []).append(job)
    return _sort(Group(method, tuple(("", job) for job in members)) for members in by_content.values())


def explain_groups(groups: Sequence[Group], causes: Causes) -> tuple[Group, ...]:
    """Add the causes. Groups with the same fields, outcome and causes become one, in which values differ by job."""
    explained = [
        Group(group.method, group.members, *causes(group)) if number < _MOST_EXPLAINED else group
        for number, group in enumerate(groups)
    ]
    by_key: dict[object, list[Group]] = {}
    for number, group in enumerate(explained):
        fields = [(o.key.kind, o.status, c.path, c.kind) for o in group.first.objects for c in o.changes]
        key = (group.outcome, str(fields), group.causes) if fields and group.causes else number
        by_key.setdefault(key, []).append(group)
    return _sort(_merge(members, varies=len(members) > 1) for members in by_key.values())


def across(environments: Iterable[tuple[str, Sequence[Group]]]) -> tuple[Group, ...]:
    """The groups of several environments: what changes everywhere in the same way is one group."""
    by_key: dict[object, list[Group]] = {}
    for name, groups in environments:
        for group in groups:
            in_environment = replace(group, members=tuple((name, job) for _, job in group.members))
            key = _content(group.first), group.outcome, group.causes, group.reason, group.varies
            by_key.setdefault(key, []).append(in_environment)
    return _sort(map(_merge, by_key.values()))


def _merge(groups: Sequence[Group], *, varies: bool = False) -> Group:
    members = tuple(member for group in groups for member in group.members)
    return replace(groups[0], members=members, varies=varies or groups[0].varies)


def _sort(groups: Iterable[Group]) -> tuple[Group, ...]:
    harm = list(LABELS)
    return tuple(sorted(groups, key=lambda group: (-harm.index(group.outcome), -len(group.members))))


def sum_of(groups: Iterable[Versions]) -> Versions:
    """The sizes of several jobs; None on a side where there is none of them."""
    versions = list(groups)
    before = [v.before for v in versions if v.before is not None]
    after = [v.after for v in versions if v.after is not None]
    return Versions(reduce(add, before) if before else None, reduce(add, after) if after else None)


def reason_of(group: Group, most: int = 3) -> str:
    """The causes: `runtimes/torch.yaml:30`, several of them, or the reason."""
    locations = dict.fromkeys(f"{source.file}:{source.line}" for source in group.causes)
    return first_of(list(locations), most) or group.reason


def status_word(job: JobDiff) -> str:
    """What happened to a job in the input."""
    return "same fields in a different order" if job.status == "unchanged" else job.status


def notes_of(group: Group) -> Iterator[str]:
    """The notes on the jobs of a group; those that name a job are those of the first."""
    _, last = group.members[-1]
    for note in group.first.notes:
        yield note if note in last.notes else f"{group.first.label}: {note}"


def _content(job: JobDiff) -> str:
    """What changes in a job, without its own names, as text."""
    objects = [
        (
            o.key.kind,
            o.status,
            [(str(c.path), c.before, c.after) for c in o.changes],
            [(str(m.path), m.before, m.after) for m in o.moves],
            [verdict.outcome for verdict in o.verdicts.values()],
        )
        for o in job.objects
    ]
    outcomes: dict[str, Outcome] = dict(job.outcomes)
    text = json.dumps([job.kind, job.status, outcomes, objects, job.notes], default=str)
    names = {name for o in job.objects for name in (*(o.renamed or ()), o.key.name)} | {job.name}
    for name in sorted(filter(None, names), key=lambda name: (-len(name), name)):
        text = _without(name, text)
    return text


def _without(name: str, text: str) -> str:
    """The text with a star for each mention of the name that is not part of a longer word."""
    # A regular expression would be compiled for each job, which takes longer than all the rest.
    parts, start, at = [], 0, text.find(name)
    while at >= 0:
        end = at + len(name)
        if _LETTERS.isdisjoint((text[at - 1 : at], text[end : end + 1])):
            parts.append(text[start:at])
            start = end
        at = text.find(name, max(start, at + 1))
    return "*".join((*parts, text[start:]))


# Why jobs change: the lines of the input that set the fields which differ, as `explain` knows them.


class SidesExplained:
    """Both sides of a comparison, asked for the causes of what changes in a group of jobs."""

    def __init__(self, before: ReadSide, after: ReadSide) -> None:
        self._before, self._after = before, after
        self._sources = before.manifest_set.trainjobs, after.manifest_set.trainjobs

    def causes(self, group: Group) -> tuple[tuple[Source, ...], str]:
        """The lines that are the cause, without duplicates; or else a reason in words."""
        if group.first.status in ("added", "removed"):
            return (), self._file(group)
        explained = [self._explain(number, group.first) for number in (0, 1)]
        if explained[1] is None:
            return (), ""
        sources: dict[Source, None] = {}
        for object_diff in group.first.objects:
            kind = object_diff.key.kind
            sides = [
                next((o.fields for o in side.objects if o.name.kind == kind), ()) if side else () for side in explained
            ]
            for change in object_diff.changes:
                sources |= dict.fromkeys(_sources_of(change, sides[0], sides[1]))
        if lines := tuple(source for source in sources if source.origin != "catalog"):
            return lines, ""
        minors = [side.options.release or releases.NEWEST_RELEASE for side in (self._before, self._after)]
        if minors[0] != minors[1]:
            return (), f"Trainer {minors[0]} → {minors[1]}"
        return (), "" if self._before.options == self._after.options else "the settings in trainc.yaml"

    def _file(self, group: Group) -> str:
        """The file that holds all jobs of a group that come or go, such as the trials of a sweep."""
        side = self._after if group.first.status == "added" else self._before
        keys = [(job.namespace, job.name) for _, job in group.members]
        files_of_jobs = dict(side.manifest_set.homes)
        files = {files_of_jobs[key] for key in keys if files_of_jobs.get(key)}
        return next(iter(files)) if len(files) == 1 and len(keys) > 1 else ""

    def _explain(self, number: int, job: JobDiff) -> Explanation | None:
        side, key = (self._before, self._after)[number], (job.namespace, job.name)
        document = self._sources[number].get(key)
        if document is None or side.manifest_set.session is None:
            return None
        recorder = Recorder()
        replace(side.manifest_set.session, hold=None).compile(document, recorder)
        return explanation(recorder) if recorder.stages else None


def _sources_of(change: Change, before: Sequence[ExplainedField], after: Sequence[ExplainedField]) -> Iterator[Source]:
    """The inputs that differ between the sides; where none does, all of those that set the field now."""
    was, now = (dict(_inputs(fields, change)) for fields in (before, after))
    differing = [source for key, source in now.items() if key not in was]
    yield from differing or [source for key, source in was.items() if key not in now] or now.values()


def _inputs(fields: Sequence[ExplainedField], change: Change) -> Iterator[tuple[tuple[str, str, str], Source]]:
    """What the fields at and below a change were made from: the object, the field there and the value, with its line."""
    path = tuple(map(str, change.path))
    for field in fields:
        for origin_input in field.origin.inputs if tuple(map(str, field.path[: len(path)])) == path else ():
            if origin_input.source is not None:
                yield (origin_input.object, str(origin_input.path), repr(origin_input.value)), origin_input.source
