"""The command line run inside the test process, with its streams captured."""

from __future__ import annotations

import io
import subprocess
from dataclasses import dataclass

from trainc.cli.command import Streams
from trainc.cli.main import main


@dataclass(frozen=True, slots=True)
class Result:
    """What a command left behind."""

    status: int
    stdout: str
    stderr: str


def run(*words: str, stdin: bytes = b"") -> Result:
    """`trainc` with these words."""
    out, err = io.BytesIO(), io.StringIO()
    status = main(words, Streams(io.BytesIO(stdin), out, err))
    return Result(status, out.getvalue().decode(), err.getvalue())


def shell_words(command: str, **environment: str) -> list[str]:
    """The words that a shell makes of a step of a workflow, without running it."""
    done = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {command}"],
        env={"PATH": "/usr/bin:/bin", **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.splitlines()
