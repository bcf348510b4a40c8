"""Render a `Diff` for a terminal: each job with its resources, changes, outcomes and notes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any, Literal, TypeAlias

from trainc.api.findings import Finding, Source, counted, first_of, format_path
from trainc.api.kube import FieldPath, format_field
from trainc.features.diff.changes import Change
from trainc.features.diff.delivery import DELIVERY_METHODS, LABELS, DeliveryMethod, Outcome
from trainc.features.diff.groups import notes_of, reason_of, status_word, sum_of
from trainc.features.diff.model import Diff, Group, JobDiff, ObjectDiff, Step, Totals, Versions
from trainc.features.diff.values import (
    as_arrow,
    by_outcome,
    differing_lines,
    figures,
    group_by_heading,
    headline,
    names_of,
    one_liners,
)
from trainc.features.diff.verdicts import Verdict
from trainc.kube.quantity import format_resources

Part: TypeAlias = Literal["title", "added", "removed", "changed", "harmless", "refused", "harmful", "quiet", "note"]
Paint: TypeAlias = Callable[[Part, str], str]

# Notes are full sentences and are shown without a label.
_WIDTH = 96
_MOST_NAMED = 20
SIGNS: dict[str, tuple[str, Part]] = {
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
    if diff.jobs:
        lines += [paint("title", line) for line in (headline(diff),) if line]
        lines.append(paint("quiet", _judged(diff)))
        for group in diff.groups:
            lines += ["", *_group(group, diff, paint)]
        lines += ["", *_summary(diff, paint)]
    else:
        lines = [f"{lines[0]}: no changes in {counted(diff.unchanged, 'job')}"]
        lines += [line for note in diff.notes for line in note_lines(note, "", paint)]
    for title, sentences in diff.review.sections:
        if sentences:
            lines += ["", paint("title", title)]
            lines += [line for sentence in sentences for line in note_lines(sentence, "  ", paint)]
    return "".join(f"{line}\n" for line in lines)


def _judged(diff: Diff) -> str:
    if len(diff.deliveries) > 1:
        return f"evaluated for Trainer {diff.release}; (*) marks your delivery mode"
    return f"evaluated for Trainer {diff.release} and {diff.method.label}; --all-deliveries shows the others"


def _group(group: Group, diff: Diff, paint: Paint) -> Iterator[str]:
    """Jobs that change in the same way; the fields, outcomes and notes are those of the first."""
    job, method, count = group.first, diff.method, len(group.members)
    label = job.label if count == 1 else counted(count, "job" if job.kind == "JobSet" else job.kind)
    status = _status(job) if count == 1 else status_word(job)
    yield f"{paint('title', label)}  {status}: {paint(_tone(group.outcome), LABELS[group.outcome])}"
    if count > 1:
        names = first_of([each.label for _, each in group.members], _MOST_NAMED)
        yield from (f"  {line}" for line in wrap(names, _WIDTH, break_long_words=False, break_on_hyphens=False))
    if job.kind == "JobSet":
        yield f"  {_figures(sum_of(each.totals for _, each in group.members), paint)}"
    if reason := reason_of(group):
        yield f"  {paint('quiet', 'because of')} {reason}"
    for one in job.objects if job.status != "added" or count == 1 else ():
        yield from _object(one, method, group.outcome, paint, named=count == 1)
    if group.varies:
        yield f"  {paint('quiet', f'the values are those of {job.label}; they differ by job')}"
    for outcome, methods in by_outcome(job.outcomes, diff.deliveries) if len(diff.deliveries) > 1 else ():
        yield f"  {paint(_tone(outcome), f'{LABELS[outcome]:<22}')} {names_of(methods, method)}"
    for note in notes_of(group):
        yield from note_lines(note, "  ", paint)


def _status(job: JobDiff) -> str:
    renamed = next((diff.renamed for diff in job.objects if diff.key.kind == "JobSet" and diff.renamed), None)
    if renamed:
        return f"changed, {' → '.join(renamed)}"
    return status_word(job)


def _object(diff: ObjectDiff, method: DeliveryMethod, worst: Outcome, paint: Paint, *, named: bool) -> Iterator[str]:
    """An object and its changes, with outcomes only where they differ from the line above."""
    label = f"{diff.key.kind} {diff.key.name}" if named else diff.key.kind
    outcome = diff.verdicts[method.id].outcome
    apart = "" if outcome == worst else f": {paint(_tone(outcome), LABELS[outcome])}"
    if diff.status != "changed":
        sign, part = SIGNS.get(diff.status, (" ", "quiet"))
        yield f"  {paint(part, sign)} {label}{apart}"
        return
    yield f"  {label}{apart}"
    for heading, changes in group_by_heading(diff):
        if heading:
            yield f"    {paint('quiet', format_field(heading))}"
        for number, change in changes:
            alone = diff.outcomes(number)[method.id]
            note = "" if alone == outcome else paint("quiet", f"  ({LABELS[alone]})")
            yield from _change(change, heading, note, paint)


def _change(change: Change, heading: FieldPath, note: str, paint: Paint) -> Iterator[str]:
    sign, part = SIGNS[change.kind]
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
    yield f"{counted(differing, 'job')} of {len(diff.jobs) + diff.unchanged} with changes"
    for note in diff.notes:
        yield from note_lines(note, "", paint)


def note_lines(note: str, indent: str, paint: Paint) -> Iterator[str]:
    """A note, wrapped and marked."""
    first, *rest = wrap(note, _WIDTH, break_long_words=False, break_on_hyphens=False)
    yield f"{indent}{paint('note', '!')} {first}"
    yield from (f"{indent}  {line}" for line in rest)


def _tone(outcome: Outcome) -> Part:
    return _TONE.get(outcome, "harmful")


# Render a `Diff` as a JSON document. docs/diff-json.md describes the format, to which fields are only ever added.


_API = "trainc/v1alpha1"


def diff_json(diff: Diff, more: Mapping[str, Any] | None = None) -> str:
    """Return the document with the keys of `more`, indented, with a trailing newline."""
    return json.dumps({**_diff(diff), **(more or {})}, indent=2, ensure_ascii=False) + "\n"


def environments_json(diffs: Mapping[str, Diff]) -> str:
    """Return the documents of several environments as one, with the headline over all."""
    document = {
        "headline": headline(*diffs.values()),
        "environments": {name: _diff(diff) for name, diff in diffs.items()},
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _fields(record: object, *names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


def _diff(diff: Diff) -> dict[str, Any]:
    return {
        "apiVersion": _API,
        "kind": "Diff",
        **_fields(diff, "before", "after", "release"),
        "delivery": diff.method.id,
        "deliveries": {method.id: method.label for method in DELIVERY_METHODS},
        "headline": headline(diff),
        "changed": diff.has_changes,
        "unchangedJobs": diff.unchanged,
        "totals": _versions(diff.totals),
        "notes": list(diff.notes),
        "errors": [
            {"side": label, **_fields(each, "code", "object", "path", "message"), **_place(each.source)}
            for label, diagnostics in diff.review.errors
            for each in diagnostics
        ],
        **_fields(diff.review, "loosened", "policies", "cluster", "sweeps"),
        "groups": [_group_as_json(group) for group in diff.groups],
        "jobs": [_job_as_json(job) for job in diff.jobs],
    }


def _place(source: Source | None) -> dict[str, Any]:
    return _fields(source, "file", "line", "column") if source else {}


def _group_as_json(group: Group) -> dict[str, Any]:
    first = group.first
    return {
        **_fields(first, "kind", "status"),
        "outcome": group.outcome,
        "jobs": [_fields(job, "namespace", "name") for _, job in group.members],
        "totals": _versions(sum_of(job.totals for _, job in group.members)),
        "causes": [_place(source) for source in group.causes],
        "reason": group.reason,
        "valuesVary": group.varies,
        "changes": [
            {"object": one.key.kind, **_change_as_json(change)} for one in first.objects for change in one.changes
        ],
    }


def _job_as_json(job: JobDiff) -> dict[str, Any]:
    return {
        **_fields(job, "kind", "namespace", "name", "status"),
        "outcomes": dict(job.outcomes),
        "totals": _versions(job.totals),
        "steps": {"before": _steps(job.steps_before), "after": _steps(job.steps_after)},
        "notes": list(job.notes),
        "objects": [_object_as_json(diff) for diff in job.objects],
    }


def _object_as_json(diff: ObjectDiff) -> dict[str, Any]:
    return {
        "apiVersion": diff.key.api_version,
        **_fields(diff.key, "kind", "namespace", "name"),
        "status": diff.status,
        "renamed": list(diff.renamed) if diff.renamed else None,
        "outcomes": {method: verdict.outcome for method, verdict in diff.verdicts.items()},
        "refusals": _refusals(diff.verdicts),
        "changes": [
            {**_change_as_json(change), "outcomes": diff.outcomes(number)} for number, change in enumerate(diff.changes)
        ],
        "moves": [
            {"path": format_field(move.path), "before": list(move.before), "after": list(move.after)}
            for move in diff.moves
        ],
    }


def _change_as_json(change: Change) -> dict[str, Any]:
    return {"path": format_field(change.path), **_fields(change, "kind", "before", "after")}


def _refusals(verdicts: Mapping[str, Verdict]) -> list[dict[str, Any]]:
    """Each distinct refusal with the methods that meet it; paths use the indexes of the new object."""
    met: dict[Finding, list[str]] = {}
    for method, verdict in verdicts.items():
        for refusal in verdict.refusals:
            met.setdefault(refusal, []).append(method)
    return [
        {"code": refusal.code, "path": format_path(refusal.path), "message": refusal.message, "deliveries": methods}
        for refusal, methods in met.items()
    ]


def _steps(steps: Sequence[Step]) -> list[dict[str, Any]]:
    return [
        {
            **_fields(step, "name", "pods"),
            "requests": format_resources(step.requests),
            "dependsOn": [{"name": name, "status": status} for name, status in step.depends_on],
        }
        for step in steps
    ]


def _versions(versions: Versions) -> dict[str, Any]:
    return {"before": _totals(versions.before), "after": _totals(versions.after)}


def _totals(totals: Totals | None) -> dict[str, Any] | None:
    if totals is None:
        return None
    amounts = {name: str(amount) for name, amount in _fields(totals, "gpus", "cpu", "memory").items()}
    return {"nodes": totals.nodes, **amounts, "gang": totals.gang}
