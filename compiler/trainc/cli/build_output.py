"""What `build` does with compiled jobs: a stream or a folder, and the report about them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING, BinaryIO, Self

from trainc.cli.command import Arguments, Status, Streams
from trainc.cli.compiling import Run, fails, nothing_found, paint_for
from trainc.cli.report_text import STDIN, Files, counted_noun, text_report
from trainc.cli.terminal import Progress
from trainc.diagnostics import Diagnostic, has_errors, in_order
from trainc.diagnostics.spelled_out import unobeyed

if TYPE_CHECKING:
    from trainc.cli.batching import BatchRun
    from trainc.cli.settings import Settings

_IN_MEMORY = 8_000_000
_AT_A_TIME = 1_000_000
_UNENDED = "\\ No newline at end of file\n"


def to_stdout(compilation: Run | BatchRun, progress: Progress, arguments: Arguments, streams: Streams) -> Status:
    """One stream of all jobs, copied to stdout after the last of them, or what is wrong with any."""
    from trainc.emit.yaml_writer import joined

    with HeldOutput() as held:
        for piece in joined((text for _, _, text, _ in compilation.texts(arguments.format)), arguments.format):
            held.write(piece)
        progress.clear()
        if _is_refused(compilation, arguments):
            return refuse(compilation.diagnostics, compilation.files, arguments, streams)
        _report(compilation, arguments, streams)
        held.copy_to(streams.out)
    return Status.DONE


def to_folder(
    compilation: Run | BatchRun, progress: Progress, target: str, arguments: Arguments, streams: Streams
) -> Status:
    """A file for each job in the folder `target`, or with --check what would change there."""
    from trainc.output.folder import carry_out, file_name, first_line, plan

    home = _home_of(compilation.settings)
    files = {
        file_name(namespace, name): first_line(_source(file, home)) + text.decode()
        for namespace, name, text, file in compilation.texts("yaml")
    }
    progress.clear()
    if _is_refused(compilation, arguments):
        return refuse(compilation.diagnostics, compilation.files, arguments, streams)
    planned = plan(target, files, prune=arguments.prune or compilation.settings.whole)
    if not arguments.check:
        planned = carry_out(planned)
    compilation.diagnostics += [*planned.refused, *(planned.interrupted if arguments.check else ())]
    if planned.kept and not planned.refused:
        compilation.diagnostics.append(_kept(planned.kept, target, arguments))
    if has_errors(compilation.diagnostics):
        return refuse(compilation.diagnostics, compilation.files, arguments, streams)
    _report(compilation, arguments, streams)
    for path, text in planned.new.items() if arguments.check else ():
        shown = unobeyed(_difference(f"{target}/{path}", planned.old[path], text))
        streams.out.write(shown.encode("utf-8", "backslashreplace"))
    if not arguments.quiet:
        _print_changes(list(planned.described()), target, arguments, streams)
    differs = planned.changes and (arguments.check or arguments.exit_code)
    return Status.DIAGNOSED if differs else Status.DONE


def _kept(paths: Sequence[str], target: str, arguments: Arguments) -> Diagnostic:
    """What a build of some jobs leaves alone; with --prune only files without trainc's first line are left."""
    some = ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
    message = f"kept {counted_noun(len(paths), 'file')} of other jobs in {target}: {some}"
    hint = "to delete files of jobs that are not in this build, add --prune"
    if arguments.prune:
        hint = "trainc 0.1.0 wrote them; delete the ones whose job no longer exists"
    return Diagnostic("FilesKept", "info", message, hint)


def _home_of(settings: Settings) -> str:
    """The folder that sources are named from in output: the repository's top, or that of trainc.yaml; else none."""
    from trainc.reading.confinement import repository_above

    configured = settings.configuration.file
    folder = os.path.dirname(configured) if configured else settings.paths[0] if settings.paths else os.curdir
    return repository_above(folder) or (os.path.realpath(folder) if configured else "")


def _source(file: str, home: str) -> str:
    """What the first line of a file calls its source: the same text on any machine."""
    if file == STDIN:
        return "stdin"
    real = os.path.realpath(file)
    if home and real.startswith(home + os.sep):
        return os.path.relpath(real, home).replace(os.sep, "/")
    return os.path.basename(file)


def _print_changes(changes: list[tuple[str, str]], target: str, arguments: Arguments, streams: Streams) -> None:
    verbs = [verb for verb, _ in changes]
    for verb, path in changes if arguments.verbose else ():
        streams.err.write(f"{verb} {target}/{path}\n")
    counts = [f"{counted_noun(verbs.count(verb), 'file')} {verb}" for verb in ("created", "changed", "removed")]
    summary = ", ".join(count for count in counts if not count.startswith("0 ")) or "up to date"
    streams.err.write(f"{target}: {summary}{' (not written: --check)' if arguments.check and changes else ''}\n")


def _is_refused(compilation: Run | BatchRun, arguments: Arguments) -> bool:
    """Whether anything is wrong; no TrainJob at all is wrong too, since a GitOps tool would prune everything."""
    if not compilation.compiled and not arguments.allow_empty:
        compilation.diagnostics += nothing_found(compilation.settings, compilation.diagnostics)
    return fails(compilation.diagnostics, arguments)


def _report(compilation: Run | BatchRun, arguments: Arguments, streams: Streams) -> None:
    paint = paint_for(arguments, streams)
    found = in_order(compilation.diagnostics)
    streams.err.write(text_report(found, compilation.files, paint, quiet=arguments.quiet))
    if arguments.verbose:
        documents = counted_noun(compilation.documents, "document")
        streams.err.write(f"{documents} read, {counted_noun(compilation.compiled, 'TrainJob')} compiled\n")


def refuse(diagnostics: Iterable[Diagnostic], files: Files, arguments: Arguments, streams: Streams) -> Status:
    """Say what is wrong, and write nothing else."""
    report = text_report(in_order(diagnostics), files, paint_for(arguments, streams), quiet=arguments.quiet)
    streams.err.write(report)
    return Status.DIAGNOSED


def _difference(name: str, old: str | None, new: str | None) -> str:
    sides = (name if old is not None else "/dev/null", name if new is not None else "/dev/null")
    return difference(old or "", new or "", *sides)


class HeldOutput:
    """Output held back until everything is known to be right: in memory while it is small, in a file beyond."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, piece: bytes) -> None:
        """Hold one more piece."""
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > _IN_MEMORY:
            self._to_file()

    def copy_to(self, out: BinaryIO) -> None:
        """Write everything that is held."""
        if self._file is not None:
            self._to_file()
            self._file.seek(0)
            while block := self._file.read(_AT_A_TIME):
                out.write(block)
        out.write(b"".join(self._pieces))

    def _to_file(self) -> None:
        if self._file is None:
            from tempfile import TemporaryFile  # Most output is small, and this takes a while to import.

            self._file = TemporaryFile()  # noqa: SIM115 - `__exit__` closes it
        self._file.write(b"".join(self._pieces))
        self._pieces.clear()
        self._size = 0


def difference(old: str, new: str, old_name: str, new_name: str) -> str:
    """A unified diff that turns `old` into `new`, as `patch` and `git apply` read it; empty where they are equal.

    Where people or a runner read it, it is for `unobeyed` to break what they would obey, and the patch with it.
    """
    from difflib import unified_diff

    lines = unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), old_name, new_name)
    return "".join(line if line.endswith("\n") else f"{line}\n{_UNENDED}" for line in lines)
