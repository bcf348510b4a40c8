"""Colour for terminals: on where somebody reads along, off in files and pipes, and as the environment asks."""

from __future__ import annotations

import os
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
    """Colours a part of a text, or leaves it as it is."""

    def __init__(self, wanted: str, stream: TextIO | BinaryIO) -> None:
        """`wanted` is always, never, or auto: then NO_COLOR, FORCE_COLOR and the stream decide, in this order."""
        self._on = wanted == "always" or (wanted == "auto" and _automatic(stream))

    def __call__(self, part: Part, text: str) -> str:
        """`text` as `part` is shown."""
        return f"\x1b[{_CODES[part]}m{text}\x1b[0m" if self._on and text else text


def _automatic(stream: TextIO | BinaryIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"
