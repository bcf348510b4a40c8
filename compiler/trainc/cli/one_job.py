"""What commands about a single TrainJob share: their JOB argument, and how it is read and compiled."""

from __future__ import annotations

from io import BytesIO

from trainc.cli.command import (
    Arguments,
    Streams,
    UsageError,
)
from trainc.cli.compiling import kept_in
from trainc.cli.reporting import STDIN, Files, Paint, text_report
from trainc.cli.settings import Settings, limits_of, settings_of
from trainc.explain.select_job import Edit, NoSuchJobError, OneJob, compile_one, split_job
from trainc.findings import CompileError
from trainc.reading.opening import read_bounded


def compiled_job(
    arguments: Arguments, streams: Streams, edit: Edit | None = None, *, in_git: bool = False
) -> tuple[OneJob, Settings] | None:
    """Compile the job after applying `edit`; None if the input was refused, which has been reported.

    With `in_git`, the objects of a job that is kept as built are those of its rendered file. Raises UsageError if there
    is no such job.
    """
    path, chosen = split_job(arguments.job)
    arguments.paths = [path]
    # Kept, because a diagnostic may quote a line of it.
    stdin = read_bounded(streams.stdin, limits_of(arguments).file_bytes) if path == STDIN else b""
    try:
        settings = settings_of(arguments)
        inputs = settings.read(BytesIO(stdin))
        if chosen is not None and settings.output is not None:
            chosen = _without_hash(chosen, settings.output)
        keeping = kept_in(settings.output, settings, inputs.documents) if in_git else None
        return compile_one(
            inputs, chosen, settings.options, settings.policy(Files(stdin).text), edit, keeping
        ), settings
    except CompileError as error:
        paint = Paint(arguments.color, streams.err)
        streams.err.write(text_report(error.diagnostics, Files(stdin), paint, quiet=arguments.quiet))
        return None
    except NoSuchJobError as error:
        raise UsageError(str(error)) from None


def _without_hash(wanted: str, folder: str) -> str:
    """The TrainJob of the JobSet that a rendered file has under this name; otherwise the name itself."""
    from trainc.output.folder import jobs_of_jobset

    found = jobs_of_jobset(folder, wanted)
    return "/".join(found[0]).lstrip("/") if len(found) == 1 else wanted
