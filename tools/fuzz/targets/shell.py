"""Shell scripts: any text is read, and what it starts is found without leaning on the depth of Python's stack."""

from __future__ import annotations

import sys
from contextlib import suppress

from trainc.ir.commands.shell import commands, read_script
from trainc.ir.commands.shell_words import UnreadableScriptError
from trainc.ir.commands.started import read_command
from trainc.plugins.registry import programs

# Far less than Python allows, so that a reader that recurses with the nesting of its input is found.
_FRAMES = 400
_PROGRAMS = programs("torch")


def check(data: bytes) -> None:
    """Raise an exception for a script that cannot be read."""
    text = data.decode(errors="replace")
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(_depth() + _FRAMES)
    try:
        with suppress(UnreadableScriptError):
            assert all(command for command, _ in commands(read_script(text)))
        read_command(("bash", "-c", text), _PROGRAMS)
    finally:
        sys.setrecursionlimit(before)


def _depth() -> int:
    frame, depth = sys._getframe(), 0  # noqa: SLF001 - there is no other way to count
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    return depth
