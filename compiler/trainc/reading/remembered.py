"""What was made of files, for as long as nobody writes them: for a process that reads the same files again and again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Made = TypeVar("Made")


class Remembered:
    """By path: what was made of a file, and how the file looked before it was read.

    A file looks the same while its size, its place on the disk and the times of its last changes stay; what is written
    twice within one tick of the clock, `forget` is for.
    """

    def __init__(self) -> None:
        self._made: dict[str, tuple[tuple[int, ...], Any]] = {}

    def forget(self, paths: Iterable[str]) -> None:
        """Files with the names of these may have changed, however they look."""
        names = set(map(os.path.basename, paths))
        self._made = {path: made for path, made in self._made.items() if os.path.basename(path) not in names}

    def recall(self, path: str, make: Callable[[], Made]) -> Made:
        """What `make` gave for a file since it looks as it does; what is empty is made anew each time."""
        look, known = _look(path), self._made.get(path)
        if known is not None and known[0] == look:
            found: Made = known[1]
            return found
        made = make()
        if made and look is not None:
            self._made[path] = look, made
        return made


def _look(path: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev
