"""Rewrite older APIs, dialects and Training Operator v1 jobs in the current API.

Only lines that have to change are rewritten; comments and order are kept. What
the current API cannot express is left as it is and reported. The manifests that
`trainc build` produces stay the same; any difference is reported, too.

A PyTorchJob, TFJob, XGBoostJob, JAXJob, PaddleJob or MPIJob becomes a TrainJob
and a runtime, with the same ranks, addresses, resources and success policy, also
inside an AppWrapper or a Katib Experiment. Objects of Kueue become v1beta2.

Examples:
  trainc migrate --report .
  trainc migrate --diff old-runtime.yaml
  trainc migrate jobs/ runtimes/
  trainc migrate - < job.yaml > new.yaml

Exit code: 0 success, 1 something cannot be migrated, or --check found a change.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from contextlib import suppress

from trainc.cli.command import FILE, Arguments, Status, Streams, UsageError, add_limits, add_reporting, set_completion
from trainc.cli.reporting import Files, Paint, obeys_escapes, text_report
from trainc.cli.settings import limits_of
from trainc.features.migrate.files import MigratedFile, migrate_documents
from trainc.features.migrate.migrate import Plan
from trainc.findings import Diagnostic, Severity, has_errors, sort_diagnostics
from trainc.findings.text import counted, escape_line, escape_report
from trainc.kube.releases import NEWEST_RELEASE
from trainc.options import Limits
from trainc.reading.document import Document
from trainc.reading.files import STDIN, TEMPLATE_SUFFIXES, Walk, shown_path
from trainc.reading.yaml_reader import decode, encode, read_documents

_NOT_MIGRATED = ("CannotMigrate",)
# Objects of Kueue in a version that is migrated; no other command reads them as sources.
_OF_KUEUE = b"kueue.x-k8s.io/v1beta1"


def add_arguments(parser: ArgumentParser) -> None:
    """Add files and output options."""
    help_text = "file, folder, or - for stdin to stdout"
    set_completion(parser.add_argument("paths", metavar="PATH", nargs="+", help=help_text), FILE)
    writing = parser.add_mutually_exclusive_group()
    writing.add_argument("--diff", action="store_true", help="print a diff and write nothing")
    writing.add_argument("--check", action="store_true", help="write nothing; exit 1 if any file would change")
    help_text = "write nothing; list each job, what it becomes, and open questions"
    writing.add_argument("--report", action="store_true", help=help_text)
    help_text = "v1 jobs: generate a runtime (default), or use a built-in one that fits"
    parser.add_argument("--into", choices=("runtime", "catalog"), default="runtime", help=help_text)
    help_text = "v1 PyTorchJobs: keep v1's env variables (default), or start `python x` with torchrun"
    parser.add_argument("--variables", choices=("keep", "torchrun", "auto"), default="auto", help=help_text)
    help_text = "v1 jobs: shorten names that are too long for the pods of a JobSet"
    parser.add_argument("--rename", action="store_true", help=help_text)
    add_limits(parser)
    add_reporting(parser)


def run(arguments: Arguments, streams: Streams) -> Status:
    """Migrate every file; a file that cannot be read is reported and left unchanged."""
    if STDIN in arguments.paths and len(arguments.paths) > 1:
        raise UsageError("- cannot be combined with other paths")
    diagnostics: list[Diagnostic] = []
    limits = limits_of(arguments)
    read: list[tuple[str, str, list[Document]]] = []
    for file, text in _texts(arguments.paths, limits, streams, diagnostics):
        documents, problems = read_documents(encode(text), file, limits)
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
        for file, text, documents in read:
            migrated = migrate_documents(text, documents, limits, plan)
            diagnostics += migrated.diagnostics
            changed += migrated.text != text
            _deliver(file, text, migrated, arguments, streams)
        stuck = any(d.code in _NOT_MIGRATED for d in diagnostics) or (arguments.check and changed > 0)
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

    rows = rows_of(every, plan)
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
        streams.out.write(patch.encode("utf-8", "backslashreplace"))
    elif file == STDIN and not arguments.check:
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
