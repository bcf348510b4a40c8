"""A folder as an editor has it open: what `trainc check` would say there of a file, with the texts not saved yet.

Everything is read once, and again when something on the disk or in the settings has changed; a key press reads one file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from typing import Any

from trainc.api.releases import NEWEST_RELEASE
from trainc.api.schema.editor_schema import DIALECT, json_schema
from trainc.api.schema.shapes import ROOTS
from trainc.cli.cluster import judge_jobs
from trainc.cli.command import Arguments, UsageError
from trainc.cli.configuration import FILE_NAME
from trainc.cli.configuration_keys import configuration_schema
from trainc.cli.environments import environment_name, environments_of, merge_diagnostics
from trainc.cli.neighbours import Neighbours
from trainc.cli.opened import Opened
from trainc.cli.settings import settings_of
from trainc.compilation import CompiledJob
from trainc.diagnostics import CompileError, Diagnostic, has_errors
from trainc.fits.answer import Fit
from trainc.lsp.snapshot import Built, Snapshot
from trainc.overlays.editor_schema import overlay_schema
from trainc.overlays.load import load_overlays
from trainc.reading.document import Document
from trainc.reading.encoding import encode
from trainc.reading.file_filter import is_unrelated
from trainc.reading.files import OVERLAY_FILE, TEMPLATE_SUFFIXES, read_paths, shown_path
from trainc.reading.git_tree import commit_of, find_changed_files, repository_of
from trainc.reading.ignores import check_ignores, ignores_of
from trainc.reading.opening import read_file, unsaved

Schema = dict[str, Any]


class Workspace:
    """The files below `root`, compiled as `arguments` and trainc.yaml specify. See lsp.snapshot.Workspace."""

    def __init__(self, arguments: Arguments, root: str) -> None:
        self.root = os.path.realpath(root)
        self._arguments = arguments
        self._opened: list[Opened] | None = None
        self._refused: list[Diagnostic] = []
        self._queues: list[str] | None = None
        # The texts that the environments were read with or have been updated to.
        self._known: dict[str, str] = {}
        self._neighbours: dict[str, Neighbours] = {}
        self._heads: dict[object, list[tuple[CompiledJob, ...]] | None] = {}

    def changed(self) -> None:
        """Read everything again for the next answer."""
        self._opened = self._queues = None
        self._heads.clear()

    def look_at(self, file: str, texts: Mapping[str, str], *, thorough: bool = True) -> Snapshot:
        """Analyze a file, by its real path; `texts` are those of all open files. `thorough` includes the cluster."""
        with self._open(texts):
            name, text = shown_path(os.path.relpath(file)), texts[file]
            if self._opened is None and not os.path.isfile(FILE_NAME) and not _may_concern(file, encode(text)):
                return Snapshot(self.root, name, text)  # Other YAML files do not require reading the whole folder.
            environments = self._environments(file, texts)
            if not self._concerns(file, name, encode(text), environments):
                return Snapshot(self.root, name, text)
            return self._snapshot(name, text, environments, thorough=thorough)

    def at_head(self, file: str, texts: Mapping[str, str]) -> Sequence[Sequence[CompiledJob]] | None:
        """The jobs of a file in git's HEAD, for each environment; None if there is no HEAD."""
        with self._open(texts):
            environments = self._environments(file, texts)
            try:
                repository = repository_of(self.root)
                commit = commit_of(repository, "HEAD")
                here = dict(self._texts(environments, repository.top))
                name = os.path.relpath(file, repository.top)
                changed = find_changed_files(repository, commit, here | {name: encode(texts[file])}, self._limits)
            except (CompileError, OSError):
                return None
            key = (commit, file, tuple(sorted((path, data or b"") for path, data in changed.items())))
            if key not in self._heads:
                before = {os.path.join(repository.top, path): data for path, data in changed.items()}
                self._heads[key] = self._compiled_before(environments, before, file, texts)
            return self._heads[key]

    def _compiled_before(
        self,
        environments: Sequence[Opened],
        before: Mapping[str, bytes | None],
        file: str,
        texts: Mapping[str, str],
    ) -> list[tuple[CompiledJob, ...]] | None:
        """The jobs of a file given what other files contained `before`: None for a file that did not exist."""
        if not any(_is_settings(path) or self._is_overlaid(path) for path in before):
            return [_compiled_with(opened, before, file) for opened in environments]
        edited = {path: encode(text) for path, text in texts.items()}
        with unsaved({**edited, **{path: data or b"" for path, data in before.items()}}):
            try:
                every = environments_of(self._arguments)
                read = {one.name: one for one in map(self._read, every)}
            except (CompileError, UsageError):
                return None
            name = shown_path(os.path.relpath(file))
            return [read[o.name].build(name)[0].compiled if o.name in read else () for o in environments]

    @property
    def _limits(self) -> Any:
        from trainc.cli.settings import limits_of

        return limits_of(self._arguments)

    @contextmanager
    def _open(self, texts: Mapping[str, str]) -> Iterator[None]:
        """Work in the root folder, like `trainc check`, with the editor's texts."""
        with chdir(self.root), unsaved({path: encode(text) for path, text in texts.items()}):
            yield

    def _environments(self, file: str, texts: Mapping[str, str]) -> list[Opened]:
        """Every environment with unsaved changes of other files; read again if a change affects what to read."""
        typed = [path for path, text in texts.items() if self._known.get(path) != text]
        says = any(_is_settings(path) or self._is_overlaid(path) for path in typed)
        if self._opened is not None and not says:
            for path in typed:
                if path != file:
                    self._type(path, texts[path])
        else:
            self._refused, self._known = [], dict(texts)
            try:
                every = environments_of(self._arguments)
                self._opened = [self._read(each) for each in every]
            except CompileError as error:  # The previous settings apply until the new ones are valid.
                self._refused = error.diagnostics
            except UsageError:
                pass
        return self._opened or []

    def _read(self, arguments: Arguments) -> Opened:
        name = environment_name(arguments)
        return Opened(name, settings_of(arguments), self._neighbours.setdefault(name, Neighbours()))

    def _type(self, path: str, text: str) -> None:
        """Update a file to its current text."""
        name = shown_path(os.path.relpath(path))
        self._known[path] = text
        if self._opened and self._concerns(path, name, encode(text), self._opened):
            self._opened = [one.with_file(name, one.read(name, encode(text))[0]) for one in self._opened]

    def _is_overlaid(self, path: str) -> bool:
        return any(path in opened.files_of_overlays for opened in self._opened or ())

    def _concerns(self, file: str, name: str, data: bytes, environments: Sequence[Opened]) -> bool:
        """Whether `trainc check` reads a file. A file outside all sources counts as named, unless it is excluded."""
        if _is_settings(file) or not environments:
            return _may_concern(file, data)
        if self._is_overlaid(file) or not data.strip():
            return True
        hidden = any(part.startswith(".") for part in name.split("/"))
        excluded = any(opened.settings.configuration.exclude(name) for opened in environments)
        return not (hidden or excluded or is_unrelated(data, template=file.endswith(TEMPLATE_SUFFIXES)))

    def _snapshot(self, name: str, text: str, environments: Sequence[Opened], *, thorough: bool) -> Snapshot:
        documents: list[Document] = []
        everything: list[Document] = []
        built: list[Built] = []
        fits: list[Fit] = []
        found: dict[str, list[Diagnostic]] = {"": []} if not environments else {}
        complete = True
        for one in environments:
            own, problems = one.read(name, encode(text))
            opened = one if _is_settings(name) else one.with_file(name, own)
            rules = opened.settings.policy()
            problems = rules(problems, True)
            complete = complete and (not thorough or opened.learn())
            result, more = opened.build(name)
            problems += more
            if thorough and result.compiled and (cluster := opened.settings.configuration.cluster):
                judgement = judge_jobs(
                    [m for job in result.compiled for m in job.manifests], own, cluster, opened.settings.options
                )
                if not has_errors(problems):
                    problems += rules(judgement.diagnostics, judgement.answers is None)
                fits += judgement.answers.alone if judgement.answers else ()
            documents, everything = documents or own, everything or opened.documents
            built.append(result)
            found[opened.name] = problems
        ignored = self._ignore_comments(name, text, found)
        if name.rpartition("/")[2] == OVERLAY_FILE and not any(
            os.path.realpath(name) in o.files_of_overlays for o in environments
        ):
            ignored += load_overlays([name], self._limits)[1]
        every = merge_diagnostics({key: [*each, *ignored, *self._refused] for key, each in found.items()})
        own_diagnostics = [d for d in every if d.source and (d.source.file, d.source.origin) == (name, "file")]
        release = next((o.settings.options.release for o in environments if o.settings.options.release), NEWEST_RELEASE)
        return Snapshot(
            self.root,
            name,
            text,
            documents,
            everything,
            built,
            own_diagnostics,
            lambda kind: _schema(kind, release),
            self._local_queues(environments),
            fits,
            complete,
        )

    def _ignore_comments(self, name: str, text: str, found: Mapping[str, Sequence[Diagnostic]]) -> list[Diagnostic]:
        """Diagnostics about the file's ignore comments, unless there are other errors."""
        every = [diagnostic for each in found.values() for diagnostic in each]
        own = [d for d in every if d.source and d.source.file == name]
        return [] if has_errors(own) else list(check_ignores(ignores_of(encode(text), name), own))

    def _local_queues(self, environments: Sequence[Opened]) -> Sequence[str]:
        if self._queues is None:
            folders = {o.settings.configuration.cluster for o in environments if o.settings.configuration.cluster}
            read = [d for folder in sorted(folders) for d in read_paths([folder], self._limits, everything=True)[0]]
            queues = [d.data for d in read if d.data.get("kind") == "LocalQueue"]
            self._queues = sorted({str((queue.get("metadata") or {}).get("name")) for queue in queues})
        return self._queues

    def _texts(self, environments: Sequence[Opened], top: str) -> Iterator[tuple[str, bytes]]:
        """The files that were read, by their path relative to the repository root."""
        files = {d.file for opened in environments for d in opened.documents}
        files |= {path for opened in environments for path in opened.files_of_overlays}
        files |= {file for opened in environments if (file := opened.settings.configuration.file)}
        for file in files:
            real = os.path.realpath(file)
            if real.startswith(top + os.sep):
                yield os.path.relpath(real, top), read_file(real, self._limits.file_bytes)


def _compiled_with(opened: Opened, before: Mapping[str, bytes | None], file: str) -> tuple[CompiledJob, ...]:
    """The jobs of a file, given earlier texts of files; None means that a file did not exist."""
    for path, data in before.items():
        name = shown_path(os.path.relpath(path))
        if not _is_settings(name):
            opened = opened.with_file(name, opened.read(name, data)[0] if data else [])
    return opened.build(shown_path(os.path.relpath(file)))[0].compiled


def _may_concern(file: str, data: bytes) -> bool:
    return _is_settings(file) or not data.strip() or not is_unrelated(data)


def _is_settings(name: str) -> bool:
    """Whether a file controls what is read, rather than being input itself."""
    return name.rpartition("/")[2] in (FILE_NAME, OVERLAY_FILE)


def _schema(kind: str, release: str) -> Schema | None:
    if kind in ROOTS:
        return json_schema(kind, release)
    return {"Overlay": overlay_schema, FILE_NAME: configuration_schema}.get(kind, lambda _: None)(DIALECT)
