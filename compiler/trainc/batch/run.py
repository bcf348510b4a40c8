"""A build of many job files: partition them, look them up in the cache, compile the rest, and check jobs against others.

The result is the same as that of compiling the input as a whole. If that is not certain, UnusualError tells the caller
to do that instead.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from trainc.batch.cache import Pack, tracked_by_git
from trainc.batch.context import Context, Shared, UnusualError, key_of
from trainc.batch.digest import digest_of
from trainc.batch.outcome import FileOutcome, Key, from_bytes
from trainc.batch.partition import Partition, partition
from trainc.batch.spool import Place, Spool
from trainc.batch.workers import compile_files
from trainc.emit.yaml_writer import Form, text_of
from trainc.findings import Diagnostic, format_path
from trainc.findings.policy import Rules
from trainc.lints.duplicate_subdomain import Claim, Services, claims_of
from trainc.lints.registry import lint_all_jobs
from trainc.options import Options
from trainc.pipeline.inputs import Step
from trainc.pipeline.session import Place as PlaceFindings
from trainc.pipeline.session import option_notes
from trainc.project.overlays.apply import Use
from trainc.project.overlays.load import Loaded
from trainc.reading.document import Document
from trainc.reading.files import Exclude, Walk
from trainc.reading.remembered import Remembered
from trainc.startup.records import dataclass, field


class Memory:
    """What a process that builds the same input repeatedly keeps between builds."""

    def __init__(self) -> None:
        self.input, self.output = Remembered(), Remembered()
        # The outcomes of the last build, by the digests of the shared files and of the file.
        self.outcomes: dict[tuple[bytes, bytes], tuple[bytes, FileOutcome]] = {}

    def forget(self, paths: Iterable[str]) -> None:
        """Forget files that have been written."""
        self.input.forget(paths)


@dataclass(frozen=True, slots=True)
class Request:
    """What to build, with paths as in `inputs.read_inputs`, and how. `cache` is a folder or None."""

    paths: Sequence[str]
    runtimes: Sequence[str]
    overlays: Sequence[Loaded]
    options: Options
    form: Form
    skip: str | None = None
    stdin: bytes = b""
    processes: int = 1
    cache: str | None = None
    exclude: Exclude = Exclude()
    memory: Memory | None = None


class JobText(NamedTuple):
    """A compiled job, the file from which it was read, and its part of the output."""

    namespace: str
    name: str
    text: bytes
    file: str


@dataclass(slots=True)
class _Job:
    place: Place
    claims: tuple[Claim, ...]
    source: str
    # None for a job in a shared file.
    file: str | None = None


@dataclass(slots=True)
class Batch:
    """A finished build. `documents` are those of the input that are shared; `count` is how many there are in all.

    `unsaved` is why the cache could not be written, if it could not. `files` are those with a TrainJob or runtime.
    """

    spool: Spool
    form: Form
    diagnostics: list[Diagnostic] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    count: int = 0
    jobs: dict[Key, _Job] = field(default_factory=dict)
    unsaved: OSError | None = None
    files: frozenset[str] = frozenset()

    def texts(self) -> Iterator[JobText]:
        """Yield all compiled jobs, sorted by (namespace, name)."""
        for key in sorted(self.jobs):
            job = self.jobs[key]
            yield JobText(*key, self.spool.read(job.place), job.source)


def run_batch(request: Request, spool: Spool, step: Step, place: PlaceFindings, rules: Rules) -> Batch:
    """Build the request. `place` and `rules` are those of a Session, and `step` is called with the progress.

    Raises UnusualError if the input has to be compiled as a whole.
    """
    overlay_files = frozenset(os.path.realpath(file) for overlay in request.overlays for file in overlay.resource_files)
    walk = Walk(request.skip, request.options.limits, request.exclude)
    remembered = Remembered() if request.memory is None or overlay_files else request.memory.input
    parts = partition(request.paths, walk, overlay_files, request.options.limits, step, remembered)
    overlays = tuple(overlay.overlay.document.file for overlay in request.overlays)
    shared = Shared(
        parts.others, request.stdin, tuple(request.runtimes), overlays, request.options, request.form,
        request.exclude, rules,
    )  # fmt: skip
    context = Context(shared, place)
    found = rules([*parts.diagnostics, *context.diagnostics], True)
    files = context.files.union(each.file for each in parts.job_files)
    batch = Batch(spool, request.form, found, context.documents, files=files)
    run = _Run(request, shared, context, batch)
    run.shared_jobs()
    run.job_files(parts, step)
    run.between_jobs()
    return batch


class _Run:
    def __init__(self, request: Request, shared: Shared, context: Context, batch: Batch) -> None:
        self._request = request
        self._shared = shared
        self._context = context
        self._batch = batch
        self._keys = [key_of(job) for job in context.session.jobs]
        self._read, self._left = context.documents_read, len(context.documents)
        self._uses: set[Use] = set()
        self._runtimes: set[str] = set()
        self._records: list[tuple[bytes, Place]] = []
        self._outcomes: dict[tuple[bytes, bytes], tuple[bytes, FileOutcome]] = {}

    def shared_jobs(self) -> None:
        """Compile the jobs in shared files, and collect the diagnostics of the input as a whole."""
        session, batch = self._context.session, self._batch
        batch.diagnostics += [*session.rules(option_notes(session.options), True), *session.diagnostics()]
        for key, job in zip(self._keys, session.jobs, strict=True):
            compiled, found = session.compile(job)
            batch.diagnostics += found
            if compiled is not None:
                text = text_of(compiled.manifests, self._request.form)
                batch.jobs[key] = _Job(batch.spool.keep(text), tuple(claims_of(compiled.manifests)), compiled.file)

    def job_files(self, parts: Partition, step: Step) -> None:
        """Take each job file's outcome from the cache, or compile the file and cache its outcome."""
        with ExitStack() as stack:
            pack = self._pack()
            if pack is not None:
                stack.callback(pack.close)
            missing: list[str] = []
            known = self._request.memory.outcomes if self._request.memory is not None else {}
            for file in parts.job_files:
                if (outcome := known.get((self._context.digest, file.digest))) is not None:
                    self._take_in(file.file, file.digest, *outcome)
                elif (content := pack.find(file.digest) if pack is not None else None) is not None:
                    self._take(file.file, file.digest, content)
                else:
                    missing.append(file.file)
            self._compile(missing, len(parts.job_files), step)
            if self._request.memory is not None:
                self._request.memory.outcomes = self._outcomes
            if pack is not None:
                self._store(pack, changed=bool(missing))

    def _compile(self, files: Sequence[str], total: int, step: Step) -> None:
        made = compile_files(files, self._shared, self._context, self._request.processes)
        for done, outcome in enumerate(made, total - len(files) + 1):
            self._take(*outcome)
            step("compiling", done, total)

    def between_jobs(self) -> None:
        """Check jobs against each other. Raises UnusualError if only the whole input can explain a problem."""
        context, batch = self._context, self._batch
        if self._read > self._request.options.limits.documents or any(
            d.code == "TooManyDocuments" for d in batch.diagnostics
        ):
            raise UnusualError("there are too many documents")
        if len(set(self._keys)) < len(self._keys):
            raise UnusualError("a TrainJob is defined twice")
        if context.stack is not None and context.stack.diagnostics(self._uses, sorted(self._runtimes)):
            raise UnusualError("the overlays have diagnostics")
        batch.count = self._left
        self._services()

    def _services(self) -> None:
        services: Services = {}
        for key, job in sorted(self._batch.jobs.items()):
            for finding in lint_all_jobs(job.claims, services, self._request.options):
                source = self._context.source_of(job.file, key)
                path = format_path(finding.path)
                found = Diagnostic(
                    finding.code, finding.severity, finding.message, finding.hint, finding.about, path, source
                )
                self._batch.diagnostics += self._shared.rules([found], False)

    def _pack(self) -> Pack | None:
        if self._request.cache is None:
            return None
        from trainc.batch.identity import trainc_digest

        if tracked_by_git(self._request.cache):
            reason = "git tracks files in it, so it was not read either; use a folder outside the repository"
            self._batch.unsaved = OSError(errno.EPERM, reason, self._request.cache)
            return None
        return Pack(self._request.cache, digest_of(trainc_digest(self._request.options.plugins), self._context.digest))

    def _take(self, file: str, digest: bytes, content: bytes) -> None:
        self._take_in(file, digest, content, from_bytes(content))

    def _take_in(self, file: str, digest: bytes, content: bytes, outcome: FileOutcome) -> None:
        batch = self._batch
        place = batch.spool.keep(content)
        at = place.at + len(content) - sum(len(job.text) for job in outcome.jobs)
        for job in outcome.jobs:
            batch.jobs[job.key] = _Job(Place(at, len(job.text)), job.claims, file, file)
            at += len(job.text)
        batch.diagnostics += outcome.diagnostics
        self._keys += outcome.keys
        self._read += outcome.documents[0]
        self._left += outcome.documents[1]
        self._uses.update(outcome.uses)
        self._runtimes.update(outcome.runtimes)
        if not outcome.refused:
            self._records.append((digest, place))
            self._outcomes[self._context.digest, digest] = content, outcome

    def _store(self, pack: Pack, *, changed: bool) -> None:
        if not changed:
            pack.touch()
            return
        try:
            pack.save((digest, self._batch.spool.read(place)) for digest, place in self._records)
        except OSError as error:
            self._batch.unsaved = error
