"""`trainc` under Python's own watch: which of its modules open files for reading, as JSON on the last line of stderr.

Run as a program: `opened.py WORD...`, with trainc's words. Files that Python, its libraries and trainc ship do not count.
"""

from __future__ import annotations

import json
import os
import sys
from types import FrameType
from typing import Any

OPENED: list[tuple[str, str]] = []
_WRITES = os.O_WRONLY | os.O_RDWR


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Remember who opens a file of the current folder or of what is beside it."""
    if event != "open" or not isinstance(arguments[0], str | bytes) or arguments[2] & _WRITES:
        return
    path = os.path.abspath(os.fsdecode(arguments[0]))
    if path.startswith(os.path.dirname(os.getcwd())):
        OPENED.append((path, _module(sys._getframe(1))))


def _module(frame: FrameType | None) -> str:
    while frame is not None and not str(frame.f_globals.get("__name__")).startswith("trainc."):
        frame = frame.f_back
    return str(frame.f_globals["__name__"]) if frame is not None else "?"


def main() -> int:
    import trainc.cli.main

    sys.addaudithook(watch)
    status = trainc.cli.main.main(sys.argv[1:])
    sys.stderr.write(f"\n{json.dumps(OPENED)}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
