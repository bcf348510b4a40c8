"""One environment of trainc.yaml as an editor has it open: what was read once, and what a file of it comes to.

A job is compiled with the runtimes of all files and without their jobs, so that an answer takes no longer where there
are a thousand of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from itertools import islice
from typing import Any

from trainc.admission.admit import check_rendered
from trainc.api.releases import NEWEST_RELEASE
from trainc.cli.compiling import judge_of, skipped_documents
from trainc.cli.neighbours import Neighbours, compile_among
from trainc.cli.settings import Settings
from trainc.diagnostics import Diagnostic
from trainc.diagnostics.policy import Policy
from trainc.dialects import is_trainer_document
from trainc.explain import place
from trainc.lsp.snapshot import Built
from trainc.overlays.loaded import values_of
from trainc.overlays.stack import Stack
from trainc.pipeline.dry_run import check_fragments, check_runtime, smallest_job
from trainc.pipeline.resolve import Key
from trainc.pipeline.session import Session
from trainc.reading.catalog import find
from trainc.reading.document import Document
from trainc.reading.files import read_file, read_paths
from trainc.startup.records import replace

_JOB_KINDS = ("TrainJob", "TrainingJob")
# How many of the jobs that use a runtime are compiled while the runtime is edited.
_MOST_USERS = 8


class Opened:
    """One environment, read as `trainc check` reads it."""

    def __init__(self, name: str, settings: Settings, neighbours: Neighbours) -> None:
        self.name = name
        self.settings = settings
        self._neighbours = neighbours
        overlays, limits = settings.overlays, settings.options.limits
        self._values: Mapping[str, Any] = values_of(overlays) if overlays else {}
        exclude = settings.configuration.exclude
        documents, _ = read_paths(settings.paths, limits, values=self._values, exclude=exclude)
        self._sources: list[list[Document]] = []
        for folder in (*settings.runtimes, *(path for overlay in overlays for path in overlay.all_runtimes)):
            found, _ = read_paths([folder], limits, values=self._values, exclude=exclude)
            self._sources.append(found)
        overlay_files = {os.path.realpath(file) for overlay in overlays for file in overlay.resource_files}
        self._documents = [document for document in documents if os.path.realpath(document.file) not in overlay_files]
        self._shared: tuple[Session, Stack | None] | None = None

    @property
    def documents(self) -> list[Document]:
        """Every document as written, including those from overlays."""
        resources = [d for overlay in self.settings.overlays for one in overlay.in_order for d in one.resources]
        return [*self._documents, *resources, *(document for source in self._sources for document in source)]

    @property
    def files_of_overlays(self) -> set[str]:
        """The real paths of overlays, their patches and their resources."""
        return {os.path.realpath(path) for overlay in self.settings.overlays for path, _ in overlay.texts}

    def read(self, file: str, data: bytes) -> tuple[list[Document], list[Diagnostic]]:
        """The documents in a file, and the errors in its text."""
        return read_file(data, file, self.settings.options.limits, self._values)

    def with_file(self, file: str, found: Sequence[Document]) -> Opened:
        """A copy with different documents in one file, which is appended if it was not read before."""
        before = [document for document in self.documents if document.file == file]
        if all(map(_is_job, (*before, *found))):
            self._session()  # Created here so that the copies share it.
            shared = self._shared
        else:
            shared = None
        other = copy(self)
        other.__dict__ |= {
            "_documents": [*_replaced(self._documents, file, found), *(() if before else found)],
            "_sources": [list(_replaced(source, file, found)) for source in self._sources],
            "_shared": shared,
        }
        return other

    def learn(self) -> bool:
        """Learn the claims of some more jobs; return whether all are known. Skipped for overlays, which change jobs."""
        session, stack = self._session()
        jobs = [document for document in self._documents if _is_job(document)] if stack is None else []
        around = [document for document in self.documents if not _is_job(document)]
        return self._neighbours.learn(session, jobs, around)

    def build(self, file: str) -> tuple[Built, list[Diagnostic]]:
        """Compile the jobs and runtimes of a file; return them with the diagnostics, of any file."""
        rules = self.settings.policy()
        shared, stack = self._session()
        own = [document for document in self.documents if document.file == file]
        jobs = [*self._jobs_with(own), *self._users_of(own)]
        if stack is not None:
            others = [document for document in stack.documents if document.file == file and _is_job(document)]
            jobs = [*stack.more(jobs).documents, *others]
        session = replace(shared.with_jobs(jobs), rules=rules)
        found = rules((d for d in shared.index.diagnostics if d.source and d.source.file == file), True)
        found += session.diagnostics()
        compiled, more = compile_among(session, self._neighbours)
        found += [*more, *self._about_others(file, session, rules)]
        mine = tuple(job for job in compiled if job.file == file)
        return Built(self.name, self._with_a_job(session, file), mine), found

    def _session(self) -> tuple[Session, Stack | None]:
        """The session for everything except jobs, reused until that changes."""
        if self._shared is None:
            settings = self.settings
            options, stack = settings.options, None
            documents, sources, catalog = [d for d in self._documents if not _is_job(d)], self._sources, find
            if settings.overlays:
                stack = Stack(settings.overlays, documents, sources, find, options.release or NEWEST_RELEASE)
                documents, sources, catalog = stack.documents, stack.sources, stack.catalog
                documents = [document for document in documents if not _is_job(document)]
            judge, _ = judge_of(settings, self._documents)
            self._shared = Session.of(documents, sources, options, catalog, place, judge=judge), stack
        return self._shared

    def _jobs_with(self, own: Sequence[Document]) -> list[Document]:
        """The jobs of a file and those in others with the same names, in input order."""
        names = {_name(document) for document in own if _is_job(document)}
        return [document for document in self._documents if _is_job(document) and _name(document) in names]

    def _users_of(self, own: Sequence[Document]) -> list[Document]:
        """Some of the jobs that use a runtime of this file."""
        mine = {_name(document) for document in own if _is_job(document)}
        runtimes = [document for document in own if is_trainer_document(document.data) and not _is_job(document)]
        keys = {_key(document.data.get("kind"), document, _name(document)) for document in runtimes}
        using = (d for d in self._documents if _is_job(d) and _reference(d) in keys and _name(d) not in mine)
        return list(islice(using, _MOST_USERS if keys else 0))

    def _about_others(self, file: str, session: Session, rules: Policy) -> list[Diagnostic]:
        """Diagnostics about unused runtimes, fragments, rendered JobSets, and everything else."""
        own = [document for document in self.documents if document.file == file]
        found: list[Diagnostic] = []
        # A refused job does not use its runtime; jobs of other files are assumed to be valid.
        used = {_reference(document) for document in self._documents if _is_job(document) and document.file != file}
        used |= {_reference(job.document) for job in session.jobs}
        for runtime in session.index.runtimes.values():
            home = runtime.document
            if home.file == file and _key(home.data["kind"], home, _name(home)) not in used:
                found += check_runtime(runtime, session)
        options = self.settings.options
        found += rules(check_fragments(own, options), False)
        if any(document.data.get("kind") == "JobSet" for document in own):
            found += rules(check_rendered(self._documents, options), False)
        return found + rules(skipped_documents(own, self.settings, checks_fragments=True), True)

    def _with_a_job(self, session: Session, file: str) -> Session:
        """The session, plus a minimal job if the file has a runtime that no job uses."""
        runtime = next((r for r in session.index.runtimes.values() if r.document.file == file), None)
        if session.jobs or runtime is None:
            return session
        return session.with_jobs([Document.of(smallest_job(runtime, session.options))])


def _replaced(source: Sequence[Document], file: str, found: Sequence[Document]) -> Iterator[Document]:
    """The documents of a source, with those of one file replaced."""
    placed = False
    for document in source:
        if document.file != file:
            yield document
        elif not placed:
            placed = True
            yield from found


def _is_job(document: Document) -> bool:
    return document.data.get("kind") in _JOB_KINDS and is_trainer_document(document.data)


def _name(document: Document) -> Any:
    metadata = document.data.get("metadata")
    return metadata.get("name") if isinstance(metadata, dict) else None


def _reference(document: Document) -> Key | None:
    """The runtime that a job refers to."""
    spec = document.data.get("spec")
    reference = spec.get("runtimeRef") if isinstance(spec, dict) else None
    if not isinstance(reference, dict):
        return None
    return _key(reference.get("kind") or "ClusterTrainingRuntime", document, reference.get("name"))


def _key(kind: Any, document: Document, name: Any) -> Key:
    metadata = document.data.get("metadata")
    namespace = metadata.get("namespace") if isinstance(metadata, dict) and kind != "ClusterTrainingRuntime" else ""
    return str(kind), str(namespace or ""), str(name)
