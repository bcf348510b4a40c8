"""The revision that a change is compared with: its settings, its rendered files, its TrainJobs, and its errors.

With `--base` it is the commit at which the branch left that revision, otherwise HEAD. Its files are read from a temporary
copy; what is asked first is read first, and nothing twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from contextvars import copy_context
from functools import cache
from io import BytesIO
from types import MappingProxyType
from typing import Any, TypeVar

from trainc.cli.command import Arguments
from trainc.cli.revisions import Copy, copy_of_revision, here
from trainc.cli.settings import Settings
from trainc.emit.config_maps import marked_among, owned
from trainc.findings import CompileError, Diagnostic, Path, Source, format_path, has_errors
from trainc.findings.text import counted, did_you_mean, first_of
from trainc.kube.documents import Json, identity_of, qualified, value_at
from trainc.kube.names import JOB_KINDS
from trainc.options import SETTINGS, Options
from trainc.output.choices import JobKey
from trainc.output.keeping import Base, own_trainjob
from trainc.output.ownership import is_harmless, is_marked
from trainc.pipeline.inputs import Inputs
from trainc.project.boundaries import describe_loosening
from trainc.project.configuration import Configuration, merge_diagnostics
from trainc.project.dialects import is_trainer_document
from trainc.project.settings_file import read_configuration
from trainc.reading.document import Document, label_of
from trainc.reading.files import READ_SUFFIXES
from trainc.reading.git import (
    REVISION_HINT,
    History,
    branches_and_tags,
    commit_of,
    files_of_revision,
    find_changed_files,
    merge_base,
    submodules,
)
from trainc.reading.opening import CONFIGURATION_FILE, is_below, read_file
from trainc.startup.records import replace

NO_BASE = "none"
# A value is said up to this number of letters.
_LONG = 60
_T = TypeVar("_T")


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
        self._arguments = Arguments(**{**vars(arguments), "paths": [], "env": None, "config": arguments.config or file})
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

        def history(file: str) -> Iterator[str]:
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
        arguments = Arguments(
            **{**vars(copy.arguments), "env": [configuration.environment] * bool(configuration.environment)}
        )
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

    def loosened(
        self, settings: Mapping[str, Settings], of_nothing: Collection[str] = ()
    ) -> tuple[dict[str, Settings], list[Diagnostic]]:
        """Have what administrators decide judged by a named base too, and say what the change loosens.

        `settings` are those of each environment; globs `of_nothing` match no file here. Without a base that can be read, the
        result has an error.
        """
        if not self.is_named:
            return dict(settings), []
        try:
            revision = self.get()
        except CompileError as error:
            return dict(settings), [no_base(error.diagnostics[0], "trainc.yaml", self.arguments.base)]
        strict = {name: replace(of_env, at_base=revision.configuration(name)) for name, of_env in settings.items()}
        about = {name: list(self._about(of_env, of_nothing)) for name, of_env in strict.items()}
        return strict, merge_diagnostics(about)

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
        by_cause: dict[tuple[str, str, str, Source], dict[str, int]] = {}
        for name, of_env in settings.items():
            for cause, count in self._replaced(name, of_env):
                by_cause.setdefault(cause, {})[name] = count
        found = []
        for (key, what, hint, source), counts in by_cause.items():
            where = f" (in {', '.join(counts)})" if len(counts) < len(settings) else ""
            message = what.format(jobs=counted(sum(counts.values()), "job")) + where
            found.append(Diagnostic("JobsReplaced", "warning", message, hint, CONFIGURATION_FILE, key, source))
        return found

    def differs(self, file: str) -> bool:
        """Return whether a file is another one than at the revision."""
        if (revision := self.find()) is None or not os.path.isfile(file):
            return True
        limits = Settings.limits_of(self.arguments)
        now = {revision.from_top(file): read_file(file, limits.file_bytes)}
        return bool(find_changed_files(revision.repository, revision.commit, now, limits))

    def frozen_elsewhere(self, settings: Settings) -> Iterator[Diagnostic]:
        """Yield frozen jobs that an overlay gives another name or namespace: there they would run again."""
        name, revision = settings.configuration.environment, self.find()
        if revision is None or not revision.configuration(name).frozen:
            return
        base = revision.base_of(settings.output or "", name)
        there = next((path for path, of in revision.outputs.items() if of is revision.configuration(name)), "")
        files = revision.contents.get(there, {})
        jobs = [(os.path.dirname(path), os.path.basename(path)[:-5]) for path in files]
        ended = [qualified(*job) for job in jobs if base.frozen_since(*job) is not None]
        moves = [cause for cause, _ in self._replaced(name, settings) if cause[0] in _MOVING] if ended else ()
        for _, what, _, source in moves:
            message = (
                f"{first_of(ended)} is frozen in {revision.name}, and this would run it again: {what.partition(':')[0]}"
            )
            hint = "undo the change at this line, or first merge a trainc.yaml without it under `frozen`"
            yield Diagnostic("FrozenJob", "error", message, hint, source=source)

    def changes_for_all(self, settings: Settings) -> Iterator[tuple[Source, bool]]:
        """Yield the first line that has changed in each overlay, and the compile options of trainc.yaml that have.

        Each says whether the line is only next to what is gone.
        """
        if (revision := self.find()) is None:
            return
        for was, document in self._overlays(settings):
            if (at := first_difference(was, document.data)) is not None and (source := document.locate(at)):
                yield source, bool(_gone(was, document.data, at))
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

    def _overlays(self, settings: Settings) -> Iterator[tuple[Json, Document]]:
        """Yield the overlays that have changed, each with what it was."""
        from trainc.reading.yaml_reader import read_documents

        revision, limits = self.get(), settings.options.limits
        overlays = [each.overlay.document for loaded in settings.overlays for each in loaded.in_order]
        texts = {file: text for loaded in settings.overlays for file, text in loaded.texts}
        here = {revision.from_top(d.file): d for d in overlays if d.file in texts}
        now = {path: texts[document.file] for path, document in here.items()}
        for path, text in find_changed_files(revision.repository, revision.commit, now, limits).items() if now else ():
            yield next((d.data for d in read_documents(text or b"", path, limits)[0]), {}), here[path]

    def _about(self, settings: Settings, of_nothing: Collection[str]) -> Iterator[Diagnostic]:
        before, after = settings.at_base or Configuration(), settings.configuration
        top = None if after.file is None else Source(os.path.normpath(after.file), 1, 1)
        base = self.arguments.base
        hint = f"rules about what administrators decide, such as PolicyDenied, count only as {base} has them"
        for sentence in describe_loosening(before, after, of_nothing):
            about = hint if sentence.startswith("`rules`") else ""
            message = f"since {base}: {sentence.rstrip('.')}"
            key = sentence.partition("`")[2].partition("`")[0]
            source = settings.place(key) or settings.place("environments", after.environment) if top else None
            yield Diagnostic("SettingsLoosened", "info", message, about, CONFIGURATION_FILE, "", source or top)
        if after.live and before.live:
            yield from self._about_dump(after.live[0])
            from trainc.cli.live import Live

            if after.live[1] < before.live[1] and (problem := Live(after.live, self.arguments).problem) is not None:
                yield replace(problem, source=settings.place("live"))

    def _about_dump(self, folder: str) -> Iterator[Diagnostic]:
        """Say that a change edits what the cluster was doing, which counts once it is merged."""
        revision, limits = self.get(), Settings.limits_of(self.arguments)
        files = [entry.path for entry in os.scandir(folder) if entry.is_file()] if os.path.isdir(folder) else []
        now = {revision.from_top(file): read_file(file, limits.file_bytes) for file in files}
        was = find_changed_files(revision.repository, revision.commit, now, limits) if now else {}
        for file in (file for file in files if was.get(revision.from_top(file)) and file.endswith((".json", ".yaml"))):
            message = (
                f"since {self.arguments.base}: the dump {file} has changed: the states in it count once it is merged"
            )
            hint = "let only CI publish the dump: an edit can claim that a job has finished"
            yield Diagnostic("SettingsLoosened", "info", message, hint, source=Source(file, 1, 1))

    def _replaced(self, environment: str, settings: Settings) -> Iterator[tuple[tuple[str, str, str, Source], int]]:
        """Yield each setting that gives the jobs of an environment another place, with what to say of it, and their number."""
        revision = self.get()
        after, before = settings.configuration, revision.configuration(environment)
        if after.file is None or not (after.output and before.output):
            return
        there = next((path for path, output in revision.outputs.items() if output is before), "")
        count = sum(is_marked(data.decode(errors="replace")) for data in revision.contents.get(there, {}).values())
        if not count:
            return
        shown = revision.shown(there)
        changed: dict[str, tuple[str, str]] = {}
        if there != revision.from_top(after.output):
            message = f"`output` was {shown} in {revision.name}; whatever applies {shown} ends its {{jobs}}"
            changed["output"] = message, _MOVED
        with suppress(CompileError):  # What cannot be read there cannot have been compiled.
            was = revision.inputs(environment)[0].options.name_hash
            if was is not settings.options.name_hash:
                set_or_not = "set" if was else "not set"
                message = f"`nameHash` was {set_or_not} in {revision.name}: with other names, the cluster ends {{jobs}} and starts them again"
                changed["nameHash"] = message, _RENAMED
        places: dict[str, Source] = {}
        for was_overlay, document in self._overlays(settings):
            for key in _MOVING:
                if was_overlay.get(key) != document.data.get(key):
                    old, new = (str(data.get(key) or "") for data in (was_overlay, document.data))
                    to = f"in {new}" if key == "namespace" and new else "under other names"
                    message = f"`{key}` was {old or 'not set'} in {revision.name}: the cluster ends {{jobs}} and starts them again {to}"
                    changed[key] = message, _RENAMED
                    if (at := document.locate((key,) if new else ())) is not None:
                        places[key] = at
        for key, (message, hint) in changed.items():
            source = (
                places.get(key)
                or settings.place(key)
                or next((line for line, _ in self.changes_for_all(settings)), None)
                or Source(os.path.normpath(after.file), 1, 1)
            )
            yield (key, message, hint.format(key=key), source), count


_MOVED = "let it apply the new folder first, without pruning; `trainc diff git:REV` says what becomes of each job"
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
    marked = marked_among(document.data for document in documents)
    for document in documents:
        metadata = document.data.get("metadata")
        if document.data.get("kind") in JOB_KINDS and is_trainer_document(document.data) and isinstance(metadata, dict):
            key = identity_of(document.data, options.namespace)[0], str(metadata.get("name"))
            trainjobs[key] = own_trainjob(
                document, name_hash=options.name_hash, config_maps=owned(document.data, marked, key[0])
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


def changed_rules(before: Sequence[Document], now: Sequence[Document], base: str) -> Iterator[Diagnostic]:
    """Yield where and how rules are others than before, apart from the texts that they print."""
    hint = f"jobs that this change builds have to meet the rules as they are and as {base} has them"

    def about(source: Source | None, sentence: str) -> Diagnostic:
        message = f"since {base}: {sentence}"
        return Diagnostic("SettingsLoosened", "info", message, hint, CONFIGURATION_FILE, source=source)

    def without_texts(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without_texts(v) for key, v in value.items() if key not in ("message", "messageExpression")}
        return [*map(without_texts, value)] if isinstance(value, list) else value

    there, here = ({label_of(d.data): d for d in side} for side in (before, now))
    for label, document in there.items():
        was = without_texts(document.data)
        new = _without_stricter(was, without_texts(here[label].data)) if label in here else None
        if new is None:
            source = next((d.locate(()) for d in now if d.file == document.file), None)
            what = "is gone, which may let more pass" if label.startswith("ValidatingAdmissionPolicy") else "is gone"
            yield about(source, f"{label} {what}")
        elif (at := first_difference(was, new)) is not None:
            old, value = value_at(was, at), value_at(new, at)
            gone = _gone(was, new, at)
            at, old = ((*at, gone[0]), old[gone[0]]) if gone else (at, old)
            is_short = isinstance(old, str | int) and len(str(old)) < _LONG
            shown = (value, old) if type(value) is type(old) else (json.dumps(value, default=str), json.dumps(old))
            what = f"is {'gone' if gone else shown[0]}; it was {shown[1]}" if is_short else "has changed"
            source = here[label].locate(at[:-1] if gone else at)
            yield about(source, f"{label}: {format_path(at)} {what}{', which lets more pass' * (old == 'Deny')}")
    for label in here.keys() - there.keys():
        if not label.startswith("ValidatingAdmissionPolicy"):
            yield about(here[label].locate(()), f"{label} is new")


_LEVELS = ("privileged", "baseline", "restricted")
# Whether a field of a policy, its binding or a namespace refuses all that it refused.
_STRICTER: dict[str, Callable[[Any, Any], bool]] = {
    "validations": lambda was, now: all(rule in now for rule in was),
    "validationActions": lambda was, now: "Deny" in now or {*was} <= {*now},
    "failurePolicy": lambda _, now: now == "Fail",
    "pod-security.kubernetes.io/enforce": lambda was, now: (
        now in _LEVELS[_LEVELS.index(was) if was in _LEVELS else 3 :]
    ),
}


def _without_stricter(was: Any, now: Any) -> Any:
    """Return a rule as it is now, with what only refuses more as it was."""
    if not (isinstance(was, dict) and isinstance(now, dict)):
        return now
    inner = {key: _without_stricter(was[key], now[key]) for key in now if key in was and key not in _STRICTER}
    more = {
        key: was[key] for key, refuses in _STRICTER.items() if key in was and key in now and refuses(was[key], now[key])
    }
    return {**now, **inner, **more}


def first_difference(before: Any, now: Any) -> Path | None:
    """Return the path of the first value that differs, in what there is now."""
    if before == now:
        return None
    pairs: Iterator[tuple[Any, Any, Any]] = iter(())
    if isinstance(before, dict) and isinstance(now, dict):
        pairs = ((key, before.get(key), now.get(key)) for key in (*now, *before))
    elif isinstance(before, list) and isinstance(now, list) and len(before) <= len(now):
        pairs = zip(range(len(now)), [*before, *[None] * (len(now) - len(before))], now, strict=True)
    for step, old, new in pairs:
        if old != new:
            return () if new is None else (step, *(first_difference(old, new) or ()))
    return ()


def _gone(before: Any, now: Any, at: Path) -> list[str]:
    """Return the keys that a mapping had and no longer has."""
    old, new = value_at(before, at), value_at(now, at)
    return [key for key in old if key not in new] if isinstance(old, dict) and isinstance(new, dict) else []
