"""One job's mistake is that job's: what the errors of an input concern, and whether the rest can be trusted."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from trainc.compilation import CompiledJob
from trainc.findings import Diagnostic
from trainc.findings.codes import stage_of
from trainc.findings.text import counted, first_of
from trainc.kube.documents import identity_of, qualified
from trainc.kube.names import JOB_KINDS, RUNTIME_KINDS
from trainc.options import Limits
from trainc.pipeline.index import referenced_key
from trainc.pipeline.inputs import Inputs
from trainc.pipeline.session import Session
from trainc.reading.document import label_of
from trainc.reading.opening import read_file
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, field

_RUNTIME = pattern(rb"(?m)^kind:[ \t]*[\"']?(?:Cluster)?TrainingRuntime\b")
# With these it is uncertain what a job gets, whatever else is right.
_UNCERTAIN = frozenset(("DuplicateRuntime", "RuntimeReplaced", "TooManyDocuments"))


@dataclass(slots=True)
class Failures:
    """What has errors, and what that affects.

    - `jobs` are the TrainJobs with errors, by namespace and name, and `files` the sources of which some job may be missing.
    - `fatal` are errors because of which no manifest can be trusted: those of settings, overlays, and files that may have
      runtimes but cannot be read.
    - `prunes` says whether the other sources are complete enough to tell which jobs have ended.
    """

    jobs: set[tuple[str, str]] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    fatal: list[Diagnostic] = field(default_factory=list)
    prunes: bool = True

    def __bool__(self) -> bool:
        return bool(self.jobs or self.files or self.fatal)

    def concerns(self, job: CompiledJob) -> bool:
        """Return whether a job that was compiled has errors all the same."""
        return (job.namespace, job.name) in self.jobs

    @property
    def sentence(self) -> str:
        """What is left out."""
        names = sorted(qualified(*job) for job in self.jobs)
        if names:
            verb = "is" if len(names) == 1 else "are"
            return f"{counted(len(names), 'job')} with errors {verb} left out: {first_of(names)}"
        return f"the jobs of {first_of(sorted(self.files))} are left out, because of errors"


def failures_of(
    session: Session,
    inputs: Inputs,
    input_diagnostics: Iterable[Diagnostic],
    compiled: Collection[tuple[str, str]],
    joint_diagnostics: Iterable[Diagnostic] = (),
) -> Failures:
    """Return what the errors of an input concern.

    `input_diagnostics` are about the input as a whole, `compiled` the jobs that came out without errors, and
    `joint_diagnostics` about several jobs together, such as the budget of a sweep.
    """
    failures = Failures(files=set(inputs.failed_sweeps))
    for document in session.index.refused_jobs:
        failures.jobs.add(identity_of(document.data, session.options.namespace))
        failures.files.add(document.file)
    for job in session.jobs:
        # A job with the runtime of another source, because its own was refused, would be another job.
        if job.key not in compiled or referenced_key(job.data) in session.index.refused:
            failures.jobs.add(job.key)
            failures.files.add(job.document.file)
    keys = [(identity_of(jobset.data, session.options.namespace), jobset.file) for jobset in session.jobsets]
    failures.jobs |= {key for key, _ in keys if key not in compiled}
    failures.files |= {file for key, file in keys if key not in compiled}
    for error in input_diagnostics:
        if error.severity == "error":
            _add_error(failures, error, session, inputs)
    for error in joint_diagnostics:
        if error.severity == "error":
            file = "" if error.source is None else error.source.file
            if file not in inputs.sweeps:
                failures.fatal.append(error)
            failures.files.add(file)
            failures.jobs |= {job.key for job in session.jobs if job.document.file == file}
    return failures


def _add_error(failures: Failures, error: Diagnostic, session: Session, inputs: Inputs) -> None:
    """Add what an error about the input as a whole concerns."""
    file = "" if error.source is None or error.source.origin != "file" else error.source.file
    failures.jobs |= {job.key for job in session.jobs if job.label == error.object}
    homes = {d.file for d in session.index.refused_jobs if label_of(d.data) == error.object}
    if stage_of(error.code) == "sweep" and (inputs.failed_sweeps or file in inputs.sweeps):
        # The error may be at the base; the files of trials name the sweep.
        failures.files |= {file} & inputs.sweeps
    elif homes:
        failures.prunes &= file in homes
    elif error.code in _UNCERTAIN or not file:
        failures.fatal.append(error)
    elif error.object.partition(" ")[0] in RUNTIME_KINDS:
        failures.prunes = False
    elif (file in inputs.unread and not may_have_runtime(file, session.options.limits)) or (
        file not in inputs.unread
        and any(d.file == file and d.data.get("kind") in JOB_KINDS for d in inputs.all_documents)
    ):
        failures.files.add(file)
    else:
        failures.fatal.append(error)


def left_out_warning(failures: Failures) -> Diagnostic:
    """Return the warning that names what is left out."""
    return Diagnostic("LeftOut", "warning", failures.sentence, "fix the errors")


def may_have_runtime(file: str, limits: Limits) -> bool:
    """Return whether a file that cannot be parsed may have a runtime, instead of which another one would be used."""
    try:
        data = read_file(file, limits.file_bytes)
    except OSError:
        return True
    if data.lstrip().startswith(b"{") or b"List" in data:
        return b"TrainingRuntime" in data
    return _RUNTIME.search(data) is not None
