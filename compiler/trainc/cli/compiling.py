"""What `build` and `check` share: settings, inputs, and every job compiled, one at a time."""

from __future__ import annotations

import os.path
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, cast

from trainc.cli.command import Arguments, Streams, UsageError
from trainc.cli.diagnostics import Files
from trainc.cli.settings import Settings
from trainc.compilation import CompiledJob
from trainc.explain import place
from trainc.features import added
from trainc.findings import Diagnostic, Finding, Severity, has_errors
from trainc.findings.text import counted
from trainc.kube.documents import Json
from trainc.kube.names import JOB_KINDS
from trainc.pipeline.inputs import Inputs, Step, Tally
from trainc.pipeline.session import Judge, Session
from trainc.project.dialects import is_sweep
from trainc.reading.document import Document, label_of
from trainc.reading.files import STDIN
from trainc.reading.opening import CONFIGURATION_FILE, read_bounded
from trainc.startup.records import dataclass, field

if TYPE_CHECKING:
    from trainc.emit.yaml_writer import Form
    from trainc.output.keeping import Keeping
    from trainc.pipeline.failures import Failures
    from trainc.pipeline.fragments import Fragment
    from trainc.project.dialects.enclosed import Enclosed


_MOST_SKIPPED = 100
# Kinds of other documents that a compilation or a check reads.
_USED_KINDS = ("ClusterBaseModel", "JobSet", "SealedSecret")


# Kinds of the core API and others that usually accompany jobs in a team's folder.
_COMPANION_GROUPS = frozenset(
    ("", *"rbac.authorization.k8s.io kueue.x-k8s.io scheduling.k8s.io storage.k8s.io networking.k8s.io policy".split())
)


@dataclass(slots=True)
class Run:
    """A compilation in progress: what was read, and the diagnostics so far."""

    settings: Settings
    inputs: Inputs
    session: Session
    files: Files
    diagnostics: list[Diagnostic] = field(default_factory=list)
    tally: Tally | None = None
    keeping: Keeping | None = None
    compiled: int = 0
    # The TrainJobs and sweeps that no environment selects.
    unselected: list[Document] = field(default_factory=list)
    # What was found about the input as a whole and about all jobs together, and the jobs that compile.
    _about_input: list[Diagnostic] = field(default_factory=list)
    _later: list[Diagnostic] = field(default_factory=list)
    _right: set[tuple[str, str]] = field(default_factory=set)

    @property
    def documents(self) -> int:
        """The number of documents."""
        return len(self.inputs.documents)

    def texts(self, form: Form) -> Iterator[tuple[str, str, bytes, str]]:
        """(namespace, name, output, file) of every job that compiles, or is kept as built."""
        from trainc.emit.yaml_writer import text_of

        for job in self.jobs():
            rendered = None if self.keeping is None else self.keeping.rendered.get((job.namespace, job.name))
            text = text_of(job.manifests, form) if rendered is None else rendered.text.encode()
            yield job.namespace, job.name, text, job.file

    def jobs(self) -> Iterator[CompiledJob]:
        """Every job that compiles or is kept as built, ordered by (namespace, name), as it will be in git.

        Errors in the others are added to `diagnostics`.
        """
        for number, (job, diagnostics) in enumerate(self.session.compile_each()):
            if number == 0:
                self._about_input = [*self.diagnostics, *diagnostics]
            elif job is not None and not has_errors(diagnostics):
                self._right.add((job.namespace, job.name))
            self.diagnostics += diagnostics if self.tally is None else self.tally.without_repetitions(diagnostics)
            if job is not None:
                self.compiled += 1
                if self.tally is not None:
                    self.tally.add(job)
                yield job
        self._later = [] if self.tally is None else self.session.rules(self.tally.diagnostics(), True)
        self._later += [] if self.keeping is None else self.keeping.diagnostics()
        self.diagnostics += self._later

    def failures(self) -> Failures:
        """What the errors concern, once all jobs are compiled."""
        from trainc.pipeline.failures import failures_of

        return failures_of(self.session, self.inputs, self._about_input, self._right, self._later)

    def as_built(self) -> list[Diagnostic]:
        """What has changed since jobs were built that are kept as they are, once all jobs are compiled."""
        if self.keeping is None or not self.keeping.kept_files or self.keeping.problems:
            return []
        from trainc.cli.kept import causes_of

        return self.session.rules([cause.diagnostic() for cause in causes_of(self.session, self.keeping)], False)


def read_stdin(settings: Settings, streams: Streams) -> bytes:
    """Read standard input if requested. It is kept, because a diagnostic may quote a line of it."""
    return read_bounded(streams.stdin, settings.options.limits.file_bytes) if STDIN in settings.paths else b""


def start(  # noqa: PLR0913 - all but three go by their names
    settings: Settings,
    stdin: bytes,
    skip: str | None = None,
    *,
    checks_fragments: bool = False,
    step: Step | None = None,
    cluster: Iterable[Json] = (),
    output: str | None = None,
    choices: Arguments | None = None,
    extra: Sequence[Document] = (),
) -> Run:
    """Read the input of a command without entering the folder `skip`. Some commands handle fragments themselves.

    `step` receives the progress of reading and compiling. `cluster`
    are objects of the cluster by which pods are judged. Jobs whose rendered file in the folder `output` is kept as built
    count as they are in that file; a build has `choices`. `extra` documents count as read.
    """
    inputs = settings.read(BytesIO(stdin), skip, step, extra=extra)
    files = Files(stdin)
    rules = settings.policy(files.text)
    judge, problems = judge_of(settings, inputs.documents)
    keeping = kept_in(output, settings, inputs.documents, choices)
    hold = None if keeping is None else keeping.hold
    quiet = choices is not None and choices.quiet and not choices.strict and not rules.raises
    session = Session(settings.options, inputs.catalog, place, rules, judge, cluster, hold, quiet, inputs.step)
    session = session.with_input(inputs.documents, inputs.runtime_sources)
    skipped = skipped_documents(inputs.documents, settings, checks_fragments=checks_fragments)
    diagnostics = rules([*inputs.diagnostics, *problems, *skipped], True)
    return Run(settings, inputs, session, files, diagnostics, inputs.tally, keeping)


def report_unselected(runs: Sequence[Run]) -> None:
    """Note in each run the TrainJobs that no environment selects, whichever are built now, and warn about them."""
    chosen = {_identity(document) for run in runs for document in run.inputs.documents}
    # A trial has the file of its sweep.
    chosen |= {(document.file, "Sweep") for run in runs for document in run.inputs.documents}
    unselected = [document for run in runs for document in run.inputs.unselected]
    left_out = {identity: document for document in unselected if (identity := _identity(document)) not in chosen}
    message = "no environment of trainc.yaml selects this job, so nothing is compiled of it"
    if not runs[0].settings.configuration.environment:
        message = "`select` in trainc.yaml does not select this job, so it is not compiled"
    hint = "change its queue, labels or namespace, extend `select`, or list the file under `exclude`"
    finding = Finding("NotSelected", "warning", message, hint, ("metadata", "name"))
    diagnostics = [document.diagnose(finding) for document in left_out.values()]
    for run in runs:
        run.unselected = list(left_out.values())
        run.diagnostics += run.session.rules(diagnostics, False)


def _identity(document: Document) -> object:
    data = (document.before or document).data
    return document.file, "Sweep" if is_sweep(data) else label_of(data)


def kept_in(
    folder: str | None, settings: Settings, documents: Sequence[Document], choices: Arguments | None = None
) -> Keeping | None:
    """Who decides which files of an output folder are kept as built; None if trainc.yaml has all jobs rebuilt."""
    if folder is None or settings.configuration.rebuild != "changed-jobs":
        return None
    from trainc.cli.kept import keeping_in

    return keeping_in(folder, settings, documents, choices)


def judge_of(settings: Settings, documents: Sequence[Document]) -> tuple[Judge | None, list[Diagnostic]]:
    """Load the policies that trainc.yaml names, and what it says about images."""
    policies, problems = _policies(settings, documents)
    images = settings.configuration.images
    if not images:
        return policies, problems
    from trainc.project.boundaries import check_images

    return lambda manifests: [
        *check_images(manifests, images),
        *(() if policies is None else policies(manifests)),
    ], problems


def _policies(settings: Settings, documents: Sequence[Document]) -> tuple[Judge | None, list[Diagnostic]]:
    folders = settings.configuration.policies
    if not folders:
        return None, []
    for load in added("judge"):
        return cast("tuple[Judge | None, list[Diagnostic]]", load(folders, documents, settings.options))
    raise UsageError("trainc.yaml sets `policies`, which this installation of trainc cannot evaluate")


def nothing_found(
    settings: Settings, diagnostics: Sequence[Diagnostic], documents: int, unselected: int = 0
) -> list[Diagnostic]:
    """The error for input without anything to process, unless other errors already explain why."""
    if has_errors(diagnostics):
        return []
    sources = ["the standard input" if path == STDIN else path for path in settings.paths]
    paths = ", ".join(sources) or "the overlay's resources"
    is_empty = documents == 0 and len(sources) == 1 and not os.path.isdir(sources[0])
    reason = f"no TrainJob found in {paths}{', which is empty or has only comments' if is_empty else ''}"
    hint = "pass the file or folder with your TrainJobs, write a first one with `trainc new`"
    if unselected:
        reason = f"`select` chooses none of the {counted(unselected, 'TrainJob')} in {paths}"
        hint = "check `select` in trainc.yaml"
    message = f"{reason}; with pruning on, empty output would delete every running job"
    return [Diagnostic("NoTrainJob", "error", message, f"{hint}, or allow this with --allow-empty")]


def is_checked(document: Document) -> bool:
    """Return whether `check` examines this document."""
    from trainc.project.dialects import is_trainer_document

    if is_trainer_document(document.data) or document.data.get("kind") in _USED_KINDS:
        return True
    from trainc.pipeline.fragments import fragment_of

    return fragment_of(document) is not None


def skipped_documents(
    documents: Sequence[Document], settings: Settings, *, checks_fragments: bool = False
) -> Iterator[Diagnostic]:
    """Report documents that are not compiled: a warning for each if the file was named, a single info for the others.

    Of many in one file, only the first get a warning: to place one, its text is read again.
    """
    from trainc.project.dialects import is_legacy, is_trainer_document

    named_files = {path.removeprefix("./") for path in settings.paths}
    has_jobs = any(document.data.get("kind") in JOB_KINDS for document in documents)
    skipped, reported = 0, Counter[str]()
    with_jobs = {document.file for document in documents if is_trainer_document(document.data)}
    for document in documents:
        if is_trainer_document(document.data) or is_sweep(document.data) or document.data.get("kind") in _USED_KINDS:
            continue
        # Needed for skipped documents only.
        from trainc.pipeline.fragments import fragment_of
        from trainc.project.dialects.enclosed import find_enclosed, legacy_job

        if is_legacy(document.data):
            yield legacy_job(document, "warning" if has_jobs else "error")
            continue
        if document.file.rpartition("/")[2] == CONFIGURATION_FILE and "kind" not in document.data:
            continue
        if inside := list(find_enclosed(document.data)):
            yield from (_enclosed(document, job, "warning" if has_jobs else "error") for job in inside)
            continue
        fragment = fragment_of(document)
        if fragment is not None and checks_fragments:
            continue
        unexpected = document.file in named_files and not (document.file in with_jobs and _is_expected_kind(document))
        if unexpected and reported[document.file] < _MOST_SKIPPED:
            reported[document.file] += 1
            yield _skipped(document, fragment)
        else:
            skipped += 1
    if skipped:
        yield Diagnostic("SkippedDocument", "info", f"skipped {counted(skipped, 'document')} of other kinds")


def _enclosed(document: Document, job: Enclosed, severity: Severity) -> Diagnostic:
    """Report a job inside another document: one of v1 as `legacy_job` does, any other as not looked at."""
    outer = document.data.get("kind", "document")
    if job.is_legacy:
        message = f"the {job.kind} inside this {outer} belongs to the Training Operator or MPI Operator; trainc compiles TrainJobs only"
        hint = f"`trainc migrate --report {document.file or '-'}` says what becomes of it"
        return document.diagnose(Finding("LegacyTrainingJob", severity, message, hint, job.path))
    message = f"the {job.kind} inside this {outer} is neither compiled nor checked"
    hint = "to check it, copy it to a file of its own and run `trainc check` on that"
    return document.diagnose(Finding("SkippedDocument", "info", message, hint, job.path))


def _is_expected_kind(document: Document) -> bool:
    """Return whether a kind commonly appears next to a TrainJob: claims, configuration, service accounts, queues."""
    group = str(document.data.get("apiVersion") or "").rpartition("/")[0]
    return group in _COMPANION_GROUPS and "kind" in document.data


def _skipped(document: Document, fragment: Fragment | None) -> Diagnostic:
    if fragment is not None:
        message = f"this is {fragment.label}, not a complete document; skipped"
        hint = "nest it inside a complete TrainJob or runtime, or run `trainc check` on the fragment"
        return Diagnostic("Fragment", "warning", message, hint, fragment.label, "", document.locate(()))
    message = "neither a TrainJob nor a runtime; skipped"
    source = document.locate(("kind",))
    hint = "remove it from the paths on the command line"
    return Diagnostic("SkippedDocument", "warning", message, hint, label_of(document.data), "", source)
