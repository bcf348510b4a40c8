"""One TrainJob out of an input: chosen by name, and compiled under observation."""

from __future__ import annotations

from collections.abc import Sequence

from trainc.api.releases import NEWEST_RELEASE
from trainc.compilation import CompiledJob
from trainc.diagnostics import CompileError, Diagnostic, has_errors, in_order
from trainc.diagnostics.near_names import did_you_mean
from trainc.explain.explanation import Recorder
from trainc.options import Options
from trainc.pipeline.checked import Checked
from trainc.pipeline.compiler import compile_job
from trainc.pipeline.inputs import Inputs
from trainc.pipeline.intake import Shelf, take_in, with_catalog
from trainc.startup.records import dataclass


class NoSuchJobError(Exception):
    """The input has no such TrainJob, or several; the message says which there are."""


@dataclass(frozen=True, slots=True)
class OneJob:
    """A TrainJob that was compiled, what was seen on the way, and its warnings."""

    compiled: CompiledJob
    recorder: Recorder
    diagnostics: list[Diagnostic]


def split_job(text: str) -> tuple[str, str | None]:
    """`PATH#NAMESPACE/NAME` as path and job; None where no job is named."""
    path, separator, job = text.rpartition("#")
    return (path, job) if separator and path else (text, None)


def compile_one(inputs: Inputs, wanted: str | None, options: Options) -> OneJob:
    """Compile the TrainJob that `wanted` names, as `NAMESPACE/NAME` or `NAME`; None means the only one.

    Other documents may be wrong. Raises CompileError where this job is refused, NoSuchJobError where it is not there.
    """
    release = options.release or NEWEST_RELEASE
    intake = take_in(inputs.documents, inputs.runtime_sources, release, options)
    intake = with_catalog(intake, Shelf(inputs.catalog, release, options))
    read = [*inputs.diagnostics, *intake.diagnostics]
    job = _chosen(intake.jobs, wanted, read)
    recorder = Recorder(intake.others)
    compiled, diagnostics = compile_job(job, intake, options, recorder)
    if compiled is None:
        # The runtime may be missing because its document was refused.
        raise CompileError([*read, *diagnostics])
    if not recorder.stages:
        raise NoSuchJobError(f"{job.label} has no objects: {'; '.join(d.message for d in diagnostics)}")
    return OneJob(compiled, recorder, in_order(diagnostics))


def compile_every(inputs: Inputs, options: Options) -> tuple[list[OneJob], list[Diagnostic]]:
    """Every TrainJob compiled under observation, by (namespace, name), and what there is to say beside them.

    Raises CompileError with every problem.
    """
    release = options.release or NEWEST_RELEASE
    intake = take_in(inputs.documents, inputs.runtime_sources, release, options)
    intake = with_catalog(intake, Shelf(inputs.catalog, release, options))
    beside: list[Diagnostic] = [*inputs.diagnostics, *intake.diagnostics]
    found = list(beside)
    compiled: list[OneJob] = []
    for job in intake.jobs:
        recorder = Recorder(intake.others)
        outcome, diagnostics = compile_job(job, intake, options, recorder)
        found += diagnostics
        if outcome is not None and recorder.stages:
            compiled.append(OneJob(outcome, recorder, in_order(diagnostics)))
        else:
            beside += diagnostics
    if has_errors(found):
        raise CompileError(found)
    return compiled, in_order(beside)


def _chosen(jobs: Sequence[Checked], wanted: str | None, read: Sequence[Diagnostic]) -> Checked:
    found = [job for job in jobs if wanted is None or wanted in _names(job)]
    if len(found) == 1:
        return found[0]
    if not found and has_errors(read):
        raise CompileError(read)
    known = [_names(job)[0] for job in jobs]
    if not jobs:
        raise NoSuchJobError("the input has no TrainJob")
    if not found:
        assert wanted is not None
        hint = did_you_mean(wanted, [_names(job)["/" not in wanted] for job in jobs])
        raise NoSuchJobError(f"the input has no TrainJob {wanted}; {hint or 'it has ' + _some(known)}")
    raise NoSuchJobError(f"the input has several TrainJobs; name one as PATH#NAME: {_some(known)}")


def _names(job: Checked) -> tuple[str, str]:
    """With its namespace, and without."""
    metadata = job.data["metadata"]
    name, namespace = metadata["name"], metadata.get("namespace", "")
    return (f"{namespace}/{name}", name) if namespace else (name, f"/{name}")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
