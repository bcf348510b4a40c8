"""The current folder as of a git revision, in a temporary copy from which commands read like from the folder itself."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Sequence
from contextlib import chdir, contextmanager

from trainc.cli.command import Arguments, temporary_folder
from trainc.cli.settings import Settings
from trainc.reading.git import Repository, repository_of, write_revision
from trainc.startup.records import dataclass


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


@contextmanager
def copy_of_revision(revision: str, arguments: Arguments, only: Sequence[str] = ()) -> Iterator[Copy]:
    """Work in the current folder as of a revision, in a copy that is removed at the end.

    `only`, relative to the top of the repository, limits the copy to files at or below these paths. Raises CompileError
    if the revision cannot be read.
    """
    with temporary_folder("trainc-") as folder:
        copy = copy_in(folder, revision, arguments, only)
        with chdir(copy.inside):
            yield copy


def copy_in(folder: str, revision: str, arguments: Arguments, only: Sequence[str] = ()) -> Copy:
    """Make such a copy in a folder."""
    repository = here()
    tree = os.path.join(os.path.realpath(folder), "tree")
    # Marks the root of the repository, as in the working tree.
    os.makedirs(os.path.join(tree, ".git"))
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
