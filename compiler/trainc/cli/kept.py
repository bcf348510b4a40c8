"""Jobs that are kept as built: which files stay, what has changed since, and what `build --check` believes of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from io import BytesIO

from trainc.cli.command import Arguments, UsageError
from trainc.cli.revisions import Copy, copy_of_revision, here
from trainc.cli.settings import Settings, limits_of, settings_of
from trainc.cli.under_base import NO_BASE, no_base
from trainc.emit.name_hash import ALPHABET, LENGTH
from trainc.findings import Diagnostic, Source, has_errors
from trainc.findings.compile_error import CompileError
from trainc.findings.text import counted, did_you_mean
from trainc.kube.names import JOB_KINDS
from trainc.kube.releases import NEWEST_RELEASE
from trainc.options import Options
from trainc.output.folder import bytes_at, foreign_files, text_at
from trainc.output.keeping import Base, BuildLine, Choices, JobKey, Keeping, ReadText, Rendered, digest_of, prove
from trainc.output.ownership import file_name
from trainc.pipeline.session import Session
from trainc.pipeline.valid_document import ValidDocument
from trainc.project.configuration import Configuration
from trainc.project.dialects import is_trainer_document
from trainc.project.settings_file import read_configuration
from trainc.reading.document import Document
from trainc.reading.files import READ_SUFFIXES
from trainc.reading.git import commit_of, find_changed_files, merge_base, submodules
from trainc.reading.opening import CONFIGURATION_FILE, is_below
from trainc.reading.yaml_reader import read_documents
from trainc.startup.records import dataclass, field, replace

_SOME = 3


def keeping_in(
    folder: str, settings: Settings, documents: Iterable[Document], arguments: Arguments | None = None
) -> Keeping:
    """Who decides which rendered files of `folder` stay as built; a build has `arguments` with which jobs are chosen."""
    from trainc import __version__

    digests = digests_of(documents, settings.options)
    keeping = Keeping(
        folder,
        digests,
        __version__,
        settings.options.release or NEWEST_RELEASE,
        lambda path: text_at(folder, path),
        choices=Choices() if arguments is None else _choices(arguments),
        limits=settings.options.limits,
    )
    if arguments is not None and keeping.choices.keep:
        keeping.carry = carried(folder, [file_name(*key) for key in digests], settings, arguments)
    return keeping


def _choices(arguments: Arguments) -> Choices:
    return Choices(tuple(arguments.rebuild or ()), tuple(arguments.keep or ()))


def check_choices(arguments: Arguments, environments: Iterable[Keeping | None]) -> None:
    """Raise UsageError if --rebuild or --keep names a job that no environment has."""
    keepings = [keeping for keeping in environments if keeping is not None]
    if not keepings:
        raise UsageError("--rebuild and --keep need an output folder, and `rebuild: changed-jobs` in trainc.yaml")
    jobs = [job for keeping in keepings for job in keeping.digests]
    if unused := _choices(arguments).unused(jobs):
        job_names = [name for job in jobs for name in (job[1], "/".join(job))]
        raise UsageError(f"there is no TrainJob {unused[0]}; {did_you_mean(unused[0], job_names) or 'check the name'}")


def digests_of(documents: Iterable[Document], options: Options) -> dict[JobKey, str]:
    """The digest of every TrainJob, by namespace and name."""
    digests: dict[JobKey, str] = {}
    for document in documents:
        metadata = document.data.get("metadata")
        if document.data.get("kind") in JOB_KINDS and is_trainer_document(document.data) and isinstance(metadata, dict):
            key = str(metadata.get("namespace") or options.namespace or ""), str(metadata.get("name"))
            digests[key] = digest_of(document.data)
    return digests


# What has changed since the kept files were built.


@dataclass(frozen=True, slots=True)
class Cause:
    """Why kept jobs would be compiled to something else: lines of a file, or else a reason in words."""

    jobs: tuple[str, ...]
    lines: tuple[Source, ...] = ()
    reason: str = ""

    @property
    def count(self) -> str:
        """The jobs in a sentence."""
        return f"{counted(len(self.jobs), 'job')} {'is' if len(self.jobs) == 1 else 'are'} kept as built"

    @property
    def sentence(self) -> str:
        """The cause in one sentence."""
        return f"{self.count}; {self.reason or f'{self.lines[0].file}:{self.lines[0].line} has changed since'}"

    def diagnostic(self) -> Diagnostic:
        """The cause at its line."""
        names = ", ".join(self.jobs[:_SOME]) + (f" and {len(self.jobs) - _SOME} more" if self.jobs[_SOME:] else "")
        other_lines = len({source.line for source in self.lines}) - 1
        where = f"this line and {counted(other_lines, 'other')} have" if other_lines > 0 else "this line has"
        message = f"{self.count}; {self.reason or f'{where} changed since'}: {names}"
        hint = "trainc build --rebuild NAME compiles a job again, and --rebuild all every job"
        return Diagnostic("KeptAsBuilt", "info", message, hint, source=self.lines[0] if self.lines else None)


def causes_of(session: Session, keeping: Keeping) -> list[Cause]:
    """Why the kept files differ from what compiling gives, for each file that has changed since they were built.

    Jobs that differ in the same way are explained once.
    """
    jobs = {job.key: job for job in session.jobs}
    groups: dict[object, list[Rendered]] = {}
    for rendered in keeping.kept_files:
        if rendered.compiled is not None:
            groups.setdefault(_difference(rendered, jobs[rendered.namespace, rendered.name]), []).append(rendered)
    lines: dict[str, dict[Source, None]] = {}
    affected: dict[str, dict[str, None]] = {}
    for group in groups.values():
        first = group[0]
        changed = _changed_lines(session, jobs[first.namespace, first.name], first)
        for source in changed:
            lines.setdefault(source.file, {})[source] = None
        for cause in [source.file for source in changed] or [_reason(first.line, keeping)]:
            affected.setdefault(cause, {}).update(dict.fromkeys(rendered.job for rendered in group))
    return [
        Cause(
            tuple(names),
            tuple(sorted(lines.get(cause, ()), key=lambda s: (s.line, s.column))),
            "" if cause in lines else cause,
        )
        for cause, names in affected.items()
    ]


def _reason(line: BuildLine, keeping: Keeping) -> str:
    """Why a job differs although its runtime has not changed."""
    if line.release != keeping.release:
        return f"built for Trainer {line.release}, not {keeping.release}"
    if line.trainc != keeping.trainc:
        return f"trainc {line.trainc} compiled differently from {keeping.trainc}"
    return "the settings in trainc.yaml have changed since"


def _difference(rendered: Rendered, job: ValidDocument) -> object:
    """What a kept file and the compiled text differ in, the same for jobs that differ in nothing but their names."""
    import re

    name = re.compile(rf"{re.escape(rendered.name)}(?:-[{ALPHABET}]{{{LENGTH}}}\b)?")
    before, after = (set(name.sub("", text or "").splitlines()) for text in (rendered.body, rendered.compiled))
    return tuple(sorted(job.data["spec"]["runtimeRef"].items())), frozenset(before - after), frozenset(after - before)


def _changed_lines(session: Session, job: ValidDocument, rendered: Rendered) -> list[Source]:
    from trainc.explain.kept import changes, sources_of
    from trainc.explain.replay import Recorder, explanation

    recorder = Recorder()
    replace(session, hold=None, judge=None).compile(job, recorder)
    objects = [
        document.data for document in read_documents(rendered.body.encode(), rendered.path, session.options.limits)[0]
    ]
    return sources_of(changes(explanation(recorder), objects))


# Compares an output folder with the base revision of a change: what `build --check` believes of kept files.
#
# A kept file that differs from what compiling gives has to be as it was at the base, and so has a file that trainc
# did not write. What the files themselves say proves nothing. output/keeping.py has the rules; this module reads git.


@dataclass(frozen=True, slots=True)
class Compared:
    """An output folder, and the files in it that are compared with the base, by their paths in it."""

    folder: str
    environment: str
    kept_files: Sequence[Rendered] = ()
    foreign: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def paths(self) -> list[str]:
        """The paths of all these files."""
        return [*(rendered.path for rendered in self.kept_files), *self.foreign]

    @property
    def count(self) -> int:
        """The number of these files."""
        return len(self.kept_files) + len(self.foreign)


def prove_outputs(
    outputs: Iterable[tuple[str, str, Keeping | None]],
    configuration: Configuration,
    arguments: Arguments,
    *,
    covers_all: bool,
) -> dict[str, list[Diagnostic]]:
    """Return what a comparison with the base finds, by output folder.

    `outputs` are the folders with their environments and decisions. With `covers_all` they are all that trainc.yaml
    names, and folders that only the base names are compared too.
    """
    entries = list(outputs)
    if arguments.base is None and not any(keeping for _, _, keeping in entries):
        return {}
    compared = [
        Compared(
            folder, environment, keeping.kept_files if keeping else (), {**foreign_files(folder), **_submodules(folder)}
        )
        for folder, environment, keeping in entries
    ]
    count = sum(output.count for output in compared)
    if arguments.base == NO_BASE:
        return {output.folder: [_trusted(output)] for output in compared if output.count}
    if arguments.base is None and not count:
        return {}
    try:
        bases = _read_bases(compared, configuration, arguments, covers_all=covers_all)
    except CompileError as error:
        files = f"{counted(count, 'file')} that {_differ(count)}" if count else "rendered files"
        return {output.folder: [no_base(error.diagnostics[0], files, arguments.base)] for output in compared}
    diagnostics: dict[str, list[Diagnostic]] = {}
    for output, base in bases:
        errors, permitted = prove(output.folder, output.kept_files, output.foreign, base)
        diagnostics[output.folder] = [*errors, *([_adopted(output.folder, permitted, base)] if permitted else [])]
    return diagnostics


def _submodules(folder: str) -> dict[str, bytes]:
    """The submodules in an output folder, by path: a GitOps tool may clone them although this clone lacks their files."""
    with suppress(CompileError):
        repository = here()
        return submodules(repository, os.path.relpath(os.path.realpath(folder), os.path.realpath(repository.top)))
    return {}


def carried(folder: str, paths: Sequence[str], settings: Settings, arguments: Arguments) -> ReadText:
    """Return a function that reads the files which the last commit has in place of those in `folder`.

    That is the folder from which a changed `output` moves away.
    """
    texts: dict[str, str] | None = None

    def read(path: str) -> str | None:
        nonlocal texts
        if texts is None:
            compared = Compared(folder, settings.configuration.environment, foreign=dict.fromkeys(paths, b""))
            texts = {}
            with suppress(CompileError):
                ((_, base),) = _read_bases([compared], settings.configuration, arguments, covers_all=False)
                contents = ((path, base.read_bytes(path)) for path in paths)
                texts = {path: data.decode(errors="replace") for path, data in contents if data is not None}
        return texts.get(path)

    return read


def _adopted(folder: str, paths: Sequence[str], base: Base) -> Diagnostic:
    message = f"{base.name} permits {counted(len(paths), 'file')} that trainc did not compile: "
    hint = "the trainc.yaml of that revision lists them under `adopted`"
    return Diagnostic("AdoptedFile", "info", message + ", ".join(f"{folder}/{path}" for path in paths), hint)


def _trusted(compared: Compared) -> Diagnostic:
    files = f"{counted(compared.count, 'file')} in {compared.folder} that {_differ(compared.count)}"
    message = f"--base none trusts {files}"
    hint = "in a pull request, compare with the branch that it will be merged into: --base origin/main"
    return Diagnostic("NoBase", "info", message, hint)


def _differ(count: int) -> str:
    return f"{'differs' if count == 1 else 'differ'} from what compiling gives"


def _read_bases(
    compared: Sequence[Compared], configuration: Configuration, arguments: Arguments, *, covers_all: bool
) -> list[tuple[Compared, Base]]:
    """Read the base of each folder and, with `covers_all`, of folders that are outputs at the base only.

    Of the revision, only trainc.yaml and what is compared is read. Raises CompileError if that is not possible.
    """
    repository = here()
    revision = arguments.base or "HEAD"
    commit = commit_of(repository, revision) if arguments.base is None else merge_base(repository, revision)
    name = revision if commit.startswith(revision) else f"{revision} ({commit[:9]})"
    top, folder = os.path.realpath(repository.top), os.path.dirname(configuration.file or "")
    home = os.path.realpath(folder or os.curdir)
    by_path = {os.path.relpath(os.path.realpath(output.folder), top): output for output in compared}
    base_arguments = Arguments(**vars(arguments))
    base_arguments.config, base_arguments.paths, base_arguments.env = configuration.file, [], None
    settings_file = os.path.join(home, os.path.basename(configuration.file or CONFIGURATION_FILE))
    with copy_of_revision(commit, base_arguments, [os.path.relpath(settings_file, top)]) as copy:
        outputs = _outputs(copy)
        by_name = {output.environment: path for path, output in outputs.items()}
        bases: list[tuple[Compared, Base]] = []
        for path, output in by_path.items():
            there = path if path in outputs else by_name.get(output.environment, path)
            shown_folder = os.path.relpath(os.path.join(top, path), home)
            data, base_settings = _contents(copy, there, output.paths, output.foreign), outputs.get(there)
            digests: dict[JobKey, str] = {}
            if base_settings is not None and output.kept_files:
                digests = _digests(copy, base_settings, os.path.relpath(home, top))
            adopted = () if base_settings is None else base_settings.adopted
            bases.append((output, Base(name, shown_folder, data.get, digests, adopted)))
        for path in outputs if covers_all else ():
            if path not in by_path and (files := _left_in(os.path.join(top, path), top, by_path)):
                shown_folder = os.path.relpath(os.path.join(top, path), home)
                local_folder = os.path.relpath(os.path.join(top, path), os.path.join(top, repository.prefix))
                data = _contents(copy, path, list(files), files)
                bases.append((Compared(local_folder, "", foreign=files), Base(name, shown_folder, data.get, {})))
        return bases


def _outputs(copy: Copy) -> dict[str, Configuration]:
    """The output folders that the trainc.yaml of a revision names, by their paths from the top, with their settings."""
    if copy.links:
        copy.add()
    file = copy.arguments.config
    if file is None or not os.path.isfile(file):
        return {}
    configuration = read_configuration([], file, limits_of(copy.arguments))
    configurations = configuration.environments.values() or [configuration]
    outputs = ((env.output, env) for env in configurations if env.output)
    return {os.path.relpath(os.path.realpath(path), copy.tree): env for path, env in outputs}


def _contents(copy: Copy, folder: str, paths: Sequence[str], now: Mapping[str, bytes]) -> dict[str, bytes | None]:
    """The content of files and submodules of a folder in a revision; `now` has that of files of other kinds here."""
    if not paths:
        return {}
    copy.add([folder])
    files = {path: bytes_at(os.path.join(copy.tree, folder), path) for path in paths}
    modules = submodules(copy.repository, folder, copy.revision)
    unread = [path for path in now if not path.endswith(READ_SUFFIXES) and path not in modules]
    others = {f"{folder}/{path}": now[path] for path in unread}
    changed = find_changed_files(copy.repository, copy.revision, others, limits_of(copy.arguments)) if others else {}
    return {**files, **{path: changed.get(f"{folder}/{path}", now[path]) for path in unread}, **modules}


def _digests(copy: Copy, configuration: Configuration, home: str) -> dict[JobKey, str]:
    """The digests of the TrainJobs of a revision. What is outside the folder `home` is read only if it is needed."""
    env = [configuration.environment] * bool(configuration.environment)
    arguments = Arguments(**{**vars(copy.arguments), "env": env})
    paths = [*(configuration.sources or ()), *(configuration.overlay or ()), *(arguments.overlay or ())]
    inside = [os.path.relpath(os.path.realpath(path), copy.tree) for path in paths]
    is_enough = home != os.curdir and all(is_below(path, home) for path in inside)
    if copy.add([home] if is_enough else []) and is_enough:
        copy.add()
    try:
        settings = settings_of(arguments)
    except CompileError:  # An overlay outside that folder, of which another one is made.
        copy.add()
        settings = settings_of(arguments)
    inputs = settings.read(BytesIO(), settings.output)
    if is_enough and inputs.sweeps and has_errors(inputs.diagnostics):  # Its base may be in any file.
        copy.add()
        inputs = settings.read(BytesIO(), settings.output)
    return digests_of(inputs.documents, settings.options)


def _left_in(folder: str, top: str, output_paths: Iterable[str]) -> dict[str, bytes]:
    """The files in a folder that is no longer an output, apart from those in folders that are."""
    outputs = tuple(os.path.join(top, path) + os.sep for path in output_paths)
    files = foreign_files(folder, ours=True)
    return {path: data for path, data in files.items() if not os.path.join(folder, path).startswith(outputs)}
