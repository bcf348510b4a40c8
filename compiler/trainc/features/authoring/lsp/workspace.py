"""A folder as an editor has it open: what `trainc check` would say there of a file, with the texts not saved yet.

Everything is read once, and again when something on the disk or in the settings has changed; a key press reads one file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from copy import copy
from itertools import islice, repeat
from typing import Any

from trainc.api.arguments import Arguments, UsageError
from trainc.api.cluster import Dump
from trainc.api.command import compiling
from trainc.api.documents import Document, catalog, dialects, files, opening, yaml_reader
from trainc.api.editing import Claim, check_rendered, fragments, ignores, lint_all_jobs, schema_of
from trainc.api.explained import place
from trainc.api.findings import CompileError, Diagnostic, has_errors, policy
from trainc.api.git import git
from trainc.api.jobs import CompiledJob, Session, ValidDocument, inputs
from trainc.api.kube import identity_of, names, releases
from trainc.api.records import dataclass, replace
from trainc.api.settings import Settings, merge_diagnostics, stack
from trainc.features import ask
from trainc.features.authoring.lsp.names import runtime_scope, scope_of
from trainc.features.authoring.lsp.snapshot import Built, Snapshot

# What the jobs of other files claim, for what only all jobs together show: two that write to one folder, or share a
# name.
#
# A thousand jobs take seconds to compile, so that an editor has some of them compiled whenever nobody types.


# How many jobs with unknown claims are compiled at a time.
_AT_ONE_TIME = 50


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A job of another file: its position in the order of all jobs, and its claims."""

    order: tuple[str, str]
    file: str
    claims: tuple[Claim, ...]


class Neighbours:
    """The known claims, keyed by the content of a job and its context; they are kept when files are read again."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str, str], Neighbour | None] = {}
        self._last: list[Neighbour] = []

    def learn(self, session: Session, jobs: Sequence[Document], around: Sequence[Document], but: str) -> bool:
        """Compile some of the new `jobs` of files but one against the documents `around` them; return whether all are known."""
        surroundings = hash(repr([document.data for document in around]))
        keys = {(surroundings, document.file, repr(document.data)): document for document in jobs}
        unknown = [key for key, document in keys.items() if key not in self._known and document.file != but]
        for key in unknown[:_AT_ONE_TIME]:
            self._known[key] = _neighbour(session, keys[key])
        self._known = {key: neighbour for key, neighbour in self._known.items() if key in keys}
        # Of several jobs with the same name, only the first one is compiled, if it can be.
        first: dict[tuple[str, str], Neighbour | None] = {}
        for key, document in keys.items():
            first.setdefault(identity_of(document.data), self._known.get(key))
        self._last = [neighbour for neighbour in first.values() if neighbour is not None]
        return len(unknown) <= _AT_ONE_TIME

    def beyond(self, files: set[str]) -> Iterator[Neighbour]:
        """The claims known at the last call of `learn`, except those from some files."""
        return (neighbour for neighbour in self._last if neighbour.file not in files)


def _neighbour(session: Session, document: Document) -> Neighbour | None:
    """The claims of the job in a document; None if it does not compile."""
    session_of_job = session.with_jobs([document])
    for job in session_of_job.jobs:
        compiled, _ = session_of_job.compile(job)
        if compiled is not None:
            order = compiled.namespace, compiled.name
            return Neighbour(order, document.file, tuple(Claim.of(compiled.manifests, compiled.name)))
    return None


def compile_among(session: Session, neighbours: Neighbours) -> tuple[list[CompiledJob], list[Diagnostic]]:
    """Compile the jobs of a session; diagnostics include conflicts with all other jobs."""
    compiled: list[CompiledJob] = []
    problems: list[Diagnostic] = []
    entries: list[tuple[tuple[str, str], ValidDocument | None, Sequence[Claim]]] = []
    for job in session.jobs:
        outcome, diagnostics = session.compile(job)
        problems += diagnostics
        if outcome is not None:
            compiled.append(outcome)
            entries.append(((outcome.namespace, outcome.name), job, list(Claim.of(outcome.manifests, outcome.name))))
    files = {job.document.file for job in session.jobs}
    own_keys = {order for order, _, _ in entries}
    entries += [(n.order, None, n.claims) for n in neighbours.beyond(files) if n.order not in own_keys]
    services: dict[tuple[str, str], str] = {}
    for _, home, claims in sorted(entries, key=lambda entry: entry[0]):
        between = list(lint_all_jobs(claims, services, session.options))
        if home is not None:
            problems += session.rules(map(home.diagnose_built, between), False)
    return compiled, problems


# One environment of trainc.yaml, loaded once, and the results for each of its files.
#
# A job is compiled with the runtimes of all files and without their jobs, so that an answer takes no longer where
# there are a thousand of them.


# How many of the jobs that use a runtime are compiled while the runtime is edited.
_MOST_USERS = 8


class Opened:
    """One environment, read as `trainc check` reads it."""

    def __init__(self, name: str, settings: Settings, neighbours: Neighbours) -> None:
        self.name = name
        self.settings = settings
        self._neighbours = neighbours
        overlays, limits = settings.overlays, settings.options.limits
        self._values: Mapping[str, Any] = stack.values_of(overlays) if overlays else {}
        exclude = settings.configuration.exclude
        documents, _ = files.read_paths(settings.paths, limits, values=self._values, exclude=exclude)
        folders = (*settings.runtimes, *(path for overlay in overlays for path in overlay.all_runtimes))
        self._sources = [
            files.read_paths([folder], limits, values=self._values, exclude=exclude)[0] for folder in folders
        ]
        overlay_files = {os.path.realpath(file) for overlay in overlays for file in overlay.resource_files}
        self._documents = [document for document in documents if os.path.realpath(document.file) not in overlay_files]
        self._shared: tuple[Session, stack.Stack | None] | None = None

    @property
    def documents(self) -> list[Document]:
        """Every document as written, including those from overlays."""
        resources = [d for overlay in self.settings.overlays for part in overlay.in_order for d in part.resources]
        return [*self._documents, *resources, *(document for source in self._sources for document in source)]

    @property
    def files_of_overlays(self) -> set[str]:
        """The real paths of overlays, their patches and their resources."""
        return {os.path.realpath(path) for overlay in self.settings.overlays for path, _ in overlay.texts}

    def read(self, file: str, data: bytes) -> tuple[list[Document], list[Diagnostic]]:
        """The documents in a file, and the errors in its text."""
        return files.read_file(data, file, self.settings.options.limits, self._values)

    def with_file(self, file: str, replacements: Sequence[Document]) -> Opened:
        """A copy with different documents in one file, which is appended if it was not read before."""
        before = [document for document in self.documents if document.file == file]
        other = copy(self)
        other.__dict__ |= {
            "_documents": [*_replaced(self._documents, file, replacements), *(() if before else replacements)],
            "_sources": [list(_replaced(source, file, replacements)) for source in self._sources],
            # Created here so that the copies share it.
            "_shared": self._session() if all(map(_is_job, (*before, *replacements))) else None,
        }
        return other

    def learn(self, file: str) -> bool:
        """Learn the claims of some more jobs of files other than `file`; return whether all are known.

        Skipped for overlays, which change jobs.
        """
        session, overlays = self._session()
        jobs = self._jobs if overlays is None else []
        around = [document for document in self.documents if not _is_job(document)]
        return self._neighbours.learn(session, jobs, around, file)

    def build(self, file: str) -> tuple[Built, list[Diagnostic]]:
        """Compile the jobs and runtimes of a file; return them with the diagnostics, of any file."""
        rules = self.settings.policy()
        shared, overlays = self._session()
        documents = [document for document in self.documents if document.file == file]
        select = self.settings.configuration.select
        names = {_name(document) for document in documents if _is_job(document)}
        same_name = [document for document in self._jobs if _name(document) in names]
        jobs = [d for d in (*same_name, *self._users_of(documents, names)) if not select or select(d.data, d.file)]
        if overlays is not None:
            overlaid_jobs = [document for document in overlays.documents if document.file == file and _is_job(document)]
            jobs = [*overlays.more(jobs).documents, *overlaid_jobs]
        jobs, problems = self._expanded(documents, jobs, overlays)
        keeping = compiling.kept_in(self.settings.output, self.settings, jobs)
        session = replace(shared.with_jobs(jobs), rules=rules, keeping=keeping)
        diagnostics = rules((d for d in shared.index.diagnostics if d.source and d.source.file == file), True)
        diagnostics += [*problems, *session.diagnostics()]
        compiled, more = compile_among(session, self._neighbours)
        diagnostics += [*more, *self._about_others(file, documents, session, rules)]
        mine = tuple(job for job in compiled if job.file == file)
        runtime = next((r for r in session.index.runtimes.values() if r.document.file == file), None)
        if runtime is not None and not session.jobs:  # A minimal job for a runtime that none uses.
            session = session.with_jobs([Document.of(fragments.smallest_job(runtime, session.options))])
        return Built(self.name, session, mine), diagnostics

    def _expanded(
        self, documents: Sequence[Document], jobs: list[Document], overlays: stack.Stack | None
    ) -> tuple[list[Document], list[Diagnostic]]:
        """The jobs of a file with some trials of its sweeps, and of the sweeps of other files that have a base in it."""
        mine = [document for document in documents if dialects.is_sweep(document.data)]
        sweeps = mine or [document for document in self._documents if dialects.is_sweep(document.data)]
        if not sweeps:
            return jobs, []
        limits, non_sweeps = self.settings.options.limits, [d for d in self._documents if not dialects.is_sweep(d.data)]
        expansion, problems = inputs.expansion_of(
            sweeps,
            non_sweeps,
            lambda path: files.read_paths([path], limits, values=self._values),
            self.settings.options,
        )
        if expansion is None:
            return jobs, problems
        if mine:
            bases = [document for document in (*non_sweeps, *expansion.documents) if _is_job(document)]
            jobs = [*jobs, *(bases if overlays is None else overlays.more(bases).documents)]
        expanded, more, _ = expansion.expand(jobs)
        mine_in = {document.file for document in documents}
        of_sweeps = {sweep.file for sweep in sweeps}
        trials = [d for d in expanded if d.file in of_sweeps]
        remaining = [d for d in expanded if d.file in mine_in - of_sweeps] + trials[:_MOST_USERS]
        return remaining, [d for d in (*problems, *more) if d.source and d.source.file in mine_in]

    def _session(self) -> tuple[Session, stack.Stack | None]:
        """The session for everything except jobs, reused until that changes."""
        if self._shared is None:
            settings = self.settings
            options, overlays = settings.options, None
            documents, sources, find = [d for d in self._documents if not _is_job(d)], self._sources, catalog.find
            if settings.overlays:
                overlays = stack.Stack(
                    settings.overlays, documents, sources, find, options.release or releases.NEWEST_RELEASE
                )
                documents, sources, find = overlays.documents, overlays.sources, overlays.catalog
                documents = [document for document in documents if not _is_job(document)]
            judge, _ = compiling.judge_of(settings)
            session = Session(options, find, place, judge=judge, cluster=())
            self._shared = session.with_input(documents, sources), overlays
        return self._shared

    @property
    def _jobs(self) -> list[Document]:
        return [document for document in self._documents if _is_job(document)]

    def _users_of(self, documents: Sequence[Document], names: set[str]) -> Iterator[Document]:
        runtimes = [
            document for document in documents if dialects.is_trainer_document(document.data) and not _is_job(document)
        ]
        scopes = {scope_of(document.data, document.data.get("kind"), _name(document)) for document in runtimes}
        using = (job for job in self._jobs if runtime_scope(job.data) in scopes and _name(job) not in names)
        return islice(using, _MOST_USERS if scopes else 0)

    def _about_others(
        self, file: str, documents: list[Document], session: Session, rules: policy.Policy
    ) -> list[Diagnostic]:
        diagnostics: list[Diagnostic] = []
        # A refused job does not use its runtime; jobs of other files are assumed to be valid.
        used = {runtime_scope(job.data) for job in self._jobs if job.file != file}
        used |= {runtime_scope(job.document.data) for job in session.jobs}
        for runtime in session.index.runtimes.values():
            home = runtime.document
            if home.file == file and scope_of(home.data, home.data["kind"], _name(home)) not in used:
                diagnostics += fragments.check_runtime(runtime, session)
        options = self.settings.options
        diagnostics += rules(fragments.check_fragments(documents, options), False)
        if any(document.data.get("kind") == "JobSet" for document in documents):
            diagnostics += rules(check_rendered(self._documents, options), False)
            again = self.settings.repeated_jobsets(self._documents)
            diagnostics += rules([d for d in again if d.source and d.source.file == file], False)
        return diagnostics + rules(compiling.skipped_documents(documents, self.settings, checks_fragments=True), True)


def _replaced(source: Sequence[Document], file: str, replacements: Sequence[Document]) -> Iterator[Document]:
    start = next((i for i, document in enumerate(source) if document.file == file), None)
    remaining = (document for document in source if document.file != file)
    yield from islice(remaining, start)
    yield from replacements if start is not None else ()
    yield from remaining


def _is_job(document: Document) -> bool:
    return document.data.get("kind") in names.JOB_KINDS and dialects.is_trainer_document(document.data)


def _name(document: Document) -> str:
    return identity_of(document.data)[1]


class Workspace:
    """The files below `root`, compiled as `arguments` and trainc.yaml specify."""

    def __init__(self, arguments: Arguments, root: str) -> None:
        self.root = os.path.realpath(root)
        self._arguments = arguments
        self._limits = Settings.limits_of(arguments)
        self._opened: list[Opened] | None = None
        self._refused: list[Diagnostic] = []
        self._cluster: Dump | None = None
        # The texts that the environments were read with or have been updated to.
        self._known: dict[str, str] = {}
        self._neighbours: dict[str, Neighbours] = {}
        self._heads: dict[object, list[tuple[CompiledJob, ...]] | None] = {}

    def changed(self) -> None:
        """Read everything again for the next answer."""
        self._opened = self._cluster = None
        self._heads.clear()

    def look_at(self, file: str, texts: Mapping[str, str], *, thorough: bool = True) -> Snapshot:
        """Analyze a file, by its real path; `texts` are those of all open files. `thorough` includes the cluster."""
        with self._open(texts):
            name, text = files.shown_path(os.path.relpath(file)), texts[file]
            if (
                self._opened is None
                and not os.path.isfile(opening.CONFIGURATION_FILE)
                and not _may_concern(file, yaml_reader.encode(text))
            ):
                return Snapshot(self.root, name, text)  # Other YAML files do not require reading the whole folder.
            environments = self._environments(file, texts)
            if not self._concerns(file, name, yaml_reader.encode(text), environments):
                return Snapshot(self.root, name, text)
            return self._snapshot(name, text, environments, thorough=thorough)

    def at_head(self, file: str, texts: Mapping[str, str]) -> Sequence[Sequence[CompiledJob]] | None:
        """The jobs of a file in git's HEAD, for each environment; None if there is no HEAD."""
        with self._open(texts):
            environments = self._environments(file, texts)
            try:
                repository = git.repository_of(self.root)
                commit = git.commit_of(repository, "HEAD")
                here = dict(self._texts(environments, repository.top))
                name = os.path.relpath(file, repository.top)
                changed = git.find_changed_files(
                    repository, commit, here | {name: yaml_reader.encode(texts[file])}, self._limits
                )
            except (CompileError, OSError):
                return None
            key = (commit, file, tuple(sorted((path, data or b"") for path, data in changed.items())))
            if key not in self._heads:
                before = {os.path.join(repository.top, path): data for path, data in changed.items()}
                self._heads[key] = self._compiled_before(environments, before, file, texts)
            return self._heads[key]

    def _compiled_before(
        self, environments: Sequence[Opened], before: Mapping[str, bytes | None], file: str, texts: Mapping[str, str]
    ) -> list[tuple[CompiledJob, ...]] | None:
        """The jobs of a file given what other files contained `before`: None for a file that did not exist."""
        if not any(_is_settings(path) or self._is_overlaid(path) for path in before):
            return [_compiled_with(opened, before, file) for opened in environments]
        edited = {path: yaml_reader.encode(text) for path, text in texts.items()}
        with opening.unsaved({**edited, **{path: data or b"" for path, data in before.items()}}):
            try:
                by_name = {
                    env.name: env for env in map(self._open_environment, Settings.environments_of(self._arguments))
                }
            except (CompileError, UsageError):
                return None
            name = files.shown_path(os.path.relpath(file))
            return [by_name[o.name].build(name)[0].compiled if o.name in by_name else () for o in environments]

    @contextmanager
    def _open(self, texts: Mapping[str, str]) -> Iterator[None]:
        """Work in the root folder, like `trainc check`, with the editor's texts."""
        before = files.searches.set(repeat(True, files.MOST_SEARCHES))
        try:
            with chdir(self.root), opening.unsaved({path: yaml_reader.encode(text) for path, text in texts.items()}):
                yield
        finally:
            files.searches.reset(before)

    def _environments(self, file: str, texts: Mapping[str, str]) -> list[Opened]:
        """Every environment with unsaved changes of other files; read again if a change affects what to read."""
        typed = [path for path, text in texts.items() if self._known.get(path) != text]
        says = any(_is_settings(path) or self._is_overlaid(path) for path in typed)
        if self._opened is not None and not says:
            for path in (path for path in typed if path != file):
                name, data = files.shown_path(os.path.relpath(path)), yaml_reader.encode(texts[path])
                self._known[path] = texts[path]
                if self._concerns(path, name, data, self._opened):
                    self._opened = [opened.with_file(name, opened.read(name, data)[0]) for opened in self._opened]
        else:
            self._refused, self._known = [], dict(texts)
            try:
                self._opened = [
                    self._open_environment(arguments) for arguments in Settings.environments_of(self._arguments)
                ]
            except CompileError as error:  # The previous settings apply until the new ones are valid.
                self._refused = error.diagnostics
            except UsageError:
                pass
        return self._opened or []

    def _open_environment(self, arguments: Arguments) -> Opened:
        name = arguments.environment
        return Opened(name, Settings.of(arguments), self._neighbours.setdefault(name, Neighbours()))

    def _is_overlaid(self, path: str) -> bool:
        return any(path in opened.files_of_overlays for opened in self._opened or ())

    def _concerns(self, file: str, name: str, data: bytes, environments: Sequence[Opened]) -> bool:
        """Return whether `trainc check` reads a file. A file outside all sources counts as named, unless it is excluded."""
        if _is_settings(file) or not environments:
            return _may_concern(file, data)
        if self._is_overlaid(file) or not data.strip():
            return True
        hidden = any(part.startswith(".") for part in name.split("/"))
        excluded = any(opened.settings.configuration.exclude(name) for opened in environments)
        return not (hidden or excluded or files.is_unrelated(data, template=file.endswith(files.TEMPLATE_SUFFIXES)))

    def _snapshot(self, name: str, text: str, environments: Sequence[Opened], *, thorough: bool) -> Snapshot:
        documents: list[Document] = []
        everything: list[Document] = []
        built: list[Built] = []
        fits: list[Any] = []
        judge_jobs = ask("fits", "judge jobs")
        by_environment: dict[str, list[Diagnostic]] = {"": []} if not environments else {}
        complete = True
        for environment in environments:
            in_file, problems = environment.read(name, yaml_reader.encode(text))
            opened = environment if _is_settings(name) else environment.with_file(name, in_file)
            rules = opened.settings.policy()
            problems = rules(problems, True)
            complete = complete and (not thorough or opened.learn(name))
            result, more = opened.build(name)
            problems += more
            if thorough and judge_jobs and result.compiled and (cluster := opened.settings.configuration.cluster):
                options, around = opened.settings.options, opened.documents
                verdicts = judge_jobs(result.compiled, in_file, cluster, options, session=result.session, around=around)
                if not has_errors(problems):
                    problems += rules(verdicts.diagnostics, verdicts.answers is None)
                fits += verdicts.answers.alone if verdicts.answers else ()
            documents, everything = documents or in_file, everything or opened.documents
            built.append(result)
            by_environment[opened.name] = problems
        of_file = [d for of_env in by_environment.values() for d in of_env if d.source and d.source.file == name]
        # Comments that ignore nothing are only known to be in vain without other errors.
        ignored = (
            []
            if has_errors(of_file)
            else [
                *ignores.check_ignores(ignores.ignores_of(yaml_reader.decode(yaml_reader.encode(text)), name), of_file)
            ]
        )
        if name.rpartition("/")[2] == files.OVERLAY_FILE and not any(
            os.path.realpath(name) in o.files_of_overlays for o in environments
        ):
            ignored += stack.load_overlays([name], self._limits)[1]
        merged = merge_diagnostics({key: [*of_env, *ignored, *self._refused] for key, of_env in by_environment.items()})
        own_diagnostics = [d for d in merged if d.source and (d.source.file, d.source.origin) == (name, "file")]
        release = next(
            (o.settings.options.release for o in environments if o.settings.options.release), releases.NEWEST_RELEASE
        )
        return Snapshot(
            self.root,
            name,
            text,
            documents,
            everything,
            built,
            own_diagnostics,
            lambda kind: schema_of(kind, release) if kind else None,
            self._dump(environments),
            fits,
            complete,
            next((o.settings.configuration.docs_url for o in environments), ""),
        )

    def _dump(self, environments: Sequence[Opened]) -> Dump:
        if self._cluster is None:
            folders = {o.settings.configuration.cluster for o in environments if o.settings.configuration.cluster}
            objects = [
                d for folder in sorted(folders) for d in files.read_paths([folder], self._limits, everything=True)[0]
            ]
            self._cluster = Dump.of_documents(objects)
        return self._cluster

    def _texts(self, environments: Sequence[Opened], top: str) -> Iterator[tuple[str, bytes]]:
        """The files that were read, by their path relative to the repository root."""
        files = {d.file for opened in environments for d in opened.documents}
        files |= {path for opened in environments for path in opened.files_of_overlays}
        files |= {file for opened in environments if (file := opened.settings.configuration.file)}
        for file in files:
            real = os.path.realpath(file)
            if real.startswith(top + os.sep):
                yield os.path.relpath(real, top), opening.read_file(real, self._limits.file_bytes)


def _compiled_with(opened: Opened, before: Mapping[str, bytes | None], file: str) -> tuple[CompiledJob, ...]:
    """The jobs of a file, given earlier texts of files; None means that a file did not exist."""
    for path, data in before.items():
        name = files.shown_path(os.path.relpath(path))
        if not _is_settings(name):
            opened = opened.with_file(name, opened.read(name, data)[0] if data else [])
    return opened.build(files.shown_path(os.path.relpath(file)))[0].compiled


def _may_concern(file: str, data: bytes) -> bool:
    return _is_settings(file) or not data.strip() or not files.is_unrelated(data)


def _is_settings(name: str) -> bool:
    """Return whether a file controls what is read, rather than being input itself."""
    return name.rpartition("/")[2] in (opening.CONFIGURATION_FILE, files.OVERLAY_FILE)
