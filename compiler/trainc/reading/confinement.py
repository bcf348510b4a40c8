"""How far what stands in a file may lead: to the repository around the file, and no further."""

# os.path, not pathlib: it starts faster.

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

CONFIGURATION_FILE = "trainc.yaml"
OUTSIDE_HINT = (
    "move it into the repository (the folder with .git, or else with the nearest trainc.yaml), or pass --allow-outside"
)


def folders_upward(start: str) -> Iterator[str]:
    """`start` and the folders above it whose settings count: up to the first with `.git`, none of other people's.

    /tmp is one of theirs, and so is a folder that belongs neither to who runs this, nor to root, nor to the owner of
    `start`: a container often runs as another user than the one whose files it is given.
    """
    folder = start
    owners = {0, _status(start).st_uid, getattr(os, "geteuid", int)()}
    while not _is_of_others(folder, owners):
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder or os.path.exists(os.path.join(folder, ".git")):
            return
        folder = parent


def _is_of_others(folder: str, owners: set[int]) -> bool:
    status = _status(folder)
    return status.st_uid not in owners or status.st_mode & _SHARED == _SHARED


# Everybody may write there, and nobody may remove what is another's.
_SHARED = stat.S_ISVTX | stat.S_IWOTH


def _status(folder: str) -> os.stat_result:
    try:
        return os.stat(folder)
    except (OSError, ValueError):
        return os.stat(os.sep)


def root_around(folder: str) -> str:
    """The real path of the repository that `folder` is in.

    That is the nearest folder with `.git`, else the nearest with a trainc.yaml, else the current folder, if `folder` is
    in it, else the folder that holds `folder`.
    """
    start = os.path.realpath(folder)
    configured = ""
    for each in folders_upward(start):
        if os.path.exists(os.path.join(each, ".git")):
            return each
        if not configured and os.path.isfile(os.path.join(each, CONFIGURATION_FILE)):
            configured = each
    here = os.path.realpath(os.curdir)
    return configured or (here if is_inside(start, here) else os.path.dirname(start))


def repository_above(path: str) -> str | None:
    """The real path of the nearest folder with `.git` that `path` is in; None where there is none."""
    folders = folders_upward(os.path.realpath(path))
    return next((each for each in folders if os.path.exists(os.path.join(each, ".git"))), None)


def is_inside(path: str, root: str) -> bool:
    """Whether `path`, all its links followed, is `root` or below it; `root` is a real path."""
    return "\0" not in path and is_below(os.path.realpath(path), root)


def is_below(real: str, root: str) -> bool:
    """The same, for a path without links."""
    return real == root or real.startswith(root if root.endswith(os.sep) else root + os.sep)
