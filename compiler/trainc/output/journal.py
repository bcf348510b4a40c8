"""Atomic writes of a whole build: texts are staged next to the output, and a single rename commits them.

Before that rename the old output is unchanged. After it the new one is committed, and the next process moves remaining
staged files into place. A journal can refer only to files of its own folder, even if it comes from git.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from trainc.output.ownership import (
    MOST_BYTES,
    STATE_FOLDER,
    can_be_owned,
    is_marked_file,
    legacy_list,
    listed_files,
    stays_inside,
)
from trainc.reading.opening import NoRegularFileError, read_file, write_file

_JOURNAL = "journal"
_STAGED = "staged"
_HEAD = "trainc journal 1"
_REMOVED = "-"


class DamagedJournalError(Exception):
    """The journal was not written by trainc."""


def is_interrupted(folder: str) -> bool:
    """Return whether a build into `folder` was committed but not completed."""
    return os.path.lexists(_state(folder, _JOURNAL))


def replace_all(folder: str, new: Mapping[str, str | None]) -> None:
    """Write each text of `new` to its relative path, or remove the file if it is None, and remove the list of 0.1.0.

    The caller must hold the folder's lock. Raises OSError, which leaves the folder unchanged before the commit. After it
    only renames remain; if one fails, the build is interrupted.
    """
    new_folders: list[str] = []
    try:
        _stage(folder, new, new_folders)
        os.replace(_state(folder, _STAGED, _JOURNAL), _state(folder, _JOURNAL))
    except BaseException:
        if not is_interrupted(folder):
            _discard(folder)
            for parent in reversed(new_folders):
                with suppress(OSError):
                    os.rmdir(parent)
        raise
    complete(folder)


def complete(folder: str) -> None:
    """Move staged files into place if a build was interrupted.

    Raises DamagedJournalError, and does nothing, if the journal is damaged.
    """
    if not is_interrupted(folder):
        return
    for number, path in _entries(folder):
        target = os.path.join(folder, path)
        if number == _REMOVED:
            with suppress(FileNotFoundError):
                os.remove(target)
            parent = os.path.dirname(target)
            if parent != folder and os.path.isdir(parent) and not os.listdir(parent):
                os.rmdir(parent)
        elif os.path.exists(staged := _state(folder, _STAGED, number)):  # An interrupted run may have moved it.
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.replace(staged, target)
    if not os.path.isdir(legacy_list(folder)):
        with suppress(FileNotFoundError):
            os.remove(legacy_list(folder))
    _discard(folder)
    os.remove(_state(folder, _JOURNAL))


def _stage(folder: str, new: Mapping[str, str | None], new_folders: list[str]) -> None:
    """Write everything that needs disk space. `new_folders` collects the created folders."""
    _discard(folder)  # Files of a build that was killed before its commit.
    os.mkdir(_state(folder, _STAGED))
    # Hide a build in progress from git.
    write_file(_state(folder, ".gitignore"), "*\n", links=False)
    lines = [_HEAD]
    for number, (path, text) in enumerate(new.items()):
        lines.append(f"{_REMOVED if text is None else number} {path}")
        if text is not None:
            write_file(_state(folder, _STAGED, str(number)), text, new=True)
            parent = os.path.dirname(os.path.join(folder, path))
            if not os.path.isdir(parent):
                os.mkdir(parent)
                new_folders.append(parent)
    write_file(_state(folder, _STAGED, _JOURNAL), "\n".join(lines) + "\n", new=True)


def _entries(folder: str) -> list[tuple[str, str]]:
    if os.path.islink(_state(folder, _JOURNAL)) or os.path.islink(_state(folder, _STAGED)):
        raise DamagedJournalError
    try:
        text = read_file(_state(folder, _JOURNAL), MOST_BYTES, links=False).decode(errors="replace")
    except NoRegularFileError:
        raise DamagedJournalError from None
    head, *lines = text.splitlines() or [""]
    entries = [(number, path) for number, _, path in (line.partition(" ") for line in lines)]
    numbers = [number for number, _ in entries if number != _REMOVED]
    if not all(number.isascii() and number.isdecimal() for number in numbers):
        raise DamagedJournalError
    listed = listed_files(folder)
    below = {os.path.dirname(path) for _, path in entries}
    if head != _HEAD or not all(path not in below and _is_safe(folder, n, path, listed) for n, path in entries):
        raise DamagedJournalError
    return entries


def _is_safe(folder: str, number: str, path: str, listed: frozenset[str]) -> bool:
    """Return whether an entry only replaces or removes files of trainc's, with files of trainc's."""
    if not can_be_owned(path) or not stays_inside(folder, path):
        return False
    staged, target = _state(folder, _STAGED, number), os.path.join(folder, path)
    if os.path.lexists(target) and not _is_ours(target) and (number == _REMOVED or path not in listed):
        return False
    return number == _REMOVED or not os.path.lexists(staged) or _is_ours(staged)


def _is_ours(path: str) -> bool:
    return not os.path.islink(path) and os.path.isfile(path) and is_marked_file(path)


def _state(folder: str, *names: str) -> str:
    return os.path.join(folder, STATE_FOLDER, *names)


def _discard(folder: str) -> None:
    staged = _state(folder, _STAGED)
    with suppress(FileNotFoundError):
        os.remove(_state(folder, ".gitignore"))
    if os.path.islink(staged):
        os.remove(staged)
    with suppress(FileNotFoundError):
        for name in os.listdir(staged):
            os.remove(os.path.join(staged, name))
        os.rmdir(staged)
