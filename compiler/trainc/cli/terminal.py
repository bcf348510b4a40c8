"""What a terminal shows beyond plain text: colours, and a line that says how far a command has come."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import BinaryIO, Literal, TextIO

Part = Literal[
    "error",
    "warning",
    "info",
    "place",
    "code",
    "excerpt",
    "help",
    "added",
    "removed",
    "heading",
    "value",
    "faint",
    "plugin",
    "trainjob",
    "runtime",
    "deviation",
]

_CODES: dict[Part, str] = {
    "error": "1;31",
    "warning": "1;33",
    "info": "1;36",
    "place": "1",
    "code": "2",
    "excerpt": "34",
    "help": "32",
    "added": "32",
    "removed": "31",
    "heading": "1",
    "value": "1;36",
    "faint": "2",
    "plugin": "33",
    "trainjob": "32",
    "runtime": "34",
    "deviation": "35",
}


class Paint:
    """Colors a part of a text, or returns it unchanged."""

    def __init__(self, mode: str, stream: TextIO | BinaryIO) -> None:
        """`mode` is always, never or auto; auto consults NO_COLOR, FORCE_COLOR and the stream, in this order."""
        self.is_on = mode == "always" or (mode == "auto" and _automatic(stream))

    def __call__(self, part: Part, text: str) -> str:
        """`text` styled as `part`."""
        return f"\x1b[{_CODES[part]}m{text}\x1b[0m" if self.is_on and text else text


def _automatic(stream: TextIO | BinaryIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


# Variables that CI runners set: most of them, Azure Pipelines, TeamCity.
_RUNNERS = ("CI", "TF_BUILD", "TEAMCITY_VERSION")


def obeys_escapes(stream: TextIO | BinaryIO) -> bool:
    """Whether escape sequences in `stream` may have an effect: a terminal, or a CI runner that parses job output."""
    return stream.isatty() or any(os.environ.get(name) for name in _RUNNERS)


_PATIENCE = 1.0
_BETWEEN = 0.1
_BAR = 30


class Progress:
    """Rewrites one line of a terminal in place, without colors, using only a carriage return."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._on = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._next = time.monotonic() + _PATIENCE if self._on else 0.0
        self._shown = 0

    def step(self, what: str, done: int, total: int | None = None) -> None:
        """Report that `done` of `total` are done; `total` is None if unknown."""
        self.show(lambda: _line(what, done, total))

    def show(self, line: Callable[[], str]) -> None:
        """Show the line if there is a terminal and the last update is long enough ago; it is computed only then."""
        if self._on and (now := time.monotonic()) >= self._next:
            self._next = now + _BETWEEN
            self._write(line()[: _columns(self._stream) - 1])

    def clear(self) -> None:
        """Clear the line for subsequent output."""
        if self._shown:
            self._write("")
            self._stream.write("\r")
            self._stream.flush()

    def _write(self, line: str) -> None:
        self._stream.write(f"\r{line.ljust(self._shown)}")
        self._stream.flush()
        self._shown = len(line)


def _line(what: str, done: int, total: int | None) -> str:
    if not total:
        return f"{what} {done:,}"
    full = _BAR * done // total
    return f"{what} [{'#' * full}{'.' * (_BAR - full)}] {done:,} of {total:,}"


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
