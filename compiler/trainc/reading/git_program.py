"""Runs `git`, the only program that trainc uses to read input, with fixed arguments and without a shell.

It only looks up revisions and prints files. It never changes the repository or fetches anything.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO

from trainc.diagnostics import CompileError, Diagnostic

_BLOCK = 1 << 16
# No prompts, and no downloads: a partial clone uses the objects that it has.
_ENVIRONMENT = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
REVISION_HINT = "use a commit, tag or branch of the current repository, as in git:HEAD~1 or git:main:jobs"


@contextmanager
def git_output(folder: str, arguments: Iterable[str], given: bytes = b"") -> Iterator[IO[bytes]]:
    """Run git and yield its output as a stream.

    Kills git if the block raises. Raises CompileError if git fails.
    """
    with TemporaryFile() as requested, TemporaryFile() as errors:
        requested.write(given)
        requested.seek(0)
        try:
            git = subprocess.Popen(  # noqa: S603 - as in _git
                _command(folder, arguments), stdin=requested, stdout=subprocess.PIPE, stderr=errors, env=_environment()
            )
        except OSError as error:
            raise _cannot_run_git(error) from None
        with git:
            assert git.stdout is not None
            try:
                yield git.stdout
                ended = not git.stdout.read(1)
            except BaseException:
                git.kill()
                raise
        if ended and git.returncode:
            errors.seek(0)
            raise refused(_error_message(errors.read(_BLOCK), git.returncode))


def run_git(folder: str, arguments: Iterable[str]) -> bytes:
    """Run git and return its output. Raises CompileError if git fails."""
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments; a revision follows --end-of-options
            _command(folder, arguments), stdin=subprocess.DEVNULL, capture_output=True, check=False, env=_environment()
        )
    except OSError as error:
        raise _cannot_run_git(error) from None
    if done.returncode:
        raise refused(_error_message(done.stderr, done.returncode))
    return done.stdout


def _command(folder: str, arguments: Iterable[str]) -> list[str]:
    return ["git", "--no-replace-objects", "--literal-pathspecs", "-C", folder or ".", *arguments]


def _environment() -> dict[str, str]:
    return {**os.environ, **_ENVIRONMENT}


def _error_message(stderr: bytes, status: int) -> str:
    first = stderr.decode(errors="replace").strip().removeprefix("fatal: ").partition("\n")[0]
    return first or f"git exited with status {status}"


def _cannot_run_git(error: OSError) -> CompileError:
    return refused(f"git cannot be run: {(error.strerror or type(error).__name__).lower()}")


def refused(message: str, hint: str = REVISION_HINT) -> CompileError:
    """Create the error for a revision that cannot be read."""
    return CompileError([Diagnostic("NoSuchRevision", "error", message, hint)])
