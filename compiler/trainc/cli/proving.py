"""Compares an output folder with the base revision of a change: what `build --check` believes of kept files.

A kept file that differs from what compiling gives has to be as it was at the base, and so has a file that trainc did not
write. What the files themselves say proves nothing. output/keeping.py has the rules; this module reads git.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from io import BytesIO

from trainc.cli.command import Arguments
from trainc.cli.kept import digests_of
from trainc.cli.revisions import Copy, copy_of_revision, here
from trainc.cli.settings import Settings, environments_of, settings_of
from trainc.findings import CompileError, Diagnostic
from trainc.findings.text import counted
from trainc.output.folder import bytes_at, foreign_files
from trainc.output.keeping import Base, Keeping, Read, Rendered, prove
from trainc.project.configuration import Configuration
from trainc.reading.git import SHALLOW_HINT, commit_of, merge_base
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
        Compared(folder, environment, keeping.kept if keeping else (), foreign_files(folder))
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
    remote, slash, branch = (arguments.base or "").partition("/")
    fetch = f"run `git fetch {remote} {branch}`" if slash else "run `git fetch`"
    hint = refused.hint if refused.hint == SHALLOW_HINT else f"{fetch} (in GitHub Actions, set `fetch-depth: 0`)"
    return Diagnostic("NoBase", "error", message, f"{hint}, or trust the files as they are with --base none")


def _read_bases(
    compared: Sequence[Compared], configuration: Configuration, arguments: Arguments, *, whole: bool
) -> list[tuple[Compared, Base]]:
    """Read the base of each folder and, with `whole`, of folders that are outputs at the base only.

    Raises CompileError if the revision cannot be read.
    """
    repository = here()
    top, home = (
        os.path.realpath(repository.top),
        os.path.realpath(os.path.dirname(configuration.file or "") or os.curdir),
    )
    revision = arguments.base or "HEAD"
    commit = commit_of(repository, revision) if arguments.base is None else merge_base(repository, revision)
    name = revision if commit.startswith(revision) else f"{revision} ({commit[:9]})"
    places = {os.path.relpath(os.path.realpath(each.folder), top): each for each in compared}
    below = os.path.relpath(home, top)
    # The rest of a large repository is read only if a setting or a symlink refers to it.
    only = [] if below == os.curdir or below.startswith(os.pardir) else [below]
    given = Arguments(**vars(arguments))
    given.config = configuration.file
    with copy_of_revision(commit, given, only) as copy:
        copy.arguments.paths, copy.arguments.env = [], None
        if only and not copy.links:
            with suppress(CompileError):
                return list(_bases(places, name, top, home, copy, whole=whole))
        if only:
            copy.complete()
        return list(_bases(places, name, top, home, copy, whole=whole))


def _bases(  # noqa: PLR0913 - places and what they are relative to
    places: Mapping[str, Compared], name: str, top: str, home: str, copy: Copy, *, whole: bool
) -> Iterator[tuple[Compared, Base]]:
    """Yield each folder with its base; `places` has the folders by their paths from `top`."""
    outputs: dict[str, Settings] = {}
    by_name: dict[str, str] = {}
    configured = copy.arguments.config is not None and os.path.isfile(copy.arguments.config)
    for each in environments_of(copy.arguments) if configured else ():
        settings = settings_of(each)
        output = settings.configuration.output
        if output is not None:
            place = os.path.relpath(os.path.realpath(output), copy.tree)
            outputs[place] = settings
            by_name[settings.configuration.environment] = place
    for place, compared in places.items():
        there = place if place in outputs else by_name.get(compared.environment, place)
        known = outputs.get(there)
        folder = os.path.relpath(os.path.join(top, place), home)
        data = {path: bytes_at(os.path.join(copy.tree, there), path) for path in compared.paths}
        if known is None:
            yield compared, Base(name, folder, data.get, {})
            continue
        documents = known.read(BytesIO(), known.output).documents if compared.kept else ()
        digests, adopted = digests_of(documents, known.options), known.configuration.adopted
        yield compared, Base(name, folder, data.get, digests, adopted)
    for place in outputs if whole else ():
        if place not in places:
            left = os.path.join(top, place)
            inside = [os.path.join(top, other) + os.sep for other in places]
            files = foreign_files(left, ours=True)
            files = {
                path: data for path, data in files.items() if not os.path.join(left, path).startswith(tuple(inside))
            }
            shown = os.path.relpath(left, os.path.join(top, copy.repository.prefix))
            data = {path: bytes_at(os.path.join(copy.tree, place), path) for path in files}
            yield Compared(shown, "", foreign=files), Base(name, os.path.relpath(left, home), data.get, {})
