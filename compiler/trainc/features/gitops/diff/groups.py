"""Jobs that change in the same way, told once, with the lines of the input that are the cause."""

from __future__ import annotations

import json
import string
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from trainc.api.findings import first_of
from trainc.api.records import replace
from trainc.features.gitops.diff.delivery import LABELS, DeliveryMethod, Outcome
from trainc.features.gitops.diff.model import Group, JobDiff, Versions

if TYPE_CHECKING:
    from trainc.features.gitops.diff.causes import Causes, Why

_GONE = {"after": "", "before": " (gone)"}
_LETTERS = frozenset(string.ascii_lowercase + string.digits)


def group_jobs(jobs: Sequence[JobDiff], method: DeliveryMethod) -> tuple[Group, ...]:
    """Group jobs that change in the same way, the most harmful first. Values are compared without the job's own name."""
    by_content: dict[str, list[JobDiff]] = {}
    for job in jobs:
        by_content.setdefault(_content(job), []).append(job)
    return _sort(Group(method, tuple(("", job) for job in members)) for members in by_content.values())


def explain_groups(groups: Sequence[Group], causes: Causes) -> tuple[Group, ...]:
    """Add the causes. A group has the jobs with the same causes, or with the same edit in each job's own file.

    Groups with the same fields, outcome and causes become one, in which values differ by job.
    """
    explained: list[Group] = []
    for group in groups:
        content = _content(group.first)
        by_causes: dict[object, list[tuple[tuple[str, JobDiff], Why]]] = {}
        for member in group.members:
            why = causes.of(member[1], content)
            by_causes.setdefault((causes.shared(member[1], why), why.reasons), []).append((member, why))
        for members in by_causes.values():
            lines = dict.fromkeys(cause for _, why in members for cause in why.lines)
            pending = dict.fromkeys(source for _, why in members for source in why.pending)
            reason = "; ".join(members[0][1].reasons)
            found = tuple(member for member, _ in members)
            explained.append(Group(group.method, found, tuple(lines), reason, tuple(pending)))
    by_key: dict[object, list[Group]] = {}
    for number, group in enumerate(explained):
        fields = [(o.key.kind, o.status, c.path, c.kind) for o in group.first.objects for c in o.changes]
        key = (group.outcome, str(fields), group.causes, group.reason) if fields and group.causes else number
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
    pending = tuple(dict.fromkeys(source for group in groups for source in group.pending))
    return replace(groups[0], members=members, pending=pending, varies=varies or groups[0].varies)


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
    locations = dict.fromkeys(f"{cause.source.file}:{cause.source.line}{_GONE[cause.side]}" for cause in group.causes)
    return first_of([*locations, *filter(None, (group.reason,))], most)


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
