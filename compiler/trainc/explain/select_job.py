"""Select one TrainJob of an input by name, and compile it under observation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.compilation import CompiledJob
from trainc.explain import place
from trainc.explain.kept import as_in_file
from trainc.explain.model import Explanation
from trainc.explain.replay import AsWritten, Recorder
from trainc.findings import CompileError, Diagnostic, has_errors, sort_diagnostics
from trainc.findings.policy import Rules, keep_severities
from trainc.findings.text import counted, did_you_mean, first_of
from trainc.kube.documents import Json
from trainc.kube.names import trial_name
from trainc.kube.quantity import whole_number
from trainc.kube.releases import NEWEST_RELEASE
from trainc.options import Options
from trainc.output.keeping import Keeping
from trainc.pipeline.failures import failures_of, left_out_warning
from trainc.pipeline.inputs import Inputs
from trainc.pipeline.raw_jobsets import outcomes_of
from trainc.pipeline.session import Session
from trainc.pipeline.valid_document import ValidDocument
from trainc.reading.document import Document
from trainc.startup.records import dataclass, replace

Edit: TypeAlias = Callable[[Json], Json]


class NoSuchJobError(Exception):
    """The input has no such TrainJob, or several; the message lists those it has."""


@dataclass(frozen=True, slots=True)
class OneJob:
    """A compiled TrainJob, the record of its compilation, and its warnings. `found_by` says how a name led to it.

    If that is the name of a pod, `pod` is the same as JSON-serializable data.

    If the job is kept as built, `compiled` has the objects in git. Then the record is empty if it no longer compiles.
    """

    compiled: CompiledJob
    recorder: Recorder
    diagnostics: list[Diagnostic]
    label: str = ""
    found_by: str = ""
    pod: Mapping[str, Any] | None = None

    @property
    def compiles(self) -> bool:
        """Return whether there is anything to explain."""
        return bool(self.recorder.stages)

    @property
    def config_maps(self) -> list[Json]:
        """Return the ConfigMaps of the input in the namespace of the job."""
        lowered = self.recorder.result and self.recorder.result.lowered
        here = lowered.session.index.around.of("ConfigMap", self.compiled.namespace) if lowered else {}
        return [one.data for one in here.values()]

    @property
    def is_kept(self) -> bool:
        """Return whether the objects in git differ from what compiling gives."""
        return not self.compiles or list(self.compiled.manifests) != list(self.recorder.stages[-1][1])

    def explain(self, options: Options) -> Explanation:
        """Explain the objects as they are in git, or will be; there are none if the job no longer compiles."""
        if self.compiles:
            rebuilt = self.recorder.explanation()
        else:
            rebuilt = Explanation(self.label, "", None, options.release or NEWEST_RELEASE, options.semantics, ())
        return as_in_file(rebuilt, self.compiled.manifests) if self.is_kept else rebuilt


def split_job(text: str) -> tuple[str, str | None]:
    """Split `PATH#[NAMESPACE/]NAME[#TRIAL]` into path and job, a trial under its own name; None if there is no job."""
    path, separator, job = text.rpartition("#")
    before, another, sweep = path.rpartition("#")
    trial = whole_number(job)
    if trial is not None and another and before and sweep:
        return before, trial_name(sweep, trial)
    return (path, job) if separator and path else (text, None)


def compile_one(  # noqa: PLR0913, PLR0917 - the last ones go by their names
    inputs: Inputs,
    requested: str | None,
    options: Options,
    rules: Rules = keep_severities,
    edit: Edit | None = None,
    keeping: Keeping | None = None,
) -> OneJob:
    """Compile the TrainJob that `requested` names as `NAMESPACE/NAME` or `NAME`; None selects the only one.

    `edit` modifies the job, in Trainer's own API, before compilation. `keeping` knows the jobs that are kept as built.
    Errors in unrelated documents are ignored. Raises CompileError if this job is refused, and NoSuchJobError if it does
    not exist.
    """
    session = _session(inputs, options, rules, keeping)
    input_diagnostics = rules([*inputs.diagnostics, *session.index.diagnostics], True)
    jobsets = [ValidDocument(jobset, jobset.data) for jobset in inputs.jobsets]
    job = _choose_job([*session.jobs, *jobsets], requested, input_diagnostics)
    if job in jobsets:
        raw, diagnostics = next(_raw(session, job.document))
        if raw is None:
            raise CompileError(diagnostics)
        return raw
    if duplicates := [d for d in input_diagnostics if (d.code, d.object) == ("DuplicateTrainJob", job.label)]:
        raise CompileError(duplicates)
    if edit is not None:
        job = replace(job, data=edit(job.data))
    recorder = Recorder()
    compiled, diagnostics = session.compile(job, recorder)
    if keeping is not None and has_errors(keeping.problems):
        raise CompileError(keeping.problems)
    if compiled is None:
        # The runtime may be missing only because its own document was refused.
        raise CompileError([*input_diagnostics, *diagnostics])
    if not compiled.manifests:
        raise NoSuchJobError(f"{job.label} has no objects: {'; '.join(d.message for d in diagnostics)}")
    return OneJob(compiled, recorder, sort_diagnostics(diagnostics), job.label)


def compile_every(
    inputs: Inputs, options: Options, rules: Rules = keep_severities, keeping: Keeping | None = None
) -> tuple[list[OneJob], list[Diagnostic], Session]:
    """Compile every TrainJob under observation; return them by (namespace, name), the other diagnostics, and the session.

    `keeping` knows the jobs that are kept as built. Jobs with errors are left out, and their errors are among the
    diagnostics. Raises CompileError with all problems if none is left, or if the errors are not about jobs alone.
    """
    session = _session(inputs, options, rules, keeping).after(None)
    kept_jobs, reported = session.kept_refused_jobs(rules([*inputs.diagnostics, *session.index.diagnostics], True))
    input_diagnostics, all_diagnostics = list(reported), list(reported)
    compiled = [OneJob(job, Recorder(), [], f"TrainJob {job.namespace}/{job.name}") for job in kept_jobs]
    for number, job in enumerate(session.jobs, start=1):
        recorder = Recorder()
        outcome, diagnostics = session.compile(job, recorder)
        session.count(number)
        all_diagnostics += diagnostics
        if outcome is not None and outcome.manifests:
            compiled.append(OneJob(outcome, recorder, sort_diagnostics(diagnostics), job.label))
        else:
            reported += diagnostics
    for raw, diagnostics in _raw(session):
        all_diagnostics += diagnostics
        compiled, reported = ([*compiled, raw], reported) if raw else (compiled, [*reported, *diagnostics])
    compiled.sort(key=lambda one: (one.compiled.namespace, one.compiled.name))
    reported += [] if keeping is None else rules(keeping.all_refused, False)
    problems = () if keeping is None else keeping.problems
    if has_errors([*all_diagnostics, *problems]):
        right = {(compiled_job.compiled.namespace, compiled_job.compiled.name) for compiled_job in compiled}
        failures = failures_of(session, inputs, input_diagnostics, right, problems)
        compiled = [compiled_job for compiled_job in compiled if not failures.concerns(compiled_job.compiled)]
        if failures.fatal or not compiled:
            raise CompileError([*all_diagnostics, *problems])
        reported.append(left_out_warning(failures))
    return compiled, sort_diagnostics(reported), session


def _session(inputs: Inputs, options: Options, rules: Rules, keeping: Keeping | None) -> Session:
    session = Session(options, inputs.catalog, place, rules, keeping=keeping, step=inputs.step, jobsets=inputs.jobsets)
    return session.with_input(inputs.documents, inputs.runtime_sources)


def _raw(session: Session, only: Document | None = None) -> Iterator[tuple[OneJob | None, list[Diagnostic]]]:
    """Yield each JobSet that is a source itself, None for one with errors, and what is found."""
    for document, (job, diagnostics) in outcomes_of(session):
        if only is None or only is document:
            jobset, raw = ValidDocument(document, document.data), None
            if job is not None:
                recorder = AsWritten(jobset, job.manifests[0], session.options)
                raw = OneJob(job, recorder, sort_diagnostics(diagnostics), jobset.label)
            yield raw, diagnostics


def _choose_job(
    jobs: Sequence[ValidDocument], requested: str | None, input_diagnostics: Sequence[Diagnostic]
) -> ValidDocument:
    matches = [job for job in jobs if requested is None or requested in _names(job)]
    if len(matches) == 1:
        return matches[0]
    if not matches and has_errors(input_diagnostics):
        raise CompileError(input_diagnostics)
    names = [_names(job)[0] for job in jobs]
    if not jobs:
        raise NoSuchJobError("there is no TrainJob in the input")
    if not matches:
        assert requested is not None
        first = trial_name(requested, 0)
        if any(first in _names(job) for job in jobs):
            trials = [name for name in names if name.rpartition("-")[0].endswith(first.rpartition("-")[0])]
            message = f"{requested} is a sweep of {counted(len(trials), 'trial')}; choose one with PATH#{requested}#0: {first_of(trials)}"
            raise NoSuchJobError(message)
        hint = did_you_mean(requested, [_names(job)["/" not in requested] for job in jobs])
        raise NoSuchJobError(f"there is no TrainJob {requested} in the input; {hint or 'it has ' + first_of(names)}")
    raise NoSuchJobError(f"the input has several TrainJobs; choose one with PATH#NAME: {first_of(names)}")


def _names(job: ValidDocument) -> tuple[str, str]:
    """The name with and without the namespace."""
    metadata = job.data["metadata"]
    name, namespace = metadata["name"], metadata.get("namespace", "")
    return (f"{namespace}/{name}", name) if namespace else (name, f"/{name}")
