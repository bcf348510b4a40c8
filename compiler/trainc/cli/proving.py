"""Compares an output folder with the base revision of a change: what `build --check` believes of kept files.

A kept file that differs from what compiling gives has to be as it was at the base, and so has a file that trainc did not
write. What the files themselves say proves nothing. output/keeping.py has the rules; this module reads git.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from io import BytesIO

from trainc.cli.command import Arguments
from trainc.cli.kept import digests_of
from trainc.cli.revisions import Copy, copy_of_revision, here
from trainc.cli.settings import Settings, limits_of, settings_of
from trainc.findings import CompileError, Diagnostic
from trainc.findings.text import counted
from trainc.output.folder import bytes_at, foreign_files
from trainc.output.keeping import Base, JobKey, Keeping, Read, Rendered, prove
from trainc.project.configuration import FILE_NAME, Configuration, read_configuration
from trainc.reading.git import SHALLOW_HINT, commit_of, merge_base, submodules
from trainc.reading.opening import is_below
from trainc.startup.records import dataclass, field

NO_BASE = "none"


@dataclass(frozen=True, slots=True)
class Compared:
    """An output folder, and the files in it that are compared with the base, by their paths in it."""

    folder: str
    environment: str
    kept: Sequence[Rendered] = ()
    foreign: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def paths(self) -> list[str]:
        """The paths of all these files."""
        return [*(one.path for one in self.kept), *self.foreign]

    @property
    def count(self) -> int:
        """The number of these files."""
        return len(self.kept) + len(self.foreign)


def prove_outputs(
    outputs: Iterable[tuple[str, str, Keeping | None]],
    configuration: Configuration,
    arguments: Arguments,
    *,
    whole: bool,
) -> dict[str, list[Diagnostic]]:
    """Return what a comparison with the base finds, by output folder.

    `outputs` are the folders with their environments and decisions. With `whole` they are all that trainc.yaml names, and
    folders that only the base names are compared too.
    """
    given = list(outputs)
    if arguments.base is None and not any(keeping for _, _, keeping in given):
        return {}
    compared = [
        Compared(folder, environment, keeping.kept if keeping else (), {**foreign_files(folder), **_submodules(folder)})
        for folder, environment, keeping in given
    ]
    count = sum(each.count for each in compared)
    if arguments.base == NO_BASE:
        return {each.folder: [_trusted(each)] for each in compared if each.count}
    if arguments.base is None and not count:
        return {}
    try:
        bases = _read_bases(compared, configuration, arguments, whole=whole)
    except CompileError as error:
        return {each.folder: [_no_base(error.diagnostics[0], count, arguments)] for each in compared}
    found: dict[str, list[Diagnostic]] = {}
    for each, base in bases:
        errors, permitted = prove(each.folder, each.kept, each.foreign, base)
        found[each.folder] = [*errors, *([_adopted(each.folder, permitted, base)] if permitted else [])]
    return found


def _submodules(folder: str) -> dict[str, bytes]:
    """The submodules in an output folder, by path: a GitOps tool may clone them although this clone lacks their files."""
    with suppress(CompileError):
        repository = here()
        return submodules(repository, os.path.relpath(os.path.realpath(folder), os.path.realpath(repository.top)))
    return {}


def carried(folder: str, paths: Sequence[str], settings: Settings, arguments: Arguments) -> Read:
    """Return a function that reads the files which the last commit has in place of those in `folder`.

    That is the folder from which a changed `output` moves away.
    """
    texts: dict[str, str] | None = None

    def read(path: str) -> str | None:
        nonlocal texts
        if texts is None:
            wanted = Compared(folder, settings.configuration.environment, foreign=dict.fromkeys(paths, b""))
            texts = {}
            with suppress(CompileError):
                ((_, base),) = _read_bases([wanted], settings.configuration, arguments, whole=False)
                texts = {path: data.decode(errors="replace") for path in paths if (data := base.read(path)) is not None}
        return texts.get(path)

    return read


def _adopted(folder: str, paths: Sequence[str], base: Base) -> Diagnostic:
    message = f"{base.name} permits {counted(len(paths), 'file')} that trainc did not compile: "
    hint = "the trainc.yaml of that revision lists them under `adopted`"
    return Diagnostic("AdoptedFile", "info", message + ", ".join(f"{folder}/{path}" for path in paths), hint)


def _trusted(each: Compared) -> Diagnostic:
    files = f"{counted(each.count, 'file')} in {each.folder} that {_differ(each.count)}"
    message = f"--base none trusts {files}"
    hint = "in a pull request, compare with the branch that it will be merged into: --base origin/main"
    return Diagnostic("NoBase", "info", message, hint)


def _differ(count: int) -> str:
    return f"{'differs' if count == 1 else 'differ'} from what compiling gives"


def _no_base(refused: Diagnostic, count: int, arguments: Arguments) -> Diagnostic:
    files = f"{counted(count, 'file')} that {_differ(count)}" if count else "rendered files"
    message = f"there is no base to compare {files} with: {refused.message}"
    hint, (remote, slash, branch) = refused.hint, (arguments.base or "").partition("/")
    if refused.code == "NoSuchRevision" and hint != SHALLOW_HINT:
        fetch = f"git fetch {remote} {branch}" if slash else "git fetch"
        hint = f"run `{fetch}` (in GitHub Actions, set `fetch-depth: 0`)"
    return Diagnostic("NoBase", "error", message, f"{hint}, or trust the files as they are with --base none")


def _read_bases(
    compared: Sequence[Compared], configuration: Configuration, arguments: Arguments, *, whole: bool
) -> list[tuple[Compared, Base]]:
    """Read the base of each folder and, with `whole`, of folders that are outputs at the base only.

    Of the revision, only trainc.yaml and what is compared is read. Raises CompileError if that is not possible.
    """
    repository = here()
    revision = arguments.base or "HEAD"
    commit = commit_of(repository, revision) if arguments.base is None else merge_base(repository, revision)
    name = revision if commit.startswith(revision) else f"{revision} ({commit[:9]})"
    top, folder = os.path.realpath(repository.top), os.path.dirname(configuration.file or "")
    home = os.path.realpath(folder or os.curdir)
    places = {os.path.relpath(os.path.realpath(each.folder), top): each for each in compared}
    given = Arguments(**vars(arguments))
    given.config, given.paths, given.env = configuration.file, [], None
    settings_file = os.path.join(home, os.path.basename(configuration.file or FILE_NAME))
    with copy_of_revision(commit, given, [os.path.relpath(settings_file, top)]) as copy:
        outputs = _outputs(copy)
        by_name = {each.environment: place for place, each in outputs.items()}
        found: list[tuple[Compared, Base]] = []
        for place, each in places.items():
            there = place if place in outputs else by_name.get(each.environment, place)
            shown = os.path.relpath(os.path.join(top, place), home)
            data, known = _contents(copy, there, each.paths), outputs.get(there)
            digests = _digests(copy, known, os.path.relpath(home, top)) if known is not None and each.kept else {}
            found.append((each, Base(name, shown, data.get, digests, () if known is None else known.adopted)))
        for place in outputs if whole else ():
            if place not in places and (files := _left_in(os.path.join(top, place), top, places)):
                shown = os.path.relpath(os.path.join(top, place), home)
                left = os.path.relpath(os.path.join(top, place), os.path.join(top, repository.prefix))
                data = _contents(copy, place, list(files))
                found.append((Compared(left, "", foreign=files), Base(name, shown, data.get, {})))
        return found


def _outputs(copy: Copy) -> dict[str, Configuration]:
    """The output folders that the trainc.yaml of a revision names, by their paths from the top, with their settings."""
    if copy.links:
        copy.add()
    file = copy.arguments.config
    if file is None or not os.path.isfile(file):
        return {}
    configuration = read_configuration([], file, limits_of(copy.arguments))
    every = configuration.environments.values() or [configuration]
    return {os.path.relpath(os.path.realpath(each.output), copy.tree): each for each in every if each.output}


def _contents(copy: Copy, folder: str, paths: Sequence[str]) -> dict[str, bytes | None]:
    """The content of files and submodules of a folder in a revision."""
    if not paths:
        return {}
    copy.add([folder])
    files = {path: bytes_at(os.path.join(copy.tree, folder), path) for path in paths}
    return {**files, **submodules(copy.repository, folder, copy.revision)}


def _digests(copy: Copy, configuration: Configuration, home: str) -> dict[JobKey, str]:
    """The digests of the TrainJobs of a revision. What is outside the folder `home` is read only if it is needed."""
    arguments = Arguments(
        **{**vars(copy.arguments), "env": [configuration.environment] * bool(configuration.environment)}
    )
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
    return digests_of(settings.read(BytesIO(), settings.output).documents, settings.options)


def _left_in(folder: str, top: str, places: Iterable[str]) -> dict[str, bytes]:
    """The files in a folder that is no longer an output, apart from those in folders that are."""
    outputs = tuple(os.path.join(top, place) + os.sep for place in places)
    files = foreign_files(folder, ours=True)
    return {path: data for path, data in files.items() if not os.path.join(folder, path).startswith(outputs)}
