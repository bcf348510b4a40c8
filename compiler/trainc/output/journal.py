"""Atomic writes of a whole build: texts are staged next to the output, and a single rename commits them.

Before that rename the old output is unchanged. After it the new one is committed, and the next process moves remaining
staged files into place. A journal can refer only to files of its own folder, even if it comes from git.
"""

# os.path, not pathlib: it starts faster.

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
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
from trainc.reading.opening import NoRegularFileError, read_file

_JOURNAL = "journal"
_STAGED = "staged"
_HEAD = "trainc journal 1"
_REMOVED = "-"


class DamagedJournalError(Exception):
    """The journal was not written by trainc."""


def is_interrupted(folder: str) -> bool:
    """Return whether a build into `folder` was committed but not completed."""
    return os.path.lexists(_journal(folder))


def replace_all(folder: str, new: Mapping[str, str | None]) -> None:
    """Write each text of `new` to its relative path, or remove the file if it is None, and remove the list of 0.1.0.

    The caller must hold the folder's lock. Raises OSError, which leaves the folder unchanged before the commit. After it
    only renames remain; if one fails, the build is interrupted.
    """
    made: list[str] = []
    try:
        _stage(folder, new, made)
        os.replace(os.path.join(_staged(folder), _JOURNAL), _journal(folder))
    except BaseException:
        if not is_interrupted(folder):
            _discard(folder)
            _remove_folders(made)
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
            _remove_empty(os.path.dirname(target), folder)
        else:
            _move(os.path.join(_staged(folder), number), target)
    if not os.path.isdir(legacy_list(folder)):
        with suppress(FileNotFoundError):
            os.remove(legacy_list(folder))
    _discard(folder)
    os.remove(_journal(folder))


def _stage(folder: str, new: Mapping[str, str | None], made: list[str]) -> None:
    """Write everything that needs disk space. `made` collects the created folders."""
    _discard(folder)  # Files of a build that was killed before its commit.
    os.mkdir(_staged(folder))
    # Hide a build in progress from git.
    with open(_ignoring(folder), "w", encoding="utf-8") as stream:
        stream.write("*\n")
    lines = [_HEAD]
    for number, (path, text) in enumerate(new.items()):
        lines.append(f"{_REMOVED if text is None else number} {path}")
        if text is not None:
            _write(os.path.join(_staged(folder), str(number)), text)
            parent = os.path.dirname(os.path.join(folder, path))
            if not os.path.isdir(parent):
                os.mkdir(parent)
                made.append(parent)
    _write(os.path.join(_staged(folder), _JOURNAL), "\n".join(lines) + "\n")


def _entries(folder: str) -> list[tuple[str, str]]:
    if os.path.islink(_journal(folder)) or os.path.islink(_staged(folder)):
        raise DamagedJournalError
    try:
        text = read_file(_journal(folder), MOST_BYTES, links=False).decode(errors="replace")
    except NoRegularFileError:
        raise DamagedJournalError from None
    head, *lines = text.splitlines() or [""]
    entries = list(_split_entries(lines))
    listed = listed_files(folder)
    below = {os.path.dirname(path) for _, path in entries}
    if head != _HEAD or not all(path not in below and _is_safe(folder, n, path, listed) for n, path in entries):
        raise DamagedJournalError
    return entries


def _is_safe(folder: str, number: str, path: str, listed: frozenset[str]) -> bool:
    """Return whether an entry only replaces or removes files of trainc's, with files of trainc's."""
    if not can_be_owned(path) or not stays_inside(folder, path):
        return False
    staged, target = os.path.join(_staged(folder), number), os.path.join(folder, path)
    if os.path.lexists(target) and not _is_ours(target) and (number == _REMOVED or path not in listed):
        return False
    return number == _REMOVED or not os.path.lexists(staged) or _is_ours(staged)


def _is_ours(path: str) -> bool:
    return not os.path.islink(path) and os.path.isfile(path) and is_marked_file(path)


def _split_entries(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        number, _, path = line.partition(" ")
        if number != _REMOVED and not (number.isascii() and number.isdecimal()):
            raise DamagedJournalError
        yield number, path


def _move(staged: str, target: str) -> None:
    if os.path.exists(staged):  # Otherwise an interrupted run has already moved it.
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.replace(staged, target)


def _write(path: str, text: str) -> None:
    with open(path, "x", encoding="utf-8", newline="") as stream:
        stream.write(text)


def _discard(folder: str) -> None:
    staged = _staged(folder)
    with suppress(FileNotFoundError):
        os.remove(_ignoring(folder))
    if os.path.islink(staged):
        os.remove(staged)
    with suppress(FileNotFoundError):
        for name in os.listdir(staged):
            os.remove(os.path.join(staged, name))
        os.rmdir(staged)


def _remove_folders(made: list[str]) -> None:
    for folder in reversed(made):
        with suppress(OSError):
            os.rmdir(folder)


def _remove_empty(folder: str, root: str) -> None:
    if folder != root and os.path.isdir(folder) and not os.listdir(folder):
        os.rmdir(folder)


def _ignoring(folder: str) -> str:
    return os.path.join(folder, STATE_FOLDER, ".gitignore")


def _journal(folder: str) -> str:
    return os.path.join(folder, STATE_FOLDER, _JOURNAL)


def _staged(folder: str) -> str:
    return os.path.join(folder, STATE_FOLDER, _STAGED)
