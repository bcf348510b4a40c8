"""A build into a folder that dies, or whose disk fails, at the n-th thing that it does to the folder.

Run as a program, since it forks: `failing.py HOW FOLDER REQUEST`. HOW is `kill`, `once` (one operation fails) or `full`
(from there on nothing can be made). REQUEST is JSON: the texts to write. For n = 1, 2, ... until nothing happens any
more, it prepares nothing itself: it prints how the n-th child ended and waits for a line on stdin, before which its
caller looks at the folder and puts it back.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from trainc.output.folder import apply_plan, plan

DONE, FAILED, UNDISTURBED = 0, 1, 2
# The events that Python's own hook sees, each before it happens, and which of them take room on a disk.
CHANGES = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "fcntl.flock", "os.listdir"}
MAKING = {"open", "os.mkdir"}


def strike(how: str, number: int, folder: str) -> Callable[[], bool]:
    """Make this process fail at its `number`-th operation on the folder. Returns whether it has come to that."""
    seen = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        if event not in CHANGES or not (event == "fcntl.flock" or str(arguments[0]).startswith(folder)):
            return
        seen += 1
        if how == "kill" and seen == number:
            os.kill(os.getpid(), signal.SIGKILL)
        makes = event in MAKING and not (event == "open" and _only_reads(*arguments[1:]))
        if (how == "once" and seen == number) or (how == "full" and seen >= number and makes):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(arguments[0]))

    sys.addaudithook(hook)
    return lambda: seen >= number


def _only_reads(mode: str | None, flags: int) -> bool:
    return mode == "r" or (mode is None and not flags & (os.O_WRONLY | os.O_RDWR))


def main() -> None:
    how, folder, request = sys.argv[1:]
    wanted = json.loads(request)
    number, ended = 0, -1
    while ended != UNDISTURBED:
        number += 1
        child = os.fork()
        if not child:
            struck = strike(how, number, folder)
            try:
                apply_plan(plan(folder, wanted, prune=True))
            except OSError:
                os._exit(FAILED)
            os._exit(DONE if struck() else UNDISTURBED)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(f"{ended}\n")
        sys.stdout.flush()
        sys.stdin.readline()


if __name__ == "__main__":
    main()
