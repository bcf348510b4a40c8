"""Compile the TrainJobs found under PATH into Kubernetes manifests.

Examples:
  trainc build train.yaml --release 2.3
  trainc build jobs/ --runtimes platform/runtimes -o rendered/
  trainc build jobs/ -o rendered/ --check
  trainc build --overlay overlays/prod -o rendered/prod
  trainc build --matrix sweep.yaml -o rendered/sweep
  trainc build - < train.yaml | kubectl diff -f -

`trainc help output` explains which files are replaced or deleted.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from contextlib import ExitStack
from typing import TYPE_CHECKING

from trainc.cli.arguments import (
    FOLDER,
    add_input,
    add_limits,
    add_matrix,
    add_reporting,
    add_shaping,
    add_strict,
    argument_error,
    set_completion,
)
from trainc.cli.build_output import Target, report_refusal, write_folders, write_stdout
from trainc.cli.command import Arguments, Status, Streams, UsageError
from trainc.cli.compiling import Run, read_stdin, start
from trainc.cli.environments import environment_name, environments_of
from trainc.cli.report_text import STDIN, Files
from trainc.cli.settings import Settings, settings_of
from trainc.cli.terminal import Progress
from trainc.diagnostics import CompileError

if TYPE_CHECKING:
    from trainc.batch.run import Memory
    from trainc.cli.batching import BatchRun
    from trainc.cli.sweeping import MatrixInput

STDOUT = "-"


def add_arguments(parser: ArgumentParser) -> None:
    """Add input and output options."""
    add_input(parser)
    add_matrix(parser)
    output = parser.add_argument_group("output")
    where = output.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        help="write a file per TrainJob to DIR (default: -, stdout)",
    )
    set_completion(where, FOLDER)
    output.add_argument(
        "--prune",
        action="store_true",
        help="delete files of jobs that are not in this build",
    )
    output.add_argument("--check", action="store_true", help="write nothing; exit 1 and print a diff if DIR is stale")
    output.add_argument(
        "--exit-code", action="store_true", help="exit 1 if any file was written or deleted (for hooks)"
    )
    output.add_argument(
        "--format", choices=("yaml", "json"), default="yaml", help="yaml (default) or a v1 List in JSON"
    )
    output.add_argument("--watch", action="store_true", help="rebuild when an input file changes, until Ctrl-C")
    output.add_argument("--allow-empty", action="store_true", help="succeed even if there is no TrainJob")
    _add_speed(parser)
    add_shaping(parser)
    add_limits(parser)
    add_reporting(parser)
    add_strict(parser)


def _add_speed(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("performance")
    group.add_argument(
        "-j",
        "--jobs",
        metavar="N",
        type=_processes,
        default=1,
        help="compile in N processes; 0 means one per core",
    )
    where = group.add_argument(
        "--cache",
        metavar="DIR",
        help="keep results in DIR and compile only what has changed",
    )
    set_completion(where, FOLDER)


def _processes(text: str) -> int:
    if text == "auto":
        return 0
    if not text.isascii() or not text.isdigit():
        raise argument_error(f"{text!r} is not a number of processes")
    return int(text)


def run(arguments: Arguments, streams: Streams) -> Status:
    """Compile everything, and write the output if there are no errors."""
    if not arguments.watch:
        return build(arguments, streams)
    if arguments.matrix:
        raise UsageError("--watch and --matrix cannot be combined")
    try:
        every = environments_of(arguments)
        settings = settings_of(every[0])
    except CompileError as error:
        return report_refusal(error.diagnostics, Files(), arguments, streams)
    if len(every) > 1:
        raise UsageError(
            f"--watch works on one environment: choose one of {', '.join(map(environment_name, every))} with --env"
        )
    target = _target(arguments, settings)
    if target == STDOUT or STDIN in settings.paths or arguments.check or arguments.exit_code:
        raise UsageError(
            "--watch needs input files and an output folder, and cannot be combined with --check or --exit-code"
        )
    from trainc.cli.watching import watch

    return watch(arguments, settings, target, streams, build)


def _matrix(arguments: Arguments) -> MatrixInput | None:
    if not arguments.matrix:
        return None
    from trainc.cli.sweeping import read_matrix_option

    return read_matrix_option(arguments)


def build(arguments: Arguments, streams: Streams, memory: Memory | None = None) -> Status:
    """Build once, from the settings to the output. `memory` speeds up repeated builds of the same input."""
    try:
        matrix = _matrix(arguments)
        every = environments_of(arguments)
        settings = [settings_of(each) for each in every]
    except CompileError as error:
        return report_refusal(error.diagnostics, Files(), arguments, streams)
    folders, progress = [_target(arguments, each) for each in settings], Progress(streams.err)
    if len(every) > 1 and (STDOUT in folders or len(set(folders)) < len(folders)):
        names = ", ".join(map(environment_name, every))
        raise UsageError(f"each environment needs an `output` of its own; choose one of {names} with --env")
    with ExitStack() as stack:
        targets: list[Target] = []
        for which, each, folder in zip(every, settings, folders, strict=True):
            compilation = _compilation(each, arguments, streams, folder, progress, matrix, memory)
            stack.push(compilation.__exit__)
            targets.append(Target(compilation, folder, environment_name(which)))
        if folders == [STDOUT]:
            return write_stdout(targets[0].compilation, progress, arguments, streams)
        return write_folders(targets, progress, arguments, streams, None if memory is None else memory.output)


def _target(arguments: Arguments, settings: Settings) -> str:
    """The output folder, or `-`. Raises UsageError for options that require the other kind."""
    # PATH selects some of the jobs to look at, whereas the `output` of trainc.yaml is for all of them.
    configured = settings.output if settings.whole or arguments.check or arguments.exit_code else None
    target: str = arguments.output or configured or STDOUT
    if arguments.prune and target == STDOUT:
        raise UsageError("--prune needs an output folder: add -o DIR")
    if target == STDOUT and (arguments.check or arguments.exit_code):
        flag = "--check" if arguments.check else "--exit-code"
        raise UsageError(f"{flag} needs an output folder: add -o DIR, or set `output` in trainc.yaml")
    if target != STDOUT and arguments.format == "json":
        raise UsageError("--format json works on stdout only; files in an output folder are YAML")
    if target != STDOUT and os.path.isfile(target):
        raise UsageError(f"the output folder {target} is a file; use a folder, or redirect stdout")
    if target != STDOUT and settings.paths and all(_is_same(path, target) for path in settings.paths):
        raise UsageError(f"{target} is both the input and the output folder; use another output folder")
    return target


def _is_same(path: str, other: str) -> bool:
    return os.path.realpath(path) == os.path.realpath(other)


def _compilation(  # noqa: PLR0913, PLR0917 - what a build has decided so far
    settings: Settings,
    arguments: Arguments,
    streams: Streams,
    target: str,
    progress: Progress,
    matrix: MatrixInput | None,
    memory: Memory | None,
) -> Run | BatchRun:
    """Compile job files separately if requested and possible; otherwise, the input as a whole."""
    skip = settings.output if target == STDOUT else target
    stdin = read_stdin(settings, streams)
    # Policies need the objects of a job, which the cache does not store, and the trials of a sweep have no files.
    can_be_apart = matrix is None and not settings.configuration.policies
    if can_be_apart and (arguments.jobs != 1 or arguments.cache is not None or memory is not None):
        from trainc.cli.batching import Request, UnusualError, process_count, run_in_batches

        request = Request(
            settings.paths, settings.runtimes, settings.overlays, settings.options, arguments.format,
            skip, stdin, process_count(arguments.jobs), arguments.cache, settings.configuration.exclude, memory,
        )  # fmt: skip
        try:
            compilation = run_in_batches(request, settings, progress)
        except UnusualError as reason:
            progress.clear()
            if arguments.verbose:
                streams.err.write(f"compiled in one process: {reason}\n")
        else:
            progress.clear()
            if compilation.unsaved:
                streams.err.write(f"trainc: could not write the cache: {compilation.unsaved}\n")
            return compilation
    return start(settings, stdin, skip, step=progress.step, matrix=matrix)
