"""The current folder as of a git revision, in a temporary copy from which commands read like from the folder itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager
from contextvars import ContextVar
from functools import cache

from trainc.cli.command import Arguments, temporary_folder
from trainc.cli.settings import Settings
from trainc.reading.git import Repository, commit_of, origin_of, repository_of, run_git, write_revision
from trainc.reading.opening import write_file
from trainc.startup.records import dataclass

# What makes the folder of copies that several readers have in common, for the first of them.
_shared: ContextVar[Callable[[], str] | None] = ContextVar("_shared", default=None)


@dataclass(slots=True)
class Copy:
    """The files of a revision in the folder `tree`, with `arguments` that name them; `links` if there are symlinks."""

    tree: str
    repository: Repository
    revision: str
    arguments: Arguments
    links: bool

    @property
    def inside(self) -> str:
        """What stands for the current folder."""
        return os.path.join(self.tree, self.repository.prefix)

    def add(self, paths: Sequence[str] = (), without: Container[str] = ()) -> bool:
        """Add the files at or below some paths from the top, or all; return whether there are symlinks among them."""
        limits = Settings.limits_of(self.arguments)
        return write_revision(self.repository, self.revision, self.tree, limits, paths, without=without)

    def make_repository(self) -> None:
        """Make it a repository with the branches, tags and origin of the other, for what asks git."""
        original, folder = self.repository.top, os.path.join(self.tree, ".git")
        run_git(self.tree, ["init", "--quiet", "--template="])
        refs = run_git(original, ["for-each-ref", "--format=%(objectname) %(refname)"])
        objects = run_git(original, ["rev-parse", "--path-format=absolute", "--git-path", "objects"])
        write_file(os.path.join(folder, "packed-refs"), refs.decode(errors="replace"))
        write_file(os.path.join(folder, "objects", "info", "alternates"), objects.decode(errors="replace"))
        if (origin := origin_of(original)) is not None:
            run_git(self.tree, ["config", "remote.origin.url", origin[0]])


@contextmanager
def copy_of_revision(revision: str, arguments: Arguments, only: Sequence[str] = ()) -> Iterator[Copy]:
    """Work in the current folder as of a revision, in a copy that is removed at the end.

    `only`, relative to the top of the repository, limits the copy to files at or below these paths. Raises CompileError
    if the revision cannot be read.
    """
    with ExitStack() as stack:
        if (shared := _shared.get()) is None:
            folder = stack.enter_context(temporary_folder("trainc-"))
        else:
            folder = os.path.join(shared(), commit_of(here(), revision))
        copy = copy_in(folder, revision, arguments, only)
        stack.enter_context(chdir(copy.inside))
        yield copy


@contextmanager
def shared_copies() -> Iterator[None]:
    """Have one copy of each revision for all that read it while this lasts: what one of them adds is there for the others."""
    with ExitStack() as stack:
        token = _shared.set(cache(lambda: os.path.realpath(stack.enter_context(temporary_folder("trainc-")))))
        try:
            yield
        finally:
            _shared.reset(token)


def copy_in(folder: str, revision: str, arguments: Arguments, only: Sequence[str] = ()) -> Copy:
    """Make such a copy in a folder."""
    repository = here()
    tree = os.path.join(os.path.realpath(folder), "tree")
    # Marks the root of the repository, as in the working tree.
    os.makedirs(os.path.join(tree, ".git"), exist_ok=True)
    os.makedirs(os.path.join(tree, repository.prefix), exist_ok=True)
    links = write_revision(repository, revision, tree, Settings.limits_of(arguments), only)
    moved = Arguments(**vars(arguments))
    moved.config = arguments.config and _moved(arguments.config, repository)
    for name in ("runtimes", "overlay"):
        setattr(moved, name, [_moved(path, repository) for path in getattr(arguments, name) or ()] or None)
    return Copy(tree, repository, revision, moved, links)


def here() -> Repository:
    """The repository around the current folder. Raises CompileError if there is none."""
    return repository_of(".")


def _moved(path: str, repository: Repository) -> str:
    inside = os.path.relpath(os.path.realpath(path), os.path.realpath(repository.top))
    if inside.startswith(os.pardir):
        return os.path.abspath(path)
    return os.path.relpath(inside, repository.prefix or ".")


def path_from_top(path: str | None, repository: Repository) -> str:
    """A path in a revision, relative to the repository root. For git, only `./` paths start at the current folder."""
    if path is None or path.startswith(("./", "../")) or path in {".", ".."}:
        return os.path.normpath(os.path.join(repository.prefix, path or "."))
    return os.path.normpath(path or ".")
