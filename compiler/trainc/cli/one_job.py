"""What commands about a single TrainJob share: their JOB argument, and how it is read and compiled."""

from __future__ import annotations

from io import BytesIO

from trainc.cli.command import Arguments, Streams, UsageError
from trainc.cli.compiling import kept_in
from trainc.cli.job_names import Wanted, candidates, choose_environment, input_of, other_build, pod_of
from trainc.cli.reporting import STDIN, Files, Paint, text_report
from trainc.cli.settings import Settings, limits_of, settings_of
from trainc.explain.select_job import Edit, NoSuchJobError, OneJob, compile_one
from trainc.features import ask
from trainc.findings import CompileError
from trainc.pipeline.inputs import Inputs
from trainc.reading.opening import read_bounded
from trainc.startup.records import replace


def compiled_job(
    arguments: Arguments, streams: Streams, edit: Edit | None = None, *, in_git: bool = False
) -> tuple[OneJob, Settings] | None:
    """Compile the job after applying `edit`; None if the input was refused, which has been reported.

    With `in_git`, the objects of a job that is kept as built are those of its rendered file. Raises UsageError if there
    is no such job.
    """
    stdin = b""
    try:
        with input_of(arguments) as (placed, wanted):
            # Kept, because a diagnostic may quote a line of it.
            stdin = read_bounded(streams.stdin, limits_of(placed).file_bytes) if placed.paths == [STDIN] else b""
            if wanted.name:
                choose_environment(wanted.name, placed)
            settings = settings_of(placed)
            return _compiled(wanted, settings, settings.read(BytesIO(stdin)), Files(stdin), edit, in_git), settings
    except CompileError as error:
        paint = Paint(arguments.color, streams.err)
        streams.err.write(text_report(error.diagnostics, Files(stdin), paint, quiet=arguments.quiet))
        return None
    except NoSuchJobError as error:
        raise UsageError(str(error)) from None


def _compiled(  # noqa: PLR0913, PLR0917 - each is a part of the question
    wanted: Wanted, settings: Settings, inputs: Inputs, files: Files, edit: Edit | None, in_git: bool
) -> OneJob:
    """Compile the first candidate that has the pod that is asked for, or the only one."""
    keeping = kept_in(settings.output, settings, inputs.documents) if in_git else None
    name = (wanted.name or wanted.job or "").rpartition("/")[2]
    for job, jobset in candidates(wanted, settings, inputs.documents):
        one = compile_one(inputs, job, settings.options, settings.policy(files.text), edit, keeping)
        manifests = one.compiled.manifests
        if jobset in ("", name):
            return replace(one, found_by=other_build(manifests, jobset))
        if pod := pod_of(manifests, jobset, name):
            ranks = ask("graph", "ranks of pod")
            numbers = ranks(manifests, pod.step, pod.replica, pod.number) if ranks else ""
            return replace(one, found_by=pod.text(numbers) + other_build(manifests, jobset))
    raise NoSuchJobError(f"there is no TrainJob, JobSet or pod {name}; the job of that name has no such pod")
