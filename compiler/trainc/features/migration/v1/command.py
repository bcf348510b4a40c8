"""What `trainc migrate` does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trainc.api.arguments import Arguments, Status, Streams, UsageError
from trainc.api.command import difference, report
from trainc.api.documents import Document, files, label_of, opening, yaml_reader
from trainc.api.findings import (
    Diagnostic,
    Path,
    Severity,
    counted,
    did_you_mean,
    escape_line,
    escape_report,
    has_errors,
    sort_diagnostics,
)
from trainc.api.kube import Json, identity_of, names, releases
from trainc.api.records import dataclass
from trainc.api.settings import Limits, Settings
from trainc.features.migration.v1.migrate import MigratedFile, Plan, migrate_documents, runtime_named

# Objects of Kueue in a version that is migrated; no other command reads them as sources.
_OF_KUEUE = b"kueue.x-k8s.io/v1beta1"


def run(arguments: Arguments, streams: Streams) -> Status:
    """Migrate every file; a file that cannot be read is reported and left unchanged."""
    if files.STDIN in arguments.paths and len(arguments.paths) > 1:
        raise UsageError("- cannot be combined with other paths")
    diagnostics: list[Diagnostic] = []
    limits = Settings.limits_of(arguments)
    read: list[tuple[str, str, list[Document]]] = []
    for file, text in _texts(arguments.paths, limits, streams, diagnostics):
        documents, problems = yaml_reader.read_documents(yaml_reader.encode(text), file, limits)
        streams.progress.step("reading", len(read) + 1)
        diagnostics += problems
        # A file with a problem stays as it is, and so nothing is said about its other documents.
        read.append((file, text, [] if problems else documents))
    all_documents = [document for _, _, documents in read for document in documents]
    plan = Plan(
        (document.data for document in all_documents),
        releases.NEWEST_RELEASE,
        arguments.into,
        arguments.variables,
        rename=arguments.rename,
        runtime=_runtime(arguments, [document.data for document in all_documents], limits),
    )
    changed = 0
    if arguments.report:
        stuck = _write_report(all_documents, plan, diagnostics, streams)
    else:
        for file, text, documents in streams.progress.over("migrating", read):
            migrated = migrate_documents(text, documents, limits, plan)
            diagnostics += migrated.diagnostics
            changed += migrated.text != text
            _deliver(file, text, migrated, arguments, streams)
        stuck = any(d.code == "CannotMigrate" for d in diagnostics) or (arguments.check and changed > 0)
    streams.progress.clear()
    report(sort_diagnostics(diagnostics), arguments, streams)
    if not arguments.quiet and not arguments.report:
        verb = "would change" if arguments.diff or arguments.check else "changed"
        streams.err.write("".join(f"note: {note}\n" for note in plan.notes()))
        nothing = f"nothing to migrate in {counted(len(read), 'file')}"
        streams.err.write(f"{counted(changed, 'file')} {verb}\n" if changed else f"{nothing}\n")
    return Status.DIAGNOSED if stuck or has_errors(diagnostics) else Status.DONE


def _runtime(arguments: Arguments, documents: Sequence[Json], limits: Limits) -> Json | None:
    """The runtime that --into names: among what is migrated, what trainc.yaml reads, or in the catalog."""
    if arguments.into in ("runtime", "catalog"):
        return None
    project: dict[str, Any] = {"paths": [], "config": None, "env": None, "overlay": None, "runtimes": None}
    settings = Settings.of(arguments.but(**project))
    folders = [path for path in (*settings.runtimes, *settings.paths) if settings.configuration.file]
    more = files.read_paths(folders, limits, skip=settings.output)[0]
    known = [*documents, *(document.data for document in more)]
    runtime = runtime_named(arguments.into, known, settings.options.release or releases.NEWEST_RELEASE)
    if runtime is None:
        defined = [identity_of(document)[1] for document in known if document.get("kind") in names.RUNTIME_KINDS]
        near = did_you_mean(arguments.into, defined) or "pass its file as another PATH"
        raise UsageError(f"--into: there is no runtime {arguments.into!r} in PATH, trainc.yaml or the catalog; {near}")
    return runtime


def _write_report(documents: list[Document], plan: Plan, diagnostics: list[Diagnostic], streams: Streams) -> bool:
    """Print the report to stdout; return whether it has a job that cannot be migrated."""
    rows = rows_of(streams.progress.over("migrating", documents), plan)
    streams.progress.clear()
    text = format_report(rows, plan.notes(), all_read=not has_errors(diagnostics))
    streams.out.write(escape_report(text).encode("utf-8", "backslashreplace"))
    return any(row.is_job and not row.becomes for row in rows)


def _texts(
    paths: Iterable[str], limits: Limits, streams: Streams, diagnostics: list[Diagnostic]
) -> Iterator[tuple[str, str]]:
    """The text of every file with documents under the paths; files that are not read are added to `diagnostics`."""
    walk = files.Walk(limits=limits)
    for path in paths:
        for file in walk.files(path):
            if file.endswith(files.TEMPLATE_SUFFIXES):
                hint = "change it by hand; pipe the rendered template to `trainc migrate - --diff` to see what has to change"
                diagnostics.append(_skip(f"{files.shown_path(file)} is a template", hint, is_named=file == path))
            elif (data := walk.read(file, streams.stdin)) is not None and (
                _OF_KUEUE in data or not walk.skips(file, path, data)
            ):
                text = yaml_reader.decode(data)
                yield file, text.replace("\n", "\r\n") if b"\r\n" in data else text
    overlays = map(files.shown_path, walk.overlays)
    diagnostics += (
        _skip(f"{folder} is an overlay", f"to migrate it, name it: `trainc migrate {folder}`") for folder in overlays
    )
    diagnostics += walk.diagnostics


def _skip(reason: str, hint: str, *, is_named: bool = False) -> Diagnostic:
    severity: Severity = "warning" if is_named else "info"
    return Diagnostic("SkippedDocument", severity, f"{reason} and was not migrated", hint)


def _deliver(file: str, text: str, migrated: MigratedFile, arguments: Arguments, streams: Streams) -> None:
    if arguments.diff:
        name = escape_line(file)
        patch = difference(text, migrated.text, f"{name} (now)", f"{name} (migrated)", streams.out)
        streams.progress.clear()
        streams.out.write(patch.encode("utf-8", "backslashreplace"))
    elif file == files.STDIN and not arguments.check:
        streams.progress.clear()
        streams.out.write(migrated.text.encode("utf-8", "backslashreplace"))
    elif migrated.text != text and not arguments.check:
        opening.write_file(file, migrated.text)


# The migration report: every v1 job of a repository, its replacement, and the open decisions.

_COLUMNS = ("JOB", "FILE", "BECOMES", "PODS", "CHANGES", "DECISIONS")
_SECTIONS = {"Cannot be migrated": "error", "Needs a decision": "warning", "Changes that need no action": "info"}


@dataclass(frozen=True, slots=True)
class Row:
    """A v1 job with the kinds of what it becomes, none if it cannot be migrated, or a document that selects v1 pods."""

    label: str
    location: str
    becomes: tuple[str, ...]
    pods: str
    diagnostics: tuple[Diagnostic, ...]
    is_job: bool

    def count(self, *severities: str) -> int:
        """The number of its diagnostics with one of these severities."""
        return sum(diagnostic.severity in severities for diagnostic in self.diagnostics)


def rows_of(documents: Iterable[Document], plan: Plan) -> list[Row]:
    """A row for each v1 job, and for each other document with findings, in the order of the files."""
    rows: list[Row] = []
    for document in documents:
        outcome = plan.of(document.data)
        label = label_of(document.data)
        diagnostics = tuple(sort_diagnostics(map(document.diagnose, outcome.findings)))
        for job in outcome.jobs:
            reported = diagnostics if job is outcome.jobs[0] else ()
            name = f"{job.kind} in {label}" if job.path else label
            location = _file_and_line(document, (*job.path, "kind"))
            rows.append(Row(name, location, job.becomes, job.converted.pods, reported, is_job=True))
        if diagnostics and not outcome.jobs:
            rows.append(Row(label, _file_and_line(document, ("kind",)), (), "", diagnostics, is_job=False))
    return rows


def _file_and_line(document: Document, path: Path) -> str:
    source = document.locate(path) or document.locate(())
    return f"{source.file}:{source.line}" if source else document.file


def format_report(rows: Sequence[Row], notes: Sequence[str], *, all_read: bool) -> str:
    """The report as text: a table of the jobs, then what is stuck, what needs a decision, and what changes.

    `notes` are about all jobs. `all_read` is false if there are files that could not be read.
    """
    if not rows:
        return f"No Training Operator v1 jobs found{'' if all_read else ' in the files that could be read'}.\n"
    lines: list[str] = []
    if jobs := [row for row in rows if row.is_job]:
        migrated = [row for row in jobs if row.becomes]
        unsure, stuck = sum(row.count("warning") > 0 for row in migrated), len(jobs) - len(migrated)
        counts = f"{len(migrated) - unsure} ready, {unsure} with open questions, {stuck} that cannot be migrated"
        lines = [*_table(jobs), "", f"{counted(len(jobs), 'job')}: {counts}"]
    for title, severity in _SECTIONS.items():
        lines += _section(title, rows, severity)
    lines += ["", *(f"note: {note}" for note in notes)] if notes else []
    return "\n".join(lines) + "\n"


def _table(jobs: Sequence[Row]) -> Iterator[str]:
    counts = ((str(row.count("info")), str(row.count("warning", "error"))) for row in jobs)
    texts = ((row.label, row.location, ", ".join(row.becomes) or "-", row.pods) for row in jobs)
    cells = [_COLUMNS, *(text + count for text, count in zip(texts, counts, strict=True))]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


def _section(title: str, rows: Iterable[Row], severity: str) -> Iterator[str]:
    entries = [(row, d) for row in rows for d in row.diagnostics if d.severity == severity]
    label = None
    yield from ("", title) if entries else ()
    for row, diagnostic in entries:
        if row.label != label:
            yield f"  {row.label}"
        label = row.label
        yield f"    {diagnostic.source or row.location}: {diagnostic.message} [{diagnostic.code}]"
        if diagnostic.severity != "info":
            yield f"      help: {diagnostic.hint}"
