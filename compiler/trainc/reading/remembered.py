"""A cache of results per file until the file changes, for long-running processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Made = TypeVar("Made")


class Remembered:
    """Results by path, together with the state of the file before it was read.

    A file counts as unchanged if its size, inode and modification times are. Since that misses files written twice
    within one tick of the clock, `forget` invalidates explicitly.
    """

    def __init__(self) -> None:
        self._made: dict[str, tuple[tuple[int, ...], Any]] = {}

    def forget(self, paths: Iterable[str]) -> None:
        """Invalidate all files with the same base name as one of `paths`."""
        names = set(map(os.path.basename, paths))
        self._made = {path: made for path, made in self._made.items() if os.path.basename(path) not in names}

    def recall(self, path: str, make: Callable[[], Made]) -> Made:
        """Return the cached result for a file, or call `make`. Empty results are not cached."""
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
