"""What `trainc migrate` does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from trainc.api.arguments import Arguments, Status, Streams, UsageError
from trainc.api.command import Files, Paint, text_report
from trainc.api.documents import STDIN, TEMPLATE_SUFFIXES, Document, decode, encode, read_documents, shown_path
from trainc.api.findings import Diagnostic, Severity, counted, escape_line, escape_report, has_errors, sort_diagnostics
from trainc.api.kube import NEWEST_RELEASE
from trainc.api.settings import Limits, limits_of
from trainc.cli.reporting import obeys_escapes
from trainc.features.migrate.files import MigratedFile, migrate_documents
from trainc.features.migrate.migrate import Plan
from trainc.reading.files import Walk

_NOT_MIGRATED = ("CannotMigrate",)
# Objects of Kueue in a version that is migrated; no other command reads them as sources.
_OF_KUEUE = b"kueue.x-k8s.io/v1beta1"


def run(arguments: Arguments, streams: Streams) -> Status:
    """Migrate every file; a file that cannot be read is reported and left unchanged."""
    if STDIN in arguments.paths and len(arguments.paths) > 1:
        raise UsageError("- cannot be combined with other paths")
    diagnostics: list[Diagnostic] = []
    limits = limits_of(arguments)
    read: list[tuple[str, str, list[Document]]] = []
    for file, text in _texts(arguments.paths, limits, streams, diagnostics):
        documents, problems = read_documents(encode(text), file, limits)
        streams.progress.step("reading", len(read) + 1)
        diagnostics += problems
        # A file with a problem stays as it is, and so nothing is said about its other documents.
        read.append((file, text, [] if problems else documents))
    every = [document for _, _, documents in read for document in documents]
    plan = Plan(
        (document.data for document in every),
        NEWEST_RELEASE,
        arguments.into,
        arguments.variables,
        rename=arguments.rename,
    )
    changed = 0
    if arguments.report:
        stuck = _write_report(every, plan, diagnostics, streams)
    else:
        for file, text, documents in streams.progress.over("migrating", read):
            migrated = migrate_documents(text, documents, limits, plan)
            diagnostics += migrated.diagnostics
            changed += migrated.text != text
            _deliver(file, text, migrated, arguments, streams)
        stuck = any(d.code in _NOT_MIGRATED for d in diagnostics) or (arguments.check and changed > 0)
    streams.progress.clear()
    paint = Paint(arguments.color, streams.err)
    streams.err.write(text_report(sort_diagnostics(diagnostics), Files(), paint, quiet=arguments.quiet))
    if not arguments.quiet and not arguments.report:
        verb = "would change" if arguments.diff or arguments.check else "changed"
        streams.err.write("".join(f"note: {note}\n" for note in plan.notes()))
        nothing = f"nothing to migrate in {counted(len(read), 'file')}"
        streams.err.write(f"{counted(changed, 'file')} {verb}\n" if changed else f"{nothing}\n")
    return Status.DIAGNOSED if stuck or has_errors(diagnostics) else Status.DONE


def _write_report(every: list[Document], plan: Plan, diagnostics: list[Diagnostic], streams: Streams) -> bool:
    """Print the report to stdout; return whether it has a job that cannot be migrated."""
    from trainc.features.migrate.report import format_report, rows_of

    rows = rows_of(streams.progress.over("migrating", every), plan)
    streams.progress.clear()
    text = format_report(rows, plan.notes(), all_read=not has_errors(diagnostics))
    streams.out.write(escape_report(text).encode("utf-8", "backslashreplace"))
    return any(row.is_stuck for row in rows)


def _texts(
    paths: Iterable[str], limits: Limits, streams: Streams, diagnostics: list[Diagnostic]
) -> Iterator[tuple[str, str]]:
    """The text of every file with documents under the paths; files that are not read are added to `diagnostics`."""
    walk = Walk(limits=limits)
    for path in paths:
        for file in walk.files(path):
            if file.endswith(TEMPLATE_SUFFIXES):
                hint = "change it by hand; pipe the rendered template to `trainc migrate - --diff` to see what has to change"
                diagnostics.append(_skipped(f"{shown_path(file)} is a template", hint, is_named=file == path))
            elif (data := walk.read(file, streams.stdin)) is not None and (
                _OF_KUEUE in data or not walk.skips(file, path, data)
            ):
                yield file, decode(data)
    overlays = map(shown_path, walk.overlays)
    diagnostics += (
        _skipped(f"{folder} is an overlay", f"to migrate it, name it: `trainc migrate {folder}`") for folder in overlays
    )
    diagnostics += walk.diagnostics


def _skipped(what: str, hint: str, *, is_named: bool = False) -> Diagnostic:
    severity: Severity = "warning" if is_named else "info"
    return Diagnostic("SkippedDocument", severity, f"{what} and was not migrated", hint)


def _deliver(file: str, text: str, migrated: MigratedFile, arguments: Arguments, streams: Streams) -> None:
    if arguments.diff:
        from trainc.cli.build import difference

        name = escape_line(file)
        patch = difference(text, migrated.text, f"{name} (now)", f"{name} (migrated)")
        if obeys_escapes(streams.out):
            patch = escape_report(patch)
        streams.progress.clear()
        streams.out.write(patch.encode("utf-8", "backslashreplace"))
    elif file == STDIN and not arguments.check:
        streams.progress.clear()
        streams.out.write(migrated.text.encode("utf-8", "backslashreplace"))
    elif migrated.text != text and not arguments.check:
        _replace(file, migrated.text)


def _replace(file: str, text: str) -> None:
    """Replace a file atomically through a temporary file. A symbolic link is kept, and its target replaced."""
    file = os.path.realpath(file)
    temporary = f"{file}.trainc-migrate"
    with suppress(FileNotFoundError):
        os.remove(temporary)  # Never write through an existing file or link of this name.
    with open(temporary, "x", encoding="utf-8", newline="") as stream:
        stream.write(text)
    os.chmod(temporary, os.stat(file).st_mode)
    os.replace(temporary, file)
