"""A `Diff` for a pull-request comment: a table of jobs first, then each job folded away."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from trainc.api.field_path import format_field
from trainc.diff.changes import Change
from trainc.diff.figures import COLUMNS, as_arrow, figures
from trainc.diff.grouping import by_outcome, names_of, under_headings
from trainc.diff.mermaid import steps_changed, steps_diagram
from trainc.diff.model import Diff, JobDiff, ObjectDiff, Versions
from trainc.diff.outcomes import LABELS, MEANINGS, Outcome
from trainc.diff.values import differing_lines, one_liners, printable
from trainc.diff.ways import Way

# GitHub takes 65,536 characters in a comment.
LONGEST_COMMENT = 60_000
# Two values stand on two lines here.
_LONGEST_LINES = 200
_HARMFUL: tuple[Outcome, ...] = ("deleted", "re-created", "lost")


def diff_markdown(diff: Diff, *, most: int = LONGEST_COMMENT) -> str:
    """The comment. Jobs whose details would make it longer than `most` characters are in the table only."""
    title = f"{_code(diff.before)} → {_code(diff.after)}"
    if not diff.jobs:
        return "".join(
            [f"{title}: no changes in {_jobs(diff.unchanged)}.\n", *(f"\n> {_cell(n)}\n" for n in diff.notes)]
        )
    text = "\n".join((f"### {title}", "", *_table(diff), "", *_reading(diff), ""))
    for number, job in enumerate(diff.jobs):
        details = "\n".join(("", *_details(job, diff.way), ""))
        if len(text) + len(details) > most:
            left = len(diff.jobs) - number
            return f"{text}\nThe details of {_jobs(left)} more do not fit into a comment: `trainc diff` prints them.\n"
        text += details
    return text


def _table(diff: Diff) -> Iterator[str]:
    yield "| job | change | " + " | ".join((diff.way.label, *(name for name, _ in COLUMNS))) + " |"
    yield "|---|---|---|" + "---:|" * len(COLUMNS)
    for job in diff.jobs:
        outcome = job.outcomes[diff.way.id]
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
    """What the words of the table mean, as far as they occur, and notes on everything."""
    met = {outcome for job in diff.jobs for outcome in job.outcomes.values()}
    yield f"Judged for Trainer {diff.release}. (*) marks how these manifests are delivered."
    yield ""
    for outcome, meaning in MEANINGS.items():
        if outcome in met:
            yield f"- *{LABELS[outcome]}*: {meaning}"
    for note in diff.notes:
        yield ""
        yield f"> {_cell(note)}"


def _details(job: JobDiff, way: Way) -> Iterator[str]:
    outcome = LABELS[job.outcomes[way.id]]
    yield f"<details><summary><b>{escape(job.label)}</b>: {_status(job)}, {outcome}</summary>"
    yield ""
    yield "| outcome | delivery |"
    yield "|---|---|"
    for found, ways in by_outcome(job.outcomes):
        yield f"| {LABELS[found]} | {names_of(ways, way)} |"
    for note in job.notes:
        yield ""
        yield f"> {_cell(note)}"
    if job.status == "changed" and steps_changed(job):
        yield from ("", "```mermaid", steps_diagram(job), "```")
    for diff in job.objects:
        yield ""
        yield from _object(diff, way)
    yield ""
    yield "</details>"


def _object(diff: ObjectDiff, way: Way) -> Iterator[str]:
    outcome = diff.verdicts[way.id].outcome
    name = f"**{diff.key.kind}** {_code(' → '.join(diff.renamed) if diff.renamed else diff.key.name)}"
    yield f"{name}: {diff.status}, {LABELS[outcome]}"
    if not diff.changes:
        return
    lines = []
    for heading, changes in under_headings(diff):
        if heading:
            lines.append(f"@@ {format_field(heading)} @@")
        for number, change in changes:
            alone = diff.outcomes(number)[way.id]
            remark = "" if alone == outcome else f"   # {LABELS[alone]}"
            lines += _change(change, format_field(change.path[len(heading) :]), remark)
    fence = "`" * max(3, 1 + _longest_run("\n".join(lines)))
    yield from ("", f"{fence}diff", *lines, fence)


def _change(change: Change, field: str, remark: str) -> Iterator[str]:
    values = one_liners(change, _LONGEST_LINES)
    if values is None:
        sign = {"added": "+", "removed": "-"}.get(change.kind, " ")
        yield f"{sign} {field}:{remark}"
        for line_sign, line in differing_lines(change):
            yield f"{line_sign}     {line}"
    elif change.kind == "changed":
        yield f"- {field}: {values[0]}"
        yield f"+ {field}: {values[1]}{remark}"
    else:
        yield f"{'+' if change.kind == 'added' else '-'} {field}: {values[0]}{remark}"


def _longest_run(text: str) -> int:
    """The most backquotes in a row."""
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
    return printable(text).replace("|", "\\|").replace("<", "&lt;")


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count} jobs"
