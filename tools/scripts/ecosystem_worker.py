"""Run many trainc commands, each in a process of its own: command lines on stdin, outcomes on stdout, as JSON.

Of the package `trainc` that PYTHONPATH finds, only the entry point of the console script is used, so that any commit can
be asked. The package is imported and warmed up once, and forked for each command. An outcome is `[status, stdout, stderr,
seconds]`; the status is negative after a signal, and the seconds are of processor time.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import tempfile
from collections.abc import Callable
from typing import Any, BinaryIO

_SECONDS = 120
_BYTES = 3_000_000_000

Outcome = tuple[int, str, str, float]


def measured(words: list[str], run: Callable[[], Any]) -> Outcome:
    """Return the outcome of one command."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            try:
                _begin(words, out, err)
                run()
            finally:
                os._exit(70)
        _, status, used = os.wait4(child, 0)
        return os.waitstatus_to_exitcode(status), _text(out), _text(err), used.ru_utime + used.ru_stime


def _begin(words: list[str], out: BinaryIO, err: BinaryIO) -> None:
    for stream, to in ((0, os.open(os.devnull, os.O_RDONLY)), (1, out.fileno()), (2, err.fileno())):
        os.dup2(to, stream)
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    sys.argv = ["trainc", *words]


def _text(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def main() -> None:
    """Answer the commands on stdin."""
    from trainc.cli.main import main as warm_up, run

    answers, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    commands = json.load(sys.stdin)
    for words in commands["examples"]:
        warm_up(words)
    gc.freeze()
    outcomes = [measured(words, run) for words in commands["commands"]]
    with open(answers, "w", encoding="utf-8") as stdout:
        json.dump(outcomes, stdout)


if __name__ == "__main__":
    main()
