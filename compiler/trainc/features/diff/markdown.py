"""Render a `Diff` as a pull-request comment: a table of jobs, then the collapsed details of each job."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from trainc.api.findings import counted, escape_line
from trainc.api.kube import format_field
from trainc.features.diff.changes import Change
from trainc.features.diff.delivery import LABELS, MEANINGS, DeliveryMethod, Outcome
from trainc.features.diff.model import Diff, JobDiff, ObjectDiff, Step, Versions
from trainc.features.diff.values import (
    COLUMNS,
    as_arrow,
    by_outcome,
    differing_lines,
    figures,
    group_by_heading,
    headline,
    names_of,
    one_liners,
)
from trainc.features.graph.formats import Arrow, Box, flowchart

# GitHub limits a comment to 65,536 characters.
LONGEST_COMMENT = 60_000
# The old and new value are on separate lines here.
_LONGEST_LINES = 200
_HARMFUL: tuple[Outcome, ...] = ("deleted", "re-created", "lost")


def diff_markdown(diff: Diff, *, most: int = LONGEST_COMMENT) -> str:
    """Render the comment. Jobs whose details would exceed `most` characters appear in the table only."""
    title = f"{_code(diff.before)} → {_code(diff.after)}"
    if not diff.jobs:
        return "".join(
            [f"{title}: no changes in {counted(diff.unchanged, 'job')}.\n", *(f"\n> {_cell(n)}\n" for n in diff.notes)]
        )
    text = "\n".join((f"### {title}", "", *_headline(diff), *_table(diff), "", *_reading(diff), ""))
    for number, job in enumerate(diff.jobs):
        details = "\n".join(("", *_details(job, diff), ""))
        if len(text) + len(details) > most:
            left = len(diff.jobs) - number
            return f"{text}\nThe details of {counted(left, 'job')} more do not fit into a comment; run `trainc diff` to see them.\n"
        text += details
    return text


def _headline(diff: Diff) -> Iterator[str]:
    line = headline(diff)
    if line:
        yield f"**{line}**"
        yield ""


def _table(diff: Diff) -> Iterator[str]:
    yield "| job | change | " + " | ".join((diff.method.label, *(name for name, _ in COLUMNS))) + " |"
    yield "|---|---|---|" + "---:|" * len(COLUMNS)
    for job in diff.jobs:
        outcome = job.outcomes[diff.method.id]
        shown = f"**{LABELS[outcome]}**" if outcome in _HARMFUL else LABELS[outcome]
        yield f"| {_cell(job.label)} | {_status(job)} | {shown} | {_figures(job.totals)} |"
    yield f"| **all {diff.unchanged + len(diff.jobs)}** | | | {_figures(diff.totals)} |"


def _status(job: JobDiff) -> str:
    return "order only" if job.status == "unchanged" else job.status


def _figures(totals: Versions) -> str:
    if totals.before is None and totals.after is None:
        return " | ".join("" for _ in COLUMNS)
    return " | ".join(
        before if before == after else f"**{as_arrow(before, after)}**" for _, before, after in figures(totals)
    )


def _reading(diff: Diff) -> Iterator[str]:
    """Explain the terms used in the table, followed by the overall notes."""
    met = {job.outcomes[method.id] for job in diff.jobs for method in diff.deliveries}
    marked = " (*) marks your delivery mode." if len(diff.deliveries) > 1 else ""
    yield f"Evaluated for Trainer {diff.release} and {diff.method.label}.{marked}"
    yield ""
    for outcome, meaning in MEANINGS.items():
        if outcome in met:
            yield f"- *{LABELS[outcome]}*: {meaning}"
    for note in diff.notes:
        yield ""
        yield f"> {_cell(note)}"


def _details(job: JobDiff, diff: Diff) -> Iterator[str]:
    method = diff.method
    outcome = LABELS[job.outcomes[method.id]]
    yield f"<details><summary><b>{escape(job.label)}</b>: {_status(job)}, {outcome}</summary>"
    yield ""
    if len(diff.deliveries) > 1:
        yield "| outcome | delivery |"
        yield "|---|---|"
        for found, methods in by_outcome(job.outcomes, diff.deliveries):
            yield f"| {LABELS[found]} | {names_of(methods, method)} |"
    for note in job.notes:
        yield ""
        yield f"> {_cell(note)}"
    if job.status == "changed" and steps_changed(job):
        yield from ("", "```mermaid", steps_diagram(job), "```")
    for one in job.objects:
        yield ""
        yield from _object(one, method)
    yield ""
    yield "</details>"


def _object(diff: ObjectDiff, method: DeliveryMethod) -> Iterator[str]:
    outcome = diff.verdicts[method.id].outcome
    name = f"**{diff.key.kind}** {_code(' → '.join(diff.renamed) if diff.renamed else diff.key.name)}"
    yield f"{name}: {diff.status}, {LABELS[outcome]}"
    if not diff.changes:
        return
    lines = []
    for heading, changes in group_by_heading(diff):
        if heading:
            lines.append(f"@@ {format_field(heading)} @@")
        for number, change in changes:
            alone = diff.outcomes(number)[method.id]
            note = "" if alone == outcome else f"   # {LABELS[alone]}"
            lines += _change(change, format_field(change.path[len(heading) :]), note)
    fence = "`" * max(3, 1 + _longest_run("\n".join(lines)))
    yield from ("", f"{fence}diff", *lines, fence)


def _change(change: Change, field: str, note: str) -> Iterator[str]:
    values = one_liners(change, _LONGEST_LINES)
    if values is None:
        sign = {"added": "+", "removed": "-"}.get(change.kind, " ")
        yield f"{sign} {field}:{note}"
        for line_sign, line in differing_lines(change):
            yield f"{line_sign}     {line}"
    elif change.kind == "changed":
        yield f"- {field}: {values[0]}"
        yield f"+ {field}: {values[1]}{note}"
    else:
        yield f"{'+' if change.kind == 'added' else '-'} {field}: {values[0]}{note}"


def _longest_run(text: str) -> int:
    """The length of the longest run of backquotes."""
    runs, run = 0, 0
    for character in text:
        run = run + 1 if character == "`" else 0
        runs = max(runs, run)
    return runs


def _code(text: str) -> str:
    fence = "`" * (1 + _longest_run(text))
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{_cell(text)}{pad}{fence}"


def _cell(text: str) -> str:
    return escape_line(text).replace("|", "\\|").replace("<", "&lt;")


# The steps of a job before and after, as one Mermaid diagram.


# Only borders are colored: a fill that works on a light page does not work on a dark one.
_LOOKS = {
    "added": "stroke:#2da44e,stroke-width:3px",
    "removed": "stroke:#cf222e,stroke-width:3px,stroke-dasharray:5 5",
    "changed": "stroke:#bf8700,stroke-width:3px",
}


def steps_changed(job: JobDiff) -> bool:
    """Whether a step was added or removed, or changed its pods, requests or dependencies."""
    return job.steps_before != job.steps_after


def steps_diagram(job: JobDiff) -> str:
    """A flowchart of the steps on both sides, with their changes and dependencies."""
    before = {step.name: step for step in job.steps_before}
    after = {step.name: step for step in job.steps_after}
    names = dict.fromkeys((*before, *after))
    boxes = [
        Box(name, _facts(before.get(name), after.get(name)), _look(before.get(name), after.get(name))) for name in names
    ]
    return flowchart(boxes, list(_arrows(before, after)), _LOOKS)


def _look(before: Step | None, after: Step | None) -> str:
    if before is None:
        return "added"
    if after is None:
        return "removed"
    return "" if before == after else "changed"


def _facts(before: Step | None, after: Step | None) -> list[str]:
    sides = [step for step in (before, after) if step is not None]
    pods = as_arrow(*(f"{step.pods}" for step in (sides[0], sides[-1])))
    gpus = as_arrow(*(f"{step.gpus}" for step in (sides[0], sides[-1])))
    facts = [f"{pods} {'pod' if pods == '1' else 'pods'}"]
    return facts if gpus == "0" else [*facts, f"{gpus} {'GPU' if gpus == '1' else 'GPUs'} per pod"]


def _arrows(before: dict[str, Step], after: dict[str, Step]) -> Iterator[Arrow]:
    """The dependencies; removed ones are dotted."""
    now = {(awaited, name, status) for name, step in after.items() for awaited, status in step.depends_on}
    then = {(awaited, name, status) for name, step in before.items() for awaited, status in step.depends_on}
    for awaited, name, status in sorted(now | then):
        yield Arrow(awaited, name, status, (awaited, name, status) not in now)
