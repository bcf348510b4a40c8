"""The context that all job files of a run share, and the compilation of one job file in it.

The outcome of a job file is a function of its name, its content and the context: trainc, the options, the form of the
output, the overlays, and the content of all other files of the input except job files. Problems between two job files
are found later, from their outcomes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from trainc.batch.digest import digest_of
from trainc.batch.outcome import FileOutcome, JobOutcome, Key
from trainc.emit.yaml_writer import Form, text_of
from trainc.findings import Diagnostic, Source, has_errors
from trainc.findings.policy import Policy, Rules
from trainc.kube.releases import NEWEST_RELEASE
from trainc.lints.duplicate_subdomain import claims_of
from trainc.options import Limits, Options
from trainc.pipeline.inputs import files_of_ours
from trainc.pipeline.session import Place, Session
from trainc.pipeline.valid_document import ValidDocument
from trainc.project.dialects import is_trainer_document
from trainc.project.overlays.load import Loaded, Passed, Stack, load_overlays, values_of
from trainc.reading import opening
from trainc.reading.catalog import Catalog, find
from trainc.reading.document import Document
from trainc.reading.files import Exclude, Texts, read_file, read_paths
from trainc.startup.records import dataclass


class UnusualError(Exception):
    """The job files of the input cannot be compiled separately; the input must be compiled as a whole."""


@dataclass(frozen=True, slots=True)
class Shared:
    """The names of everything that job files share, so that each process can read it.

    `files` are the input's other files, in order, where `-` is `stdin`. `overlays` are files.
    """

    files: tuple[str, ...]
    stdin: bytes
    runtimes: tuple[str, ...]
    overlays: tuple[str, ...]
    options: Options
    form: Form
    exclude: Exclude = Exclude()
    rules: Rules = Policy()


class Context:
    """Everything that job files share, after reading. `digest` covers all of it except trainc itself."""

    def __init__(self, shared: Shared, place: Place) -> None:
        self.options, self._form, self.place = shared.options, shared.form, place
        self._rules = shared.rules
        overlays, problems = load_overlays(shared.overlays, self.options.limits) if shared.overlays else ([], [])
        if has_errors(problems):
            raise UnusualError("the overlays have changed")
        self._values: Mapping[str, Any] = values_of(overlays) if overlays else {}
        texts: Texts = []
        documents, self.diagnostics = self._read(shared, texts)
        self.documents_read = len(documents)
        sources: list[list[Document]] = []
        for folder in (*shared.runtimes, *(path for overlay in overlays for path in overlay.all_runtimes)):
            texts.append((folder, b""))
            found, problems = read_paths(
                [folder], self.options.limits, values=self._values, texts=texts, exclude=shared.exclude
            )
            sources.append(found)
            self.diagnostics += problems
        self.files = files_of_ours(documents, *sources)
        self._take_in(overlays, documents, sources)
        read = [part for overlay in overlays for part in overlay.texts]
        self.digest = digest_of(repr(shared), *(piece for part in ((*read, *texts)) for piece in part))

    def _read(self, shared: Shared, texts: Texts) -> tuple[list[Document], list[Diagnostic]]:
        documents: list[Document] = []
        diagnostics: list[Diagnostic] = []
        for file in shared.files:
            data = shared.stdin if file == "-" else read_bytes(file, self.options.limits)
            texts.append((file, data))
            found, problems = read_file(data, file, self.options.limits, self._values)
            documents += found
            diagnostics += problems
        return documents, diagnostics

    def _take_in(
        self, overlays: Sequence[Loaded], documents: list[Document], sources: Sequence[Sequence[Document]]
    ) -> None:
        self.stack: Stack | None = None
        catalog: Catalog = find
        if overlays:
            overlay_files = {os.path.realpath(file) for overlay in overlays for file in overlay.resource_files}
            documents = [d for d in documents if os.path.realpath(d.file) not in overlay_files]
            self.stack = Stack(overlays, documents, sources, find, self.options.release or NEWEST_RELEASE)
            documents, sources, catalog = self.stack.documents, self.stack.sources, self.stack.catalog
        self.documents = documents
        self.session = Session(self.options, catalog, self.place, self._rules).with_input(documents, sources)

    def compile_file(self, file: str, data: bytes) -> FileOutcome:
        """Compile a job file. Raises UnusualError if it is not one."""
        documents, diagnostics = read_file(data, file, self.options.limits, self._values)
        passed = self._pass(documents)
        session = self._session(file, passed)
        diagnostics = [*self._rules(diagnostics, True), *session.diagnostics()]
        jobs: list[JobOutcome] = []
        for job in session.jobs:
            compiled, found = session.compile(job)
            diagnostics += found
            if compiled is not None:
                text = text_of(compiled.manifests, self._form)
                jobs.append(JobOutcome(key_of(job), text, compiled.secrets, tuple(claims_of(compiled.manifests))))
        keys = tuple(map(key_of, session.jobs))
        counts, uses = (len(documents), len(passed.documents)), tuple(sorted(passed.uses))
        return FileOutcome(counts, keys, tuple(jobs), tuple(diagnostics), uses, passed.runtimes)

    def source_of(self, file: str | None, key: Key) -> Source | None:
        """Return the position of a job's name, in a job file or in a shared file."""
        session = self.session
        if file is not None:
            documents, _ = read_file(read_bytes(file, self.options.limits), file, self.options.limits, self._values)
            session = self._session(file, self._pass(documents))
        return next((job.locate(("metadata", "name")) for job in session.jobs if key_of(job) == key), None)

    def _pass(self, documents: Sequence[Document]) -> Passed:
        if self.stack is None:
            return Passed(list(documents), frozenset(), (), failed=False)
        return self.stack.more(documents)

    def _session(self, file: str, passed: Passed) -> Session:
        if passed.failed:
            raise UnusualError(f"a patch cannot be applied to {file}")
        if not all(
            document.data.get("kind") == "TrainJob" and is_trainer_document(document.data)
            for document in passed.documents
        ):
            raise UnusualError(f"{file} has documents other than TrainJobs")
        return self.session.with_jobs(passed.documents)


def read_bytes(file: str, limits: Limits) -> bytes:
    """Return the content of a file. Raises UnusualError if it cannot be read."""
    try:
        return opening.read_file(file, limits.file_bytes)
    except OSError as error:
        raise UnusualError(str(error)) from None


def key_of(job: ValidDocument) -> Key:
    """Return the namespace and name of a job."""
    metadata = job.data["metadata"]
    return metadata.get("namespace", ""), metadata.get("name", "")
