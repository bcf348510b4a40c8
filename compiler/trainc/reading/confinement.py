"""How far what stands in a file may lead: to the repository around the file, and no further."""

# os.path, not pathlib: it starts faster.

from __future__ import annotations

import os

CONFIGURATION_FILE = "trainc.yaml"
OUTSIDE_HINT = (
    "keep it in the repository, whose top is known by .git or else by the nearest trainc.yaml; "
    "--allow-outside, where it is meant so"
)


def root_around(folder: str) -> str:
    """The real path of the repository that `folder` is in.

    That is the nearest folder with `.git`, else the nearest with a trainc.yaml, else the current folder, if `folder` is
    in it, else the folder that holds `folder`.
    """
    start = folder = os.path.realpath(folder)
    if (repository := repository_above(folder)) is not None:
        return repository
    configured = ""
    while not configured:
        if os.path.isfile(os.path.join(folder, CONFIGURATION_FILE)):
            configured = folder
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    here = os.path.realpath(os.curdir)
    return configured or (here if is_inside(start, here) else os.path.dirname(start))


def repository_above(path: str) -> str | None:
    """The real path of the nearest folder with `.git` that `path` is in; None where there is none."""
    folder = os.path.realpath(path)
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


def is_inside(path: str, root: str) -> bool:
    """Whether `path`, all its links followed, is `root` or below it; `root` is a real path."""
    return "\0" not in path and is_below(os.path.realpath(path), root)


def is_below(real: str, root: str) -> bool:
    """The same, for a path without links."""
    return real == root or real.startswith(root if root.endswith(os.sep) else root + os.sep)
