"""Confines references in files to the repository that the file is in."""

# os.path imports faster than pathlib.

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

CONFIGURATION_FILE = "trainc.yaml"
OUTSIDE_HINT = (
    "move it into the repository (the folder with .git, or else with the nearest trainc.yaml), or pass --allow-outside"
)


def folders_upward(start: str) -> Iterator[str]:
    """Yield `start` and its parents, up to the first one with `.git`, stopping at directories of other users.

    Settings in those must not apply. They are world-writable directories like /tmp, and directories that belong neither
    to the current user, nor to root, nor to the owner of `start`. The last case is for containers, which often run as
    another user than the one who owns the files.
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


# World-writable with the sticky bit, like /tmp.
_SHARED = stat.S_ISVTX | stat.S_IWOTH


def _status(folder: str) -> os.stat_result:
    try:
        return os.stat(folder)
    except (OSError, ValueError):
        return os.stat(os.sep)


def root_around(folder: str) -> str:
    """Return the real path of the repository that contains `folder`.

    This is the nearest directory with `.git`, otherwise the nearest one with a trainc.yaml, otherwise the current
    directory if it contains `folder`, and otherwise the parent of `folder`.
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
    """Return the real path of the nearest directory with `.git` at or above `path`, or None."""
    folders = folders_upward(os.path.realpath(path))
    return next((each for each in folders if os.path.exists(os.path.join(each, ".git"))), None)


def is_inside(path: str, root: str) -> bool:
    """Return whether `path` is `root` or below it after resolving symlinks; `root` must be a real path."""
    return "\0" not in path and is_below(os.path.realpath(path), root)


def is_below(real: str, root: str) -> bool:
    """Like `is_inside`, for a path without symlinks."""
    return real == root or real.startswith(root if root.endswith(os.sep) else root + os.sep)
