"""Compile every TrainJob found under PATH into the manifests that run on a cluster.

Runtimes come from the same input, then from each --runtimes folder, then from trainc's own catalog. Diagnostics go to
stderr; manifests are written only if nothing is wrong, so that `kubectl apply -f <(trainc build .)` is safe.

Examples:
  trainc build train.yaml --release 2.3
  trainc build jobs/ --runtimes platform/runtimes -o rendered/
  trainc build jobs/ -o rendered/ --check
  trainc build --overlay overlays/prod -o rendered/prod
  trainc build - < train.yaml | kubectl diff -f -

With -o DIR each TrainJob has a file DIR/NAMESPACE/NAME.yaml. Only files that trainc wrote are replaced or removed, all
of them or none: DIR/.trainc/owned lists them, and belongs in git.

Exit status: 0 done; 1 the input was refused, or --check or --exit-code found a difference; 2 wrong usage; 3 a defect in
trainc.
"""

from __future__ import annotations

import shutil
import tempfile
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, BinaryIO, cast

from trainc.cli.arguments import FOLDER, add_input, add_limits, add_reporting, add_shaping, completed_by
from trainc.cli.command import Status, Streams, UsageError
from trainc.cli.compiling import Run, paint_for, read_stdin, start
from trainc.cli.excerpt import Files
from trainc.cli.progress import Progress
from trainc.cli.report_text import counted_noun, text_report
from trainc.cli.settings import Settings, settings_of
from trainc.diagnostics import CompileError, Diagnostic, has_errors, in_order

if TYPE_CHECKING:
    from trainc.cli.batching import BatchRun

STDOUT = "-"
_IN_MEMORY = 8_000_000


def add_arguments(parser: ArgumentParser) -> None:
    """Input, output, and how the two relate."""
    add_input(parser)
    output = parser.add_argument_group("output")
    where = output.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        help="one file per TrainJob under DIR; - for one stream on stdout (default: `output` of trainc.yaml, else -)",
    )
    completed_by(where, FOLDER)
    output.add_argument("--check", action="store_true", help="write nothing; exit 1 with a diff if DIR would change")
    output.add_argument(
        "--exit-code", action="store_true", help="exit 1 if anything was written or removed (for hooks)"
    )
    output.add_argument("--format", choices=("yaml", "json"), default="yaml", help="json: one v1 List (default: yaml)")
    output.add_argument("--allow-empty", action="store_true", help="finding no TrainJob is fine")
    _add_speed(parser)
    add_shaping(parser)
    add_limits(parser)
    add_reporting(parser)


def _add_speed(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("many jobs")
    group.add_argument(
        "-j",
        "--jobs",
        metavar="N",
        type=_processes,
        default=1,
        help="compile in N processes, where there are hundreds of files; 0 for one per core (default: 1)",
    )
    where = group.add_argument(
        "--cache",
        metavar="DIR",
        help="keep results in DIR, and compile again only what has changed (default: no cache)",
    )
    completed_by(where, FOLDER)


def _processes(text: str) -> int:
    if text == "auto":
        return 0
    if not text.isascii() or not text.isdigit():
        raise ArgumentTypeError(f"{text!r} is no number of processes")
    return int(text)


def run(arguments: Namespace, streams: Streams) -> Status:
    """Compile everything, and write it if nothing is wrong."""
    try:
        settings = settings_of(arguments)
    except CompileError as error:
        return _refuse(error.diagnostics, Files(), arguments, streams)
    target = arguments.output or settings.output or STDOUT
    if target == STDOUT and (arguments.check or arguments.exit_code):
        flag = "--check compares with" if arguments.check else "--exit-code is about"
        raise UsageError(f"{flag} an output folder: name one with -o, or as `output` in trainc.yaml")
    if target != STDOUT and arguments.format == "json":
        raise UsageError("--format json is for stdout; files in an output folder are YAML")
    skip, progress = None if target == STDOUT else target, Progress(streams.err)
    with ExitStack() as stack:
        compilation = _compilation(settings, arguments, streams, skip, progress, stack)
        if target == STDOUT:
            return _to_stdout(compilation, progress, arguments, streams)
        return _to_folder(compilation, progress, target, arguments, streams)


def _compilation(  # noqa: PLR0913, PLR0917
    settings: Settings, arguments: Namespace, streams: Streams, skip: str | None, progress: Progress, stack: ExitStack
) -> Run | BatchRun:
    """Job files apart where that was asked for, and where they can be; else the input as a whole."""
    stdin = read_stdin(settings, streams)
    if arguments.jobs != 1 or arguments.cache is not None:
        from trainc.batch.spool import Spool
        from trainc.cli.batching import Request, UnusualError, processes, run_apart

        request = Request(
            settings.paths, settings.runtimes, settings.overlays, settings.options, arguments.format,
            skip, stdin, processes(arguments.jobs), arguments.cache,
        )  # fmt: skip
        try:
            compilation = run_apart(request, settings, stack.enter_context(closing(Spool())), progress)
        except UnusualError as reason:
            if arguments.verbose:
                streams.err.write(f"compiled as a whole: {reason}\n")
        else:
            if compilation.unsaved:
                streams.err.write(f"trainc: the cache was not written: {compilation.unsaved}\n")
            return compilation
    return start(settings, stdin, skip, step=progress.step)


def _to_stdout(compilation: Run | BatchRun, progress: Progress, arguments: Namespace, streams: Streams) -> Status:
    from trainc.target.streams import joined

    # In memory while it is small, and in a temporary file beyond.
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as spool:
        for piece in joined((text for _, _, text in compilation.texts(arguments.format)), arguments.format):
            spool.write(piece)
        progress.clear()
        if _is_refused(compilation, arguments):
            return _refuse(compilation.diagnostics, compilation.files, arguments, streams)
        _report(compilation, arguments, streams)
        spool.seek(0)
        shutil.copyfileobj(cast("BinaryIO", spool), streams.out)
    return Status.DONE


def _to_folder(
    compilation: Run | BatchRun, progress: Progress, target: str, arguments: Namespace, streams: Streams
) -> Status:
    from trainc.output.folder import carry_out, file_name, plan

    texts = compilation.texts("yaml")
    wanted = {file_name(namespace, name): text.decode() for namespace, name, text in texts}
    progress.clear()
    if _is_refused(compilation, arguments):
        return _refuse(compilation.diagnostics, compilation.files, arguments, streams)
    planned = plan(target, wanted)
    if not planned.refused and not arguments.check:
        planned = carry_out(planned)
    compilation.diagnostics += [*planned.refused, *(planned.interrupted if arguments.check else ())]
    if has_errors(compilation.diagnostics):
        return _refuse(compilation.diagnostics, compilation.files, arguments, streams)
    _report(compilation, arguments, streams)
    for path, text in planned.new.items() if arguments.check else ():
        streams.out.write(_difference(f"{target}/{path}", planned.old[path], text).encode())
    if not arguments.quiet:
        _say_changes(list(planned.described()), target, arguments, streams)
    differs = planned.changes and (arguments.check or arguments.exit_code)
    return Status.DIAGNOSED if differs else Status.DONE


def _say_changes(changes: list[tuple[str, str]], target: str, arguments: Namespace, streams: Streams) -> None:
    verbs = [verb for verb, _ in changes]
    for verb, path in changes if arguments.verbose else ():
        streams.err.write(f"{verb} {target}/{path}\n")
    counts = [f"{counted_noun(verbs.count(verb), 'file')} {verb}" for verb in ("created", "changed", "removed")]
    said = ", ".join(count for count in counts if not count.startswith("0 ")) or "nothing to do"
    streams.err.write(f"{target}: {said}{' (not written: --check)' if arguments.check and changes else ''}\n")


def _is_refused(compilation: Run | BatchRun, arguments: Namespace) -> bool:
    """Whether anything is wrong; no TrainJob at all is wrong too, since a GitOps tool would prune everything."""
    if not compilation.compiled and not arguments.allow_empty and not has_errors(compilation.diagnostics):
        paths = ", ".join(compilation.settings.paths) or "the overlay's resources"
        message = f"no TrainJob was found in {paths}; with pruning on, empty output deletes what runs"
        hint = "name the folder that holds the TrainJobs, or say --allow-empty"
        compilation.diagnostics.append(Diagnostic("NoTrainJob", "error", message, hint))
    return has_errors(compilation.diagnostics)


def _report(compilation: Run | BatchRun, arguments: Namespace, streams: Streams) -> None:
    paint = paint_for(arguments, streams)
    found = in_order(compilation.diagnostics)
    streams.err.write(text_report(found, compilation.files, paint, quiet=arguments.quiet))
    if arguments.verbose:
        documents = counted_noun(compilation.documents, "document")
        streams.err.write(f"{documents} read, {counted_noun(compilation.compiled, 'TrainJob')} compiled\n")


def _refuse(diagnostics: Iterable[Diagnostic], files: Files, arguments: Namespace, streams: Streams) -> Status:
    report = text_report(in_order(diagnostics), files, paint_for(arguments, streams), quiet=arguments.quiet)
    streams.err.write(report)
    return Status.DIAGNOSED


def _difference(name: str, old: str | None, new: str | None) -> str:
    from difflib import unified_diff

    before, after = (old or "").splitlines(keepends=True), (new or "").splitlines(keepends=True)
    sides = (name if old is not None else "/dev/null", name if new is not None else "/dev/null")
    return "".join(unified_diff(before, after, *sides))
