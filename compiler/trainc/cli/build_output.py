"""What `build` does with compiled jobs: a stream or a folder, and what there is to say about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from trainc.cli.command import Arguments, Status, Streams
from trainc.cli.compiling import Run, paint_for
from trainc.cli.excerpt import STDIN, Files
from trainc.cli.held_output import HeldOutput
from trainc.cli.progress import Progress
from trainc.cli.report_text import counted_noun, text_report
from trainc.diagnostics import Diagnostic, has_errors, in_order

if TYPE_CHECKING:
    from trainc.cli.batching import BatchRun


def to_stdout(compilation: Run | BatchRun, progress: Progress, arguments: Arguments, streams: Streams) -> Status:
    """One stream of all jobs, copied to stdout after the last of them, or what is wrong with any."""
    from trainc.emit.streams import joined

    with HeldOutput() as held:
        for piece in joined((text for _, _, text in compilation.texts(arguments.format)), arguments.format):
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
    from trainc.output.folder import carry_out, file_name, plan

    texts = compilation.texts("yaml")
    wanted = {file_name(namespace, name): text.decode() for namespace, name, text in texts}
    progress.clear()
    if _is_refused(compilation, arguments):
        return refuse(compilation.diagnostics, compilation.files, arguments, streams)
    planned = plan(target, wanted)
    if not arguments.check:
        planned = carry_out(planned)
    compilation.diagnostics += [*planned.refused, *(planned.interrupted if arguments.check else ())]
    if has_errors(compilation.diagnostics):
        return refuse(compilation.diagnostics, compilation.files, arguments, streams)
    _report(compilation, arguments, streams)
    for path, text in planned.new.items() if arguments.check else ():
        streams.out.write(_difference(f"{target}/{path}", planned.old[path], text).encode())
    if not arguments.quiet:
        _say_changes(list(planned.described()), target, arguments, streams)
    differs = planned.changes and (arguments.check or arguments.exit_code)
    return Status.DIAGNOSED if differs else Status.DONE


def _say_changes(changes: list[tuple[str, str]], target: str, arguments: Arguments, streams: Streams) -> None:
    verbs = [verb for verb, _ in changes]
    for verb, path in changes if arguments.verbose else ():
        streams.err.write(f"{verb} {target}/{path}\n")
    counts = [f"{counted_noun(verbs.count(verb), 'file')} {verb}" for verb in ("created", "changed", "removed")]
    said = ", ".join(count for count in counts if not count.startswith("0 ")) or "nothing to do"
    streams.err.write(f"{target}: {said}{' (not written: --check)' if arguments.check and changes else ''}\n")


def _is_refused(compilation: Run | BatchRun, arguments: Arguments) -> bool:
    """Whether anything is wrong; no TrainJob at all is wrong too, since a GitOps tool would prune everything."""
    if not compilation.compiled and not arguments.allow_empty and not has_errors(compilation.diagnostics):
        read = ("the standard input" if path == STDIN else path for path in compilation.settings.paths)
        paths = ", ".join(read) or "the overlay's resources"
        message = f"no TrainJob was found in {paths}; with pruning on, empty output deletes what runs"
        hint = "name the folder that holds the TrainJobs, or say --allow-empty"
        compilation.diagnostics.append(Diagnostic("NoTrainJob", "error", message, hint))
    return has_errors(compilation.diagnostics)


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
    from trainc.cli.differences import difference

    sides = (name if old is not None else "/dev/null", name if new is not None else "/dev/null")
    return difference(old or "", new or "", *sides)
