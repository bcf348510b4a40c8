"""The revision that a change is compared with: its settings, its rendered files, its TrainJobs, and its errors.

With `--base` it is the commit at which the branch left that revision, otherwise HEAD. Its files are read from a temporary
copy; what is asked first is read first, and nothing twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from contextvars import copy_context
from functools import cache
from io import BytesIO
from types import MappingProxyType
from typing import TypeAlias, TypeVar

from trainc.cli.causes import merge_diagnostics
from trainc.cli.changed_rules import first_difference, lost_keys
from trainc.cli.command import Arguments
from trainc.cli.revisions import Copy, copy_of_revision, here
from trainc.cli.settings import Settings
from trainc.emit.config_maps import owned
from trainc.findings import CompileError, Diagnostic, Severity, Source, has_errors
from trainc.findings.text import counted, did_you_mean, first_of
from trainc.kube.documents import Json, identity_of, qualified
from trainc.kube.names import JOB_KINDS
from trainc.options import SETTINGS, Options
from trainc.output.choices import JobKey
from trainc.output.keeping import Base, own_trainjob
from trainc.output.ownership import is_harmless, is_marked
from trainc.pipeline.inputs import Inputs
from trainc.project.boundaries import describe_loosening
from trainc.project.configuration import Configuration
from trainc.project.dialects import is_trainer_document
from trainc.project.settings_file import read_configuration
from trainc.reading.document import Document, Surroundings
from trainc.reading.files import READ_SUFFIXES
from trainc.reading.git import (
    REVISION_HINT,
    History,
    branches_and_tags,
    commit_of,
    files_of_revision,
    find_changed_files,
    merge_base,
    run_git,
    submodules,
)
from trainc.reading.opening import CONFIGURATION_FILE, is_below, read_file
from trainc.startup.records import replace

NO_BASE = "none"
_T = TypeVar("_T")
# A setting that gives all jobs another place, what to say of it before and after their number, a hint, and its line.
_Replacing: TypeAlias = "tuple[str, tuple[str, str], str, Source]"


class Revision:
    """A revision of the repository around the current folder. Raises CompileError if it cannot be read.

    `file` is the trainc.yaml of the change, and `folders` its output folders with their environments.
    """

    def __init__(self, arguments: Arguments, file: str | None, folders: Mapping[str, str]) -> None:
        self.repository = here()
        is_head = arguments.base in (None, NO_BASE)
        revision = "HEAD" if is_head else str(arguments.base)
        self.commit = commit_of(self.repository, "HEAD") if is_head else merge_base(self.repository, revision)
        self.name = revision if self.commit.startswith(revision) else f"{revision} ({self.commit[:9]})"
        self.top = os.path.realpath(self.repository.top)
        self.home = os.path.realpath(os.path.dirname(file or "") or os.curdir)
        self._arguments = arguments.but(paths=[], env=None, config=arguments.config or file)
        self._inputs: dict[str, tuple[Settings, Inputs]] = {}
        self._histories: dict[str, History] = {}
        # The contents of output folders there, by their paths from the top.
        self.contents: dict[str, dict[str, bytes]] = {}
        # The settings of each output folder that trainc.yaml names there, by its path from the top.
        self.outputs: dict[str, Configuration] = {}
        self._places = {environment: self.from_top(folder) for folder, environment in folders.items()}
        self.settings = self._read_settings(self._places.values())

    def from_top(self, path: str) -> str:
        """Return a path of the working tree as git names it."""
        return os.path.relpath(os.path.realpath(path), self.top)

    def changed(self, texts: Mapping[str, bytes]) -> dict[str, bytes | None]:
        """Return the files of the working tree, by their paths, that are others there, with their content there or None."""
        by_path = {self.from_top(file): file for file in texts}
        now, limits = {path: texts[file] for path, file in by_path.items()}, Settings.limits_of(self._arguments)
        found = find_changed_files(self.repository, self.commit, now, limits) if now else {}
        return {by_path[path]: content for path, content in found.items()}

    def text_at(self, commit: str, file: str) -> str | None:
        """Return a file of the working tree as another commit has it."""
        with suppress(CompileError):
            return run_git(self.repository.top, ["show", f"{commit}:{self.from_top(file)}"]).decode(errors="replace")
        return None

    def shown(self, folder: str) -> str:
        """Return a path from the top as one from the folder of trainc.yaml."""
        return os.path.relpath(os.path.join(self.top, folder), self.home)

    def configuration(self, environment: str) -> Configuration:
        """Return the settings of an environment there; those of the file if there is none of that name or output."""
        by_output = self.outputs.get(self._places.get(environment, ""), self.settings)
        return self.settings.environments.get(environment, by_output)

    def base_of(self, folder: str, environment: str, now: Mapping[str, bytes] = MappingProxyType({})) -> Base:
        """Return an output folder there. One that has moved since is found by its environment.

        Of files that trainc does not read, those with other bytes than `now` are read.
        """
        path = self.from_top(folder)
        by_name = {output.environment: other for other, output in self.outputs.items()}
        there = path if path in self.outputs else by_name.get(environment, path)
        settings = self.outputs.get(there, Configuration())
        contents: dict[str, bytes | None] = {**self.contents.get(there, {})}
        others = {f"{there}/{path}": path for path in now if not path.endswith(READ_SUFFIXES) and path not in contents}
        if others:
            texts = {path: now[name] for path, name in others.items()}
            changed = find_changed_files(self.repository, self.commit, texts, Settings.limits_of(self._arguments))
            contents |= {name: changed.get(path, now[name]) for path, name in others.items()}

        def trainjobs() -> Mapping[JobKey, Json]:
            try:
                env_settings, inputs = self.inputs(environment)
            except CompileError:  # Such as that of an overlay: then no file is proven by its TrainJob.
                return {}
            return own_trainjobs(inputs.documents, env_settings.options)

        def history(file: str) -> Iterator[tuple[str, str]]:
            if there not in self._histories:
                limits = Settings.limits_of(self._arguments)
                self._histories[there] = History(self.repository, self.commit, there, limits)
            return self._histories[there](file)

        return Base(
            self.name,
            self.shown(path),
            contents.get,
            cache(trainjobs),
            history,
            settings.adopted,
            settings.frozen,
            *self._dump(settings.live, os.path.dirname(settings.file or "")),
            text_at=cache(self.text_at),  # Many jobs ask for the same file.
            paths=contents.keys(),
        )

    def _dump(
        self, live: tuple[str, int] | None, home: str
    ) -> tuple[Callable[[str], str], Callable[[], Diagnostic | None]]:
        """What reads a state, and what says why the dump does not count."""
        if live is None:
            return lambda _: "", lambda: None
        from trainc.cli.live import Live

        # The folder of the same path here.
        folder = os.path.relpath(os.path.join(self.home, os.path.relpath(live[0], home or os.curdir)))
        read = cache(lambda: Live((folder, live[1]), self._arguments))
        return lambda body: read().state(body), lambda: read().problem

    def inputs(self, environment: str) -> tuple[Settings, Inputs]:
        """Return the settings and documents of an environment there, each as of that revision."""
        if environment not in self._inputs:
            with self._copy() as copy:
                rendered = {
                    os.path.normpath(os.path.join(folder, path))
                    for folder, contents in self.contents.items()
                    for path, data in contents.items()
                    if is_marked(data.decode(errors="replace"))
                }
                self._inputs[environment] = _apart(lambda: self._read_inputs(copy, environment, rendered))
        return self._inputs[environment]

    def within(self, environment: str, ask: Callable[[Settings, Inputs], _T]) -> _T:
        """Ask something about an environment in the folder of the revision, where its files can be read."""
        with self._copy() as copy:

            def answer() -> _T:
                settings, inputs = self._inputs[environment] = self._read_inputs(copy, environment)
                return ask(settings, inputs)

            return _apart(answer)

    def _copy(self) -> AbstractContextManager[Copy]:
        """Have a copy in which nothing but trainc.yaml is read, and be in it."""
        if config := self._arguments.config:
            return copy_of_revision(self.commit, self._arguments, [self.from_top(config)])
        folders = [self.repository.prefix]
        while folders[-1] not in ("", os.curdir):
            folders.append(os.path.dirname(folders[-1].rstrip(os.sep)))
        files = [os.path.join(folder, CONFIGURATION_FILE) for folder in folders]
        return copy_of_revision(self.commit, self._arguments, files)

    def _read_settings(self, folders: Iterable[str]) -> Configuration:
        with self._copy() as copy:
            if copy.links:
                copy.add()
            configuration = Configuration()
            if not (config := copy.arguments.config) or os.path.isfile(config):
                configuration = _apart(lambda: read_configuration([], config, Settings.limits_of(copy.arguments)))
            for env in configuration.environments.values() or [configuration]:
                if env.output:
                    self.outputs[os.path.relpath(os.path.realpath(env.output), copy.tree)] = env
            for folder in {*self.outputs, *folders}:
                files = files_of_revision(self.repository, self.commit, folder, Settings.limits_of(copy.arguments))
                read = {path: files[path] for path in sorted(files) if not is_harmless(path)}
                self.contents[folder] = {**read, **submodules(self.repository, folder, self.commit)}
            return configuration

    def _read_inputs(
        self, copy: Copy, environment: str, without: Container[str] = frozenset()
    ) -> tuple[Settings, Inputs]:
        """Read the documents of an environment. What is outside the folder of trainc.yaml is read only if it is needed."""
        home = os.path.relpath(self.home, self.top)
        configuration = self.configuration(environment)
        arguments = copy.arguments.but(env=[configuration.environment] * bool(configuration.environment))
        arguments.config = configuration.file and arguments.config
        paths = [*(configuration.sources or ()), *(configuration.overlay or ()), *(arguments.overlay or ())]
        inside = [os.path.relpath(os.path.realpath(path), copy.tree) for path in paths]
        is_enough = home != os.curdir and all(is_below(path, home) for path in inside)
        if copy.add([home] if is_enough else [], without) and is_enough:
            copy.add([], without)
        try:
            settings = Settings.of(arguments)
        except CompileError:  # An overlay outside that folder, of which another one is made.
            copy.add([], without)
            settings = Settings.of(arguments)
        inputs = settings.read(BytesIO(), settings.output)
        if is_enough and inputs.sweeps and has_errors(inputs.diagnostics):  # Its base may be in any file.
            copy.add([], without)
            inputs = settings.read(BytesIO(), settings.output)
        return settings, inputs


def _apart(ask: Callable[[], _T]) -> _T:
    """Ask something that notes settings, such as the address of the documentation, for the whole command."""
    return copy_context().run(ask)


class Bases:
    """The revision that a command compares with, read when it is first asked for; None if there is none to read."""

    def __init__(self, arguments: Arguments, file: str | None, folders: Mapping[str, str]) -> None:
        self.arguments = arguments
        self._read: list[Revision | CompileError] = []
        self._file, self._folders = file, folders
        self._differing: dict[str, bool] = {}

    @property
    def is_named(self) -> bool:
        """Return whether it is one that the user named."""
        return self.arguments.base not in (None, NO_BASE)

    def get(self) -> Revision:
        """Return the revision. Raises CompileError if it cannot be read."""
        if not self._read:
            try:
                self._read.append(Revision(self.arguments, self._file, self._folders))
            except CompileError as error:
                self._read.append(error)
        if isinstance(revision := self._read[0], CompileError):
            raise revision
        return revision

    def find(self) -> Revision | None:
        """Return the revision, None without one."""
        if self.arguments.base == NO_BASE:
            return None
        with suppress(CompileError):
            return self.get()
        return None

    def base_of(self, folder: str, environment: str) -> Base | None:
        """Return an output folder there."""
        revision = self.find()
        return None if revision is None else revision.base_of(folder, environment)

    def strict(self, settings: Mapping[str, Settings]) -> tuple[dict[str, Settings], list[Diagnostic]]:
        """Return the settings of each environment with those of a named base, by which it judges what administrators decide.

        Without a base that can be read, the result has an error.
        """
        if not self.is_named:
            return dict(settings), []
        try:
            revision = self.get()
        except CompileError as error:
            return dict(settings), [no_base(error.diagnostics[0], "trainc.yaml", self.arguments.base)]
        return {name: replace(of_env, at_base=revision.configuration(name)) for name, of_env in settings.items()}, []

    def loosened(self, strict: Mapping[str, Settings], of_nothing: Collection[str] = ()) -> list[Diagnostic]:
        """Return what the change loosens of settings with those of the base. Globs `of_nothing` match no file here."""
        known = {name: settings for name, settings in strict.items() if settings.at_base is not None}
        return merge_diagnostics({name: list(self._about(settings, of_nothing)) for name, settings in known.items()})

    def guarded(self, settings: Settings) -> Settings:
        """Return settings with what the base says of `rebuild`, if jobs are frozen that a change of it would build again."""
        frozen = settings.configuration.frozen or (settings.at_base and settings.at_base.frozen)
        revision = self.find() if frozen else None
        before = None if revision is None else revision.configuration(settings.configuration.environment)
        rebuild = "all" if before is None else before.rebuild
        return replace(settings, configuration=replace(settings.configuration, rebuild=rebuild))

    def replaced(self, settings: Mapping[str, Settings]) -> list[Diagnostic]:
        """Say which settings give all jobs other names or places, so that the cluster ends those that run."""
        # Without an output in trainc.yaml there is nothing to compare, and git is not asked.
        is_set = any(of_env.configuration.output for of_env in settings.values())
        revision = self.find() if is_set else None
        if revision is None:
            return []
        by_cause: dict[_Replacing, dict[str, int]] = {}
        for name, of_env in settings.items():
            for cause, jobs in self._replaced(name, of_env):
                by_cause.setdefault(cause, {})[name] = len(jobs)
        found = []
        for (key, (start, end), hint, source), by_environment in by_cause.items():
            if not (counts := {name: count for name, count in by_environment.items() if count}):
                continue
            where = f" (in {', '.join(counts)})" if len(counts) < len(settings) else ""
            message = f"{start} {counted(sum(counts.values()), 'job')}{end}{where}"
            found.append(Diagnostic("JobsReplaced", "warning", message, hint, CONFIGURATION_FILE, key, source))
        return found

    def differs(self, file: str) -> bool:
        """Return whether a file is another one than at the revision."""
        if file not in self._differing:
            revision, is_file = self.find(), os.path.isfile(file)
            data = read_file(file, Settings.limits_of(self.arguments).file_bytes) if revision and is_file else b""
            self._differing[file] = revision is None or not is_file or bool(revision.changed({file: data}))
        return self._differing[file]

    def changed_among(self, files: Iterable[str]) -> set[str]:
        """Return those of some files that a named base does not have as they are."""
        if not self.is_named or (revision := self.find()) is None:
            return set()
        limit = Settings.limits_of(self.arguments).file_bytes
        return {*revision.changed({file: read_file(file, limit) for file in files if os.path.isfile(file)})}

    def frozen_elsewhere(self, settings: Settings) -> Iterator[Diagnostic]:
        """Yield frozen jobs that an overlay gives another name or namespace: there they would run again."""
        name, revision = settings.configuration.environment, self.find()
        if revision is None or not revision.configuration(name).frozen:
            return
        base = revision.base_of(settings.output or "", name)
        for (key, (start, _), _, source), jobs in self._replaced(name, settings):
            ended = [qualified(*job) for job in jobs if base.frozen_since(*job) is not None]
            if key not in _MOVING or not ended:
                continue
            message = f"{first_of(ended)} is frozen in {revision.name}, and this would run it again: {start.rpartition(': ')[0]}"
            hint = "undo the change at this line, or first merge a trainc.yaml without it under `frozen`"
            yield Diagnostic("FrozenJob", "error", message, hint, source=source)

    def changes_for_all(self, settings: Settings) -> Iterator[tuple[Source, bool]]:
        """Yield the first line that has changed in each overlay, and the compile options of trainc.yaml that have.

        Each says whether the line is only next to what is gone.
        """
        if (revision := self.find()) is None:
            return
        for was, document in self.changed_overlays(settings):
            if (at := first_difference(was, document.data)) is not None and (source := document.locate(at)):
                yield source, bool(lost_keys(was, document.data, at))
        after = settings.configuration
        was_overlaid, is_overlaid = (
            [*map(os.path.basename, one.overlay or ())] for one in (revision.configuration(after.environment), after)
        )
        where = settings.place("overlay") or settings.place("environments", after.environment)
        if was_overlaid != is_overlaid and where:
            yield where, not is_overlaid
        before = revision.configuration(after.environment).options
        for setting in SETTINGS:
            now = after.options.get(setting.name)
            if before.get(setting.name) != now and (source := settings.place(setting.key)):
                # What only the environment set is gone there.
                is_gone = after.environment and revision.settings.options.get(setting.name) == now
                where = settings.place("environments", after.environment) if is_gone else None
                yield where or source, where is not None

    def changed_overlays(self, settings: Settings) -> Iterator[tuple[Json, Document]]:
        """Yield the overlays that have changed, each with what it was."""
        from trainc.reading.yaml_reader import read_documents

        if (revision := self.find()) is None:
            return
        limits = settings.options.limits
        overlays = [each.overlay.document for loaded in settings.overlays for each in loaded.in_order]
        texts = {file: text for loaded in settings.overlays for file, text in loaded.texts}
        here = {d.file: d for d in overlays if d.file in texts}
        for file, text in revision.changed({file: texts[file] for file in here}).items():
            yield next((d.data for d in read_documents(text or b"", file, limits)[0]), {}), here[file]

    def _about(self, settings: Settings, of_nothing: Collection[str]) -> Iterator[Diagnostic]:
        before, after = settings.at_base or Configuration(), settings.configuration
        top = None if after.file is None else Source(os.path.normpath(after.file), 1, 1)
        base = self.arguments.base
        hint = f"rules about what administrators decide, such as PolicyDenied, count only as {base} has them"
        for sentence in describe_loosening(before, after, of_nothing):
            about = hint if sentence.startswith("`rules`") else ""
            message = f"since {base}: {sentence.rstrip('.')}"
            key = sentence.partition("`")[2].partition("`")[0]
            # What all environments had from the top is gone there.
            is_of_all = getattr(self.get().settings, key, None) == getattr(before, key, None)
            source = settings.place(key) or (None if is_of_all else settings.place("environments", after.environment))
            severity: Severity = "info"
            if key == "rebuild":  # Nothing else that is looser touches jobs that run.
                severity, about = "warning", _KEEPING
            source = source or (self._next_to(settings, key) if top else None) or top
            yield Diagnostic("SettingsLoosened", severity, message, about, CONFIGURATION_FILE, "", source)
        if after.live and before.live:
            from trainc.cli.live import Live

            here, there = (Live(after.live, self.arguments.but(base=of)) for of in (None, base))
            finished = [job for job, state in here.states.items() if state == "finished" != there.states.get(job)]
            yield from self._about_dump(after.live[0], [qualified(*job) for job in finished])
            if after.live[1] < before.live[1] and there.problem is not None:
                yield replace(there.problem, source=settings.place("live"))

    def _next_to(self, settings: Settings, key: str) -> Source | None:
        """Return the line of trainc.yaml that follows where it had a setting which is gone."""
        from trainc.reading.yaml_reader import read_documents

        revision, file, limits = self.get(), settings.configuration.file or "", settings.options.limits
        texts = ((revision.text_at(revision.commit, file) or "").encode(), read_file(file, limits.file_bytes))
        was, now = (next(iter(read_documents(text, file, limits)[0]), None) for text in texts)
        if was is None or now is None or key not in was.data:
            return None
        keys = [*was.data]
        after = [*keys[keys.index(key) :], *reversed(keys[: keys.index(key)])]
        return next((now.locate((one,)) for one in after if one in now.data), None)

    def _about_dump(self, folder: str, finished: list[str]) -> Iterator[Diagnostic]:
        """Say that a change edits what the cluster was doing, so that jobs have finished that ran by the base's dump."""
        limits = Settings.limits_of(self.arguments)
        entries = os.scandir(folder) if finished and os.path.isdir(folder) else ()
        files = [entry.path for entry in entries if entry.is_file() and entry.name.endswith((".json", ".yaml"))]
        was = self.get().changed({file: read_file(file, limits.file_bytes) for file in files})
        for file in list(filter(was.get, files))[:1]:
            ended = f"{first_of(finished, 3)} {'has' if len(finished) == 1 else 'have'} finished"
            message = f"since {self.arguments.base}: the dump {file} has changed: by it, {ended}, which counts once it is merged"
            hint = "let only CI publish the dump: an edit can claim that a job has finished"
            yield Diagnostic("RulesChanged", "info", message, hint, source=Source(file, 1, 1))

    def _replaced(self, environment: str, settings: Settings) -> Iterator[tuple[_Replacing, list[JobKey]]]:
        """Yield each setting that gives jobs of an environment another place, with what to say of it, and the jobs."""
        revision = self.get()
        after, before = settings.configuration, revision.configuration(environment)
        if after.file is None or not (after.output and before.output):
            return
        there = next((path for path, output in revision.outputs.items() if output is before), "")
        contents = revision.contents.get(there, {})
        files = [path for path, data in contents.items() if is_marked(data.decode(errors="replace"))]
        jobs = [(os.path.dirname(path), os.path.basename(path)[:-5]) for path in files]
        shown = revision.shown(there)
        changed: dict[str, tuple[tuple[str, str], str]] = {}
        if there != revision.from_top(after.output):
            message = f"`output` was {shown} in {revision.name}; whatever applies {shown} gets no change of its"
            changed["output"] = (
                (message, ", and ends them once that folder is gone"),
                _MOVED.format(after.output, shown),
            )
        # Where neither has an overlay, it is in trainc.yaml, and nothing else is read.
        has_overlay = bool(settings.overlays or before.overlay)
        is_same = not has_overlay and before.options.get("name_hash") == after.options.get("name_hash")
        with suppress(CompileError):  # What cannot be read there cannot have been compiled.
            was = settings.options.name_hash if is_same else revision.inputs(environment)[0].options.name_hash
            if was is not settings.options.name_hash:
                set_or_not = "set" if was else "not set"
                message = f"`nameHash` was {set_or_not} in {revision.name}: with other names, the cluster ends"
                changed["nameHash"] = (message, " and starts them again"), _RENAMED
        places: dict[str, Source] = {}
        places_now: dict[str, str] = {}
        for was_overlay, document in self.changed_overlays(settings):
            for key in _MOVING:
                if was_overlay.get(key) != document.data.get(key):
                    old, new = (str(data.get(key) or "") for data in (was_overlay, document.data))
                    to = f"in {new}" if key == "namespace" and new else "under other names"
                    message = f"`{key}` was {old or 'not set'} in {revision.name}: the cluster ends"
                    changed[key] = (message, f" and starts them again {to}"), _RENAMED
                    # A job that is there already stays.
                    places_now |= {key: new} if key == "namespace" and new else {}
                    if (at := document.locate((key,) if new else ())) is not None:
                        places[key] = at
        for key, (texts, hint) in changed.items():
            source = (
                places.get(key)
                or settings.place(key)
                or next((line for line, _ in self.changes_for_all(settings)), None)
                or Source(os.path.normpath(after.file), 1, 1)
            )
            yield (
                (key, texts, hint.replace("{key}", key), source),
                [job for job in jobs if job[0] != places_now.get(key)],
            )


_MOVED = (
    "have it apply {0} instead, and carry the files over, so that jobs which stay the same go on: remove {0} if it is built, "
    "and run `git mv {1} {0}` and `trainc build`"
)
_KEEPING = "put `rebuild: changed-jobs` back; to roll something out, `trainc build --rebuild NAME`"
_RENAMED = "wait until the jobs have finished, or leave `{key}` as it was"
# What an overlay does to the places of all jobs.
_MOVING = ("namespace", "namePrefix", "nameSuffix")


def bases_of(settings: Iterable[Settings], arguments: Arguments) -> Bases:
    """What the environments of a command are compared with."""
    configurations = [of_env.configuration for of_env in settings]
    folders = {one.output: one.environment for one in configurations if one.output}
    folders |= {folder: "" for folder in filter(None, [getattr(arguments, "output", None)]) if folder != "-"}
    return Bases(arguments, configurations[0].file, folders)


def own_trainjobs(documents: Iterable[Document], options: Options) -> dict[JobKey, Json]:
    """The TrainJobs with what is their own, by namespace and name."""
    trainjobs: dict[JobKey, Json] = {}
    documents = list(documents)
    around = Surroundings(documents)
    for document in documents:
        metadata = document.data.get("metadata")
        if document.data.get("kind") in JOB_KINDS and is_trainer_document(document.data) and isinstance(metadata, dict):
            key = identity_of(document.data, options.namespace)[0], str(metadata.get("name"))
            trainjobs[key] = own_trainjob(
                document, name_hash=options.name_hash, config_maps=owned(document.data, around, key[0])
            )
    return trainjobs


def no_base(refused: Diagnostic, compared: str, base: str | None) -> Diagnostic:
    """The error that what is to be compared with the base cannot be, with what to fetch."""
    message = f"there is no base to compare {compared} with: {refused.message}"
    hint, (remote, slash, branch) = refused.hint, (base or "").removeprefix("refs/remotes/").partition("/")
    if refused.code == "NoSuchRevision" and hint == REVISION_HINT:
        # A clone of one branch keeps no other under its name unless it is told to.
        fetch = f"git fetch {remote} {branch}:refs/remotes/{remote}/{branch}" if slash else "git fetch"
        near = did_you_mean(base or "", branches_and_tags(os.curdir, full=(base or "").startswith("refs/")))
        hint = f"{near and f'{near} Otherwise, '}run `{fetch}` (in GitHub Actions, set `fetch-depth: 0`)"
    return Diagnostic("NoBase", "error", message, f"{hint}, or trust the files as they are with --base none")
