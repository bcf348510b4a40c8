"""Render a `Diff` for a terminal and as JSON, and format values for all renderers.

Short values stand on one line, long ones as the lines that differ.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from textwrap import wrap
from typing import Any, Literal, TypeAlias

from trainc.api.command import compiling
from trainc.api.findings import Finding, Path, Source, counted, differences, escape_line, first_of, format_path
from trainc.api.jobs import ReplicatedJob
from trainc.api.kube import bounds, documents, quantity
from trainc.api.output import yaml_writer
from trainc.features.gitops.diff.changes import Change
from trainc.features.gitops.diff.delivery import DELIVERY_METHODS, LABELS, REFUSED, DeliveryMethod, Outcome, Verdict
from trainc.features.gitops.diff.model import (
    Diff,
    Group,
    JobDiff,
    ObjectDiff,
    Totals,
    Versions,
    notes_of,
    reason_of,
    status_word,
    sum_of,
)

# A sign ("+", "-", or " " for context) and the text that follows it.
SignedLine: TypeAlias = tuple[str, str]

_LONGEST_LINE = 72
_CONTEXT = 1
# Of one value; nobody reads on.
_MOST_LINES = 2_000


def inline(value: Any) -> str | None:
    """`value` as YAML on one line, with everything that a terminal would obey made harmless; None for several lines."""
    if any(isinstance(inner, str) and "\n" in inner for _, inner in documents.walk(value)):
        return None
    return escape_line(
        yaml_writer.inline(value) if isinstance(value, str) else yaml_writer.flow(yaml_writer.with_ordered_keys(value))
    )


def _shown(change: Change) -> list[Any]:
    """The values of a change as far as they may be shown."""
    return [compiling.hidden(side, change.path) for side in (change.before, change.after)]


def one_liners(change: Change, longest: int = _LONGEST_LINE) -> list[str] | None:
    """The one or two values of the change, each on one line; None if they exceed `longest` characters in total."""
    sides = [without_identity(change.path, side) for side in _shown(change) if side is not None]
    texts = [text for text in map(inline, sides) if text is not None]
    return texts if len(texts) == len(sides) and sum(map(len, texts)) <= longest else None


def without_identity(path: Path, value: Any) -> Any:
    """An item without the keys that its path already states: `{name: A, value: 1}` at `env[A]` becomes 1."""
    if not (len(path) > 1 and isinstance(path[-1], documents.Item) and isinstance(value, dict)):
        return value
    others = {key: inner for key, inner in value.items() if key != documents.ITEM_KEYS.get(str(path[-2]))}
    return others["value"] if set(others) == {"value"} else others or value


def differing_lines(change: Change) -> list[SignedLine]:
    """The differing lines of a multi-line value, with context; of very many the first ones, and how many more there are."""
    before, after = ([] if side is None else block(without_identity(change.path, side)) for side in _shown(change))
    lines: list[SignedLine] = []
    if before and after:
        for excerpt in differences.excerpts(before, after, _CONTEXT):
            lines += [(" ", "..."), *excerpt.lines] if lines else excerpt.lines
    else:
        lines = [("+" if after else "-", line) for line in islice(before or after, _MOST_LINES)]
    more = (len(lines) if before and after else len(before or after)) - _MOST_LINES
    return lines if more <= 0 else [*lines[:_MOST_LINES], (" ", f"... and {more:,} more lines")]


def block(value: Any) -> list[str]:
    """`value` as lines: those of a text, or of YAML in block style."""
    return [
        escape_line(line) for line in (value.split("\n") if isinstance(value, str) else yaml_writer.block_lines(value))
    ]


# The resources a job requests, as columns: before and after.

_MISSING = "-"
COLUMNS: tuple[tuple[str, Callable[[Totals], str]], ...] = (
    ("nodes", lambda totals: str(totals.nodes)),
    ("GPUs", lambda totals: str(totals.gpus)),
    ("CPU", lambda totals: str(totals.cpu)),
    ("memory", lambda totals: str(totals.memory)),
    ("gang", lambda totals: _MISSING if totals.gang is None else str(totals.gang)),
)


def figures(totals: Versions) -> list[tuple[str, str, str]]:
    """(column, value before, value after); `-` for a missing value."""

    def show(text: Callable[[Totals], str], side: Totals | None) -> str:
        return _MISSING if side is None else text(side)

    return [(name, show(text, totals.before), show(text, totals.after)) for name, text in COLUMNS]


def as_arrow(before: str, after: str) -> str:
    """`4 → 8`, or a single value if both are the same."""
    return before if before == after else f"{before} → {after}"


# The order and the headings of changes and delivery methods.

# How far into a JobSet a heading reaches: the Job's spec, the pod's spec, a container.
_JOB, _POD, _CONTAINER = 5, 7, 9


def group_by_heading(diff: ObjectDiff) -> Iterator[tuple[Path, list[tuple[int, Change]]]]:
    """An object's changes with their indexes, grouped by common path; changes without a common path come first."""
    groups: dict[Path, list[tuple[int, Change]]] = {(): []}
    for index, change in enumerate(diff.changes):
        groups.setdefault(_heading(change.path), []).append((index, change))
    yield from ((heading, changes) for heading, changes in groups.items() if changes)


def _heading(path: Path) -> Path:
    if path[:2] != ("spec", "replicatedJobs") or path[3:5] != ("template", "spec") or len(path) <= _JOB:
        return ()
    if path[5:7] != ("template", "spec") or len(path) <= _POD:
        return path[:_JOB]
    in_container = path[_POD] in ("containers", "initContainers") and len(path) > _CONTAINER
    return path[:_CONTAINER] if in_container else path[:_POD]


def by_outcome(
    outcomes: Mapping[str, Outcome], deliveries: Sequence[DeliveryMethod]
) -> list[tuple[Outcome, list[DeliveryMethod]]]:
    """Delivery methods grouped by outcome, from harmless to harmful."""
    grouped = [(outcome, [method for method in deliveries if outcomes[method.id] == outcome]) for outcome in LABELS]
    return [(outcome, methods) for outcome, methods in grouped if methods]


def names_of(methods: Sequence[DeliveryMethod], chosen: DeliveryMethod) -> str:
    """The labels of the methods, with the chosen one marked."""
    return "; ".join(f"{method.label} (*)" if method == chosen else method.label for method in methods)


# The first line of a comparison: how many jobs restart, end, start, are refused or change, and with how many GPUs.

# What happens to one job and to several, by outcome, most harmful first.
_FATES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("lost",), "stops for good", "stop for good"),
    (("re-created",), "restarts", "restart"),
    (("deleted",), "ends", "end"),
    (("again",), "has finished and runs again", "have finished and run again"),
    (REFUSED, "is refused", "are refused"),
    (("created",), "is new", "are new"),
    (("in-place",), "changes in place", "change in place"),
    (("unknown",), "is of a kind unknown to trainc", "are of kinds unknown to trainc"),
    (("nothing",), "stays as it is in the cluster", "stay as they are in the cluster"),
)


def headline(*diffs: Diff) -> str:
    """`1 of 31 jobs restarts, 384 GPUs; 2 are new, 16 GPUs` for the configured delivery; empty without changes."""
    changed = [(job, job.outcomes[diff.method.id]) for diff in diffs for job in diff.jobs if job.status != "unchanged"]
    parts = []
    # A job that has finished does not end, but it may run again.
    again = [(job, "again") for job, outcome in changed if job.finished and outcome in ("re-created", "created")]
    named = [*((job, outcome) for job, outcome in changed if not job.finished), *again]
    for outcomes, singular, plural in _FATES:
        if jobs := [job for job, outcome in named if outcome in outcomes]:
            gpus = sum(totals.gpus for job in jobs if (totals := job.totals.before or job.totals.after))
            with_gpus = f", {gpus:,} {'GPU' if gpus == 1 else 'GPUs'}" if gpus else ""
            hours = [job.facts.gpu_hours for job in jobs if job.facts is not None and job.facts.gpu_hours]
            cost = f" for at most {bounds.decimal(sum(hours))} GPU-hours" if gpus and len(hours) == len(jobs) else ""
            parts.append(f"{len(jobs):,} {singular if len(jobs) == 1 else plural}{with_gpus}{cost}")
    if not parts:
        removed = sum(job.status == "removed" for job, _ in changed)
        fates = ((len(changed) - removed, "changed", "changed"), (removed, "is removed", "are removed"))
        texts = (
            f"{n:,} {f'job that has finished {one}' if n == 1 else f'jobs that have finished {many}'}"
            for n, one, many in fates
            if n
        )
        return "; ".join(texts)
    total = sum(len(diff.jobs) + diff.unchanged for diff in diffs)
    count, _, phrase = parts[0].partition(" ")
    return "; ".join((f"{count} of {total:,} {'job' if total == 1 else 'jobs'} {phrase}", *parts[1:]))


def fate_of(job: JobDiff, method: DeliveryMethod) -> str:
    """What happens to a changed job under a delivery method, e.g. `restarts`."""
    return next(singular for outcomes, singular, _ in _FATES if job.outcomes[method.id] in outcomes)


Part: TypeAlias = Literal["title", "added", "removed", "changed", "harmless", "refused", "harmful", "quiet", "note"]
Paint: TypeAlias = Callable[[Part, str], str]

# Notes are full sentences and are shown without a label.
_WIDTH = 96
_MOST_NAMED = 20
SIGNS: dict[str, tuple[str, Part]] = {"added": ("+", "added"), "removed": ("-", "removed"), "changed": ("~", "changed")}


def diff_text(diff: Diff, paint: Paint) -> str:
    """Render the whole comparison; a single line if nothing differs."""
    lines = [f"{paint('removed', diff.before)} → {paint('added', diff.after)}"]
    if diff.jobs:
        lines += [paint("title", line) for line in (headline(diff),) if line]
        rules = f"for Trainer {diff.release}"
        several = f"{rules}; (*) marks your delivery mode"
        chosen = f"{rules}, {diff.method.phrase}; --all-deliveries shows the others"
        lines.append(paint("quiet", several if len(diff.deliveries) > 1 else chosen))
        for group in diff.groups:
            lines += ["", *_group(group, diff, paint)]
        differing = sum(job.status != "unchanged" for job in diff.jobs)
        lines += ["", f"{paint('title', 'all jobs')}  {_figures(diff.totals, paint)}"]
        lines.append(f"{counted(differing, 'job')} of {len(diff.jobs) + diff.unchanged} with changes")
    else:
        lines = [f"{lines[0]}: no changes in {counted(diff.unchanged, 'job')}"]
    lines += [line for note in diff.notes for line in note_lines(note, "", paint)]
    for title, sentences in diff.review.sections:
        if sentences:
            lines += ["", paint("title", title)]
            lines += [line for sentence in sentences for line in note_lines(sentence, "  ", paint)]
    return "".join(f"{line}\n" for line in lines)


def _group(group: Group, diff: Diff, paint: Paint) -> Iterator[str]:
    """Jobs that change in the same way; the fields, outcomes and notes are those of the first."""
    job, method, count = group.first, diff.method, len(group.members)
    label = job.label if count == 1 else counted(count, "job" if job.kind == "JobSet" else job.kind)
    renamed = next((o.renamed for o in job.objects if o.key.kind == "JobSet" and o.renamed), None)
    status = f"changed, {' → '.join(renamed)}" if renamed and count == 1 else status_word(job)
    yield f"{paint('title', label)}  {status}: {paint(_tone(group.outcome), LABELS[group.outcome])}"
    if count > 1:
        names = first_of([member.label for _, member in group.members], _MOST_NAMED)
        yield from (f"  {line}" for line in wrap(names, _WIDTH, break_long_words=False, break_on_hyphens=False))
    if job.kind == "JobSet":
        yield f"  {_figures(sum_of(member.totals for _, member in group.members), paint)}"
    if job.facts is not None:
        yield from (f"  {paint('quiet', name)} {escape_line(text)}" for name, text in job.facts.named().items())
    if reason := reason_of(group):
        yield f"  {paint('quiet', 'because of')} {escape_line(reason)}"
    if group.pending:
        places = first_of(list(dict.fromkeys(f"{source.file}:{source.line}" for source in group.pending)), 3)
        yield f"  {paint('quiet', 'and, since it was built, of')} {escape_line(places)}"
    for object_diff in job.objects if job.status != "added" or count == 1 else ():
        yield from _object(object_diff, method, group.outcome, paint, with_name=count == 1)
    if group.varies:
        yield f"  {paint('quiet', f'the values are those of {job.label}; they differ by job')}"
    for outcome, methods in by_outcome(job.outcomes, diff.deliveries) if len(diff.deliveries) > 1 else ():
        yield f"  {paint(_tone(outcome), f'{LABELS[outcome]:<22}')} {names_of(methods, method)}"
    for note in notes_of(group):
        yield from note_lines(note, "  ", paint)


def _object(
    diff: ObjectDiff, method: DeliveryMethod, worst: Outcome, paint: Paint, *, with_name: bool
) -> Iterator[str]:
    """An object and its changes, with outcomes only where they differ from the line above."""
    label = f"{diff.key.kind} {diff.key.name}" if with_name else diff.key.kind
    outcome = diff.verdicts[method.id].outcome
    apart = "" if outcome == worst else f": {paint(_tone(outcome), LABELS[outcome])}"
    if diff.status != "changed":
        sign, part = SIGNS.get(diff.status, (" ", "quiet"))
        yield f"  {paint(part, sign)} {label}{apart}"
        return
    yield f"  {label}{apart}"
    for heading, changes in group_by_heading(diff):
        if heading:
            yield f"    {paint('quiet', documents.format_field(heading))}"
        for index, change in changes:
            alone = diff.outcomes(index)[method.id]
            note = "" if alone == outcome else paint("quiet", f"  ({LABELS[alone]})")
            yield from _change(change, heading, note, paint)


def _change(change: Change, heading: Path, note: str, paint: Paint) -> Iterator[str]:
    sign, part = SIGNS[change.kind]
    indent = "      " if heading else "    "
    field = documents.format_field(change.path[len(heading) :])
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


def note_lines(note: str, indent: str, paint: Paint) -> Iterator[str]:
    """A note, wrapped and marked."""
    first, *others = wrap(note, _WIDTH, break_long_words=False, break_on_hyphens=False)
    yield f"{indent}{paint('note', '!')} {first}"
    yield from (f"{indent}  {line}" for line in others)


def _tone(outcome: Outcome) -> Part:
    if outcome in ("nothing", "in-place", "created"):
        return "harmless"
    return "refused" if outcome == "unknown" or outcome in REFUSED else "harmful"


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


def fields(record: object, *names: str) -> dict[str, Any]:
    """Return fields of a record as keys of the document."""
    return {name: getattr(record, name) for name in names}


def _diff(diff: Diff) -> dict[str, Any]:
    return {
        "apiVersion": _API,
        "kind": "Diff",
        **fields(diff, "before", "after", "release"),
        "delivery": diff.method.id,
        "deliveries": {method.id: method.label for method in DELIVERY_METHODS},
        "headline": headline(diff),
        "changed": diff.has_changes,
        "unchangedJobs": diff.unchanged,
        "totals": _versions(diff.totals),
        "notes": list(diff.notes),
        "errors": [
            {"side": label, **fields(diagnostic, "code", "object", "path", "message"), **_position(diagnostic.source)}
            for label, diagnostics in diff.review.errors
            for diagnostic in diagnostics
        ],
        **fields(diff.review, "loosened", "policies", "cluster", "sweeps", "budgets"),
        "groups": [_group_as_json(group) for group in diff.groups],
        "jobs": [_job_as_json(job) for job in diff.jobs],
    }


def _position(source: Source | None) -> dict[str, Any]:
    return fields(source, "file", "line", "column") if source else {}


def _group_as_json(group: Group) -> dict[str, Any]:
    first = group.first
    return {
        **fields(first, "kind", "status"),
        "outcome": group.outcome,
        "jobs": [fields(job, "namespace", "name") for _, job in group.members],
        "totals": _versions(sum_of(job.totals for _, job in group.members)),
        "causes": [{**_position(cause.source), "side": cause.side} for cause in group.causes],
        "pending": [_position(source) for source in group.pending],
        "reason": group.reason,
        "valuesVary": group.varies,
        "changes": [{"object": o.key.kind, **_change_as_json(change)} for o in first.objects for change in o.changes],
    }


def _job_as_json(job: JobDiff) -> dict[str, Any]:
    return {
        **fields(job, "kind", "namespace", "name", "status"),
        "outcomes": dict(job.outcomes),
        "totals": _versions(job.totals),
        "steps": {"before": _steps(job.steps_before), "after": _steps(job.steps_after)},
        "notes": list(job.notes),
        "facts": None
        if job.facts is None
        else fields(job.facts, "image", "program", "queue", "hours", "gpu_hours", "fits"),
        "objects": [_object_as_json(diff) for diff in job.objects],
    }


def _object_as_json(diff: ObjectDiff) -> dict[str, Any]:
    return {
        "apiVersion": diff.key.api_version,
        **fields(diff.key, "kind", "namespace", "name"),
        "status": diff.status,
        "renamed": list(diff.renamed) if diff.renamed else None,
        "outcomes": {method: verdict.outcome for method, verdict in diff.verdicts.items()},
        "refusals": _refusals(diff.verdicts),
        "changes": [{**_change_as_json(c), "outcomes": diff.outcomes(i)} for i, c in enumerate(diff.changes)],
        "moves": [
            {"path": documents.format_field(move.path), **fields(move, "before", "after")} for move in diff.moves
        ],
    }


def _change_as_json(change: Change) -> dict[str, Any]:
    before, after = _shown(change)
    return {"path": documents.format_field(change.path), "kind": change.kind, "before": before, "after": after}


def _refusals(verdicts: Mapping[str, Verdict]) -> list[dict[str, Any]]:
    """Each distinct refusal with the methods that meet it; paths use the indexes of the new object."""
    methods_by_refusal: dict[Finding, list[str]] = {}
    for method, verdict in verdicts.items():
        for refusal in verdict.refusals:
            methods_by_refusal.setdefault(refusal, []).append(method)
    return [
        {"code": refusal.code, "path": format_path(refusal.path), "message": refusal.message, "deliveries": methods}
        for refusal, methods in methods_by_refusal.items()
    ]


def _steps(steps: Sequence[ReplicatedJob]) -> list[dict[str, Any]]:
    return [
        {
            **fields(step, "name", "pods"),
            "requests": quantity.format_resources(step.requests),
            "dependsOn": [{"name": d.step, "status": d.status} for d in step.depends_on or ()],
        }
        for step in steps
    ]


def _versions(versions: Versions) -> dict[str, Any]:
    return {"before": _totals(versions.before), "after": _totals(versions.after)}


def _totals(totals: Totals | None) -> dict[str, Any] | None:
    if totals is None:
        return None
    amounts = {name: str(amount) for name, amount in fields(totals, "gpus", "cpu", "memory").items()}
    return {"nodes": totals.nodes, **amounts, "gang": totals.gang}
