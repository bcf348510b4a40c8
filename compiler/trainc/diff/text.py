"""Render a `Diff` for a terminal: each job with its resources, changes, outcomes and notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from textwrap import wrap
from typing import Literal, TypeAlias

from trainc.api.field_path import FieldPath, format_field
from trainc.diff.changes import Change
from trainc.diff.delivery import DeliveryMethod
from trainc.diff.headline import headline
from trainc.diff.model import Diff, JobDiff, ObjectDiff, Versions
from trainc.diff.outcomes import LABELS, Outcome
from trainc.diff.values import as_arrow, by_outcome, differing_lines, figures, group_by_heading, names_of, one_liners

Part: TypeAlias = Literal["title", "added", "removed", "changed", "harmless", "refused", "harmful", "quiet", "note"]
Paint: TypeAlias = Callable[[Part, str], str]

# Notes are full sentences and are shown without a label.
_WIDTH = 96
_SIGNS: dict[str, tuple[str, Part]] = {
    "added": ("+", "added"),
    "removed": ("-", "removed"),
    "changed": ("~", "changed"),
}
_TONE: dict[Outcome, Part] = {
    "nothing": "harmless",
    "in-place": "harmless",
    "created": "harmless",
    "unknown": "refused",
    "needs-suspend": "refused",
    "immutable": "refused",
    "invalid": "refused",
}


def diff_text(diff: Diff, paint: Paint) -> str:
    """Render the whole comparison; a single line if nothing differs."""
    lines = [f"{paint('removed', diff.before)} → {paint('added', diff.after)}"]
    if not diff.jobs:
        notes = [line for note in diff.notes for line in _note(note, "", paint)]
        return "".join(f"{line}\n" for line in (f"{lines[0]}: no changes in {_jobs(diff.unchanged)}", *notes))
    lines += [paint("title", line) for line in (headline(diff),) if line]
    lines.append(paint("quiet", _judged(diff)))
    for job in diff.jobs:
        lines += ["", *_job(job, diff, paint)]
    lines += ["", *_summary(diff, paint)]
    return "".join(f"{line}\n" for line in lines)


def _judged(diff: Diff) -> str:
    if len(diff.deliveries) > 1:
        return f"evaluated for Trainer {diff.release}; (*) marks your delivery mode"
    return f"evaluated for Trainer {diff.release} and {diff.method.label}; --all-deliveries shows the others"


def _job(job: JobDiff, diff: Diff, paint: Paint) -> Iterator[str]:
    method = diff.method
    outcome = job.outcomes[method.id]
    yield f"{paint('title', job.label)}  {_status(job)}: {paint(_tone(outcome), LABELS[outcome])}"
    if job.kind == "JobSet":
        yield f"  {_figures(job.totals, paint)}"
    for one in job.objects:
        yield from _object(one, method, outcome, paint)
    for found, methods in by_outcome(job.outcomes, diff.deliveries) if len(diff.deliveries) > 1 else ():
        yield f"  {paint(_tone(found), f'{LABELS[found]:<22}')} {names_of(methods, method)}"
    for note in job.notes:
        yield from _note(note, "  ", paint)


def _status(job: JobDiff) -> str:
    renamed = next((diff.renamed for diff in job.objects if diff.key.kind == "JobSet" and diff.renamed), None)
    if renamed:
        return f"changed, {' → '.join(renamed)}"
    return "same fields in a different order" if job.status == "unchanged" else job.status


def _object(diff: ObjectDiff, method: DeliveryMethod, worst: Outcome, paint: Paint) -> Iterator[str]:
    """An object and its changes, with outcomes only where they differ from the line above."""
    outcome = diff.verdicts[method.id].outcome
    apart = "" if outcome == worst else f": {paint(_tone(outcome), LABELS[outcome])}"
    if diff.status != "changed":
        sign, part = _SIGNS.get(diff.status, (" ", "quiet"))
        yield f"  {paint(part, sign)} {diff.key.kind} {diff.key.name}{apart}"
        return
    yield f"  {diff.key.kind} {diff.key.name}{apart}"
    for heading, changes in group_by_heading(diff):
        if heading:
            yield f"    {paint('quiet', format_field(heading))}"
        for number, change in changes:
            alone = diff.outcomes(number)[method.id]
            note = "" if alone == outcome else paint("quiet", f"  ({LABELS[alone]})")
            yield from _change(change, heading, note, paint)


def _change(change: Change, heading: FieldPath, note: str, paint: Paint) -> Iterator[str]:
    sign, part = _SIGNS[change.kind]
    indent = "      " if heading else "    "
    field = format_field(change.path[len(heading) :])
    values = one_liners(change)
    if values is not None:
        yield f"{indent}{paint(part, sign)} {field}: {' → '.join(values)}{note}"
        return
    yield f"{indent}{paint(part, sign)} {field}:{note}"
    for line_sign, line in differing_lines(change):
        tone: Part = "added" if line_sign == "+" else "removed" if line_sign == "-" else "quiet"
        yield f"{indent}    {paint(tone, f'{line_sign} {line}')}"


def _figures(totals: Versions, paint: Paint) -> str:
    parts = []
    for name, before, after in figures(totals):
        text = as_arrow(before, after)
        parts.append(f"{paint('quiet', name)} {text if before == after else paint('title', text)}")
    return "   ".join(parts)


def _summary(diff: Diff, paint: Paint) -> Iterator[str]:
    yield f"{paint('title', 'all jobs')}  {_figures(diff.totals, paint)}"
    differing = sum(job.status != "unchanged" for job in diff.jobs)
    yield f"{_jobs(differing)} of {len(diff.jobs) + diff.unchanged} with changes"
    for note in diff.notes:
        yield from _note(note, "", paint)


def _note(note: str, indent: str, paint: Paint) -> Iterator[str]:
    first, *rest = wrap(note, _WIDTH, break_long_words=False, break_on_hyphens=False)
    yield f"{indent}{paint('note', '!')} {first}"
    yield from (f"{indent}  {line}" for line in rest)


def _tone(outcome: Outcome) -> Part:
    return _TONE.get(outcome, "harmful")


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count} jobs"
