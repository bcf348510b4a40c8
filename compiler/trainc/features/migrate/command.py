"""Rewrite older APIs, dialects and Training Operator v1 jobs in the current API.

Only lines that have to change are rewritten; comments and order are kept. What
the current API cannot express is left as it is and reported. The manifests that
`trainc build` produces stay the same; any difference is reported, too.

A PyTorchJob, TFJob, XGBoostJob, JAXJob, PaddleJob or MPIJob becomes a TrainJob
and a runtime, with the same ranks, addresses, resources and success policy.

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
from trainc.cli.reporting import Files, Paint, counted_noun, obeys_escapes, text_report
from trainc.cli.settings import limits_of
from trainc.features.migrate.files import MigratedFile, migrate_text
from trainc.features.migrate.plan import Plan
from trainc.findings import Diagnostic, Severity, sort_diagnostics
from trainc.findings.text import escape_line, escape_report
from trainc.kube.releases import NEWEST_RELEASE
from trainc.options import Limits
from trainc.reading.document import Document
from trainc.reading.files import STDIN, TEMPLATE_SUFFIXES, Walk, shown_path
from trainc.reading.yaml_reader import decode, encode, read_documents

_NOT_MIGRATED = ("CannotMigrate",)


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
    add_limits(parser)
    add_reporting(parser)


def run(arguments: Arguments, streams: Streams) -> Status:
    """Migrate every file; a file that cannot be read is reported and left unchanged."""
    if STDIN in arguments.paths and len(arguments.paths) > 1:
        raise UsageError("- cannot be combined with other paths")
    diagnostics: list[Diagnostic] = []
    changed = 0
    limits = limits_of(arguments)
    texts = list(_texts(arguments.paths, limits, streams, diagnostics))
    documents = [d for file, text in texts for d in read_documents(encode(text), file, limits)[0]]
    plan = Plan((document.data for document in documents), NEWEST_RELEASE, arguments.into, arguments.variables)
    if arguments.report:
        return _report(documents, plan, diagnostics, arguments, streams)
    for file, text in texts:
        migrated = migrate_text(text, file, limits, plan)
        diagnostics += migrated.diagnostics
        changed += migrated.text != text
        _deliver(file, text, migrated, arguments, streams)
    report = text_report(
        sort_diagnostics(diagnostics), Files(), Paint(arguments.color, streams.err), quiet=arguments.quiet
    )
    streams.err.write(report)
    if not arguments.quiet:
        verb = "would change" if arguments.diff or arguments.check else "changed"
        read = f"nothing to migrate in {counted_noun(len(texts), 'file')}"
        streams.err.write(f"{counted_noun(changed, 'file')} {verb}\n" if changed else f"{read}\n")
    refused = any(d.severity == "error" or d.code in _NOT_MIGRATED for d in diagnostics)
    return Status.DIAGNOSED if refused or (arguments.check and changed) else Status.DONE


def _report(
    documents: list[Document], plan: Plan, diagnostics: list[Diagnostic], arguments: Arguments, streams: Streams
) -> Status:
    """Print the report to stdout, and unreadable files to stderr."""
    from trainc.features.migrate.report import format_report, rows_of

    rows = rows_of(documents, plan)
    streams.out.write(escape_report(format_report(rows)).encode("utf-8", "backslashreplace"))
    report = text_report(
        sort_diagnostics(diagnostics), Files(), Paint(arguments.color, streams.err), quiet=arguments.quiet
    )
    streams.err.write(report)
    stuck = any(row.is_stuck for row in rows) or any(d.severity == "error" for d in diagnostics)
    return Status.DIAGNOSED if stuck else Status.DONE


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
            elif (data := walk.read(file, streams.stdin)) is not None and not walk.skips(file, path, data):
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
