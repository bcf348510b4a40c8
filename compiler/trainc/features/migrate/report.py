"""The migration report: every v1 job of a repository, its replacement, and the open decisions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trainc.api.documents import Document, label_of
from trainc.api.findings import Diagnostic, Path, sort_diagnostics
from trainc.api.records import dataclass
from trainc.features.migrate.migrate import Plan

_COLUMNS = ("JOB", "FILE", "BECOMES", "PODS", "CHANGES", "DECISIONS")


@dataclass(frozen=True, slots=True)
class Row:
    """A v1 job with the kinds of what it becomes, or a document that looks for pods of v1 jobs."""

    label: str
    place: str
    becomes: tuple[str, ...]
    pods: str
    diagnostics: tuple[Diagnostic, ...]
    is_job: bool

    @property
    def is_stuck(self) -> bool:
        """Whether it is a job that cannot be migrated."""
        return self.is_job and not self.becomes

    def count(self, *severities: str) -> int:
        """The number of its diagnostics with one of these severities."""
        return sum(diagnostic.severity in severities for diagnostic in self.diagnostics)


def rows_of(documents: Iterable[Document], plan: Plan) -> list[Row]:
    """A row for each v1 job, and for each other document with findings, in the order of the files."""
    rows: list[Row] = []
    for document in documents:
        outcome = plan.of(document.data)
        label = label_of(document.data)
        diagnostics = tuple(sort_diagnostics(map(document.place, outcome.findings)))
        for job in outcome.jobs:
            own = diagnostics if job is outcome.jobs[0] else ()
            name = f"{job.kind} in {label}" if job.path else label
            place = _place(document, (*job.path, "kind"))
            rows.append(Row(name, place, job.becomes, job.converted.pods, own, is_job=True))
        if diagnostics and not outcome.jobs:
            rows.append(Row(label, _place(document, ("kind",)), (), "", diagnostics, is_job=False))
    return rows


def _place(document: Document, path: Path) -> str:
    source = document.locate(path) or document.locate(())
    return f"{source.file}:{source.line}" if source else document.file


def format_report(rows: Sequence[Row], notes: Sequence[str], *, all_read: bool) -> str:
    """The report as text: a table of the jobs, then what is stuck, what needs a decision, and what changes.

    `notes` are about all jobs. `all_read` is false if there are files that could not be read.
    """
    jobs = [row for row in rows if row.is_job]
    if not rows:
        return f"No Training Operator v1 jobs found{'' if all_read else ' in the files that could be read'}.\n"
    lines = [*_table(jobs), ""] if jobs else []
    if jobs:
        stuck = sum(row.is_stuck for row in jobs)
        open_ = sum(bool(row.count("warning")) for row in jobs if not row.is_stuck)
        counts = f"{len(jobs) - stuck - open_} ready, {open_} with open questions, {stuck} that cannot be migrated"
        lines.append(f"{len(jobs)} job{'' if len(jobs) == 1 else 's'}: {counts}")
    lines += _section("Cannot be migrated", rows, "error")
    lines += _section("Needs a decision", rows, "warning")
    lines += _section("Changes that need no action", rows, "info")
    lines += ["", *(f"note: {note}" for note in notes)] if notes else []
    return "\n".join(lines) + "\n"


def _table(jobs: Sequence[Row]) -> Iterator[str]:
    cells = [_COLUMNS]
    for row in jobs:
        becomes = ", ".join(row.becomes) or "-"
        cells.append(
            (row.label, row.place, becomes, row.pods, str(row.count("info")), str(row.count("warning", "error")))
        )
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


def _section(title: str, rows: Iterable[Row], severity: str) -> Iterator[str]:
    found = [(row, d) for row in rows for d in row.diagnostics if d.severity == severity]
    if not found:
        return
    yield from ("", title)
    label = None
    for row, diagnostic in found:
        if row.label != label:
            yield f"  {row.label}"
        label = row.label
        yield f"    {diagnostic.source or row.place}: {diagnostic.message} [{diagnostic.code}]"
        if diagnostic.severity != "info":
            yield f"      help: {diagnostic.hint}"
