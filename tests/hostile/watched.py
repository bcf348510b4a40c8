"""`trainc` under Python's own watch: what it opens, changes, starts and connects to, as JSON on the last line of stderr.

Run as a program: `watched.py WORD...`, with trainc's words.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

OPENED: list[tuple[str, str]] = []
CHANGED: list[str] = []
STARTED: list[str] = []
CONNECTED: list[str] = []
_CHANGES = {
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.chmod",
    "os.truncate",
    "os.utime",
}
_STARTS = {
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.forkpty",
    "os.spawn",
    "pty.spawn",
}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Remember what happens, each before it does."""
    if event == "open" and isinstance(arguments[0], str | bytes):
        path = os.path.abspath(os.fsdecode(arguments[0]))
        OPENED.append((path, "w" if arguments[2] & _WRITES else "r"))
    elif event in _CHANGES:
        CHANGED.append(os.path.abspath(os.fsdecode(arguments[0])))
    elif event in _STARTS:
        STARTED.append(str(arguments[0]))
    elif event.startswith(("socket.", "urllib.", "http.", "ftplib.", "smtplib.")) and event != "socket.gethostname":
        CONNECTED.append(event)


def main() -> int:
    import trainc.cli.main

    sys.dont_write_bytecode = True
    sys.addaudithook(watch)
    status = trainc.cli.main.main(sys.argv[1:])
    seen = {"opened": OPENED, "changed": CHANGED, "started": STARTED, "connected": CONNECTED}
    sys.stderr.write(f"\n{json.dumps(seen)}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
