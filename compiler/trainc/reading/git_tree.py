"""The files of a git revision, written to a folder from which they are read as any others.

The only part of trainc that runs another program: `git`, with fixed arguments and without a shell, to look a revision
up and to print its files. It changes nothing in the repository and fetches nothing.
"""

# os.path, not pathlib: it starts faster.

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence

from trainc.diagnostics import CompileError, Diagnostic
from trainc.reading.files import READ_SUFFIXES
from trainc.startup.records import dataclass

_LINK = "120000"
_FILE = "100"
# Prompts and downloads are for people; a partial clone answers with what it has.
_ENVIRONMENT = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository around a folder: its top, and the folder's path from there, empty for the top itself."""

    top: str
    prefix: str


@dataclass(frozen=True, slots=True)
class _Entry:
    mode: str
    blob: bytes
    path: str


def repository_of(folder: str) -> Repository:
    """The repository that `folder` is in. CompileError where there is none, or no git."""
    lines = _git(folder, ["rev-parse", "--show-toplevel", "--show-prefix"]).decode(errors="surrogateescape").split("\n")
    return Repository(lines[0], lines[1].rstrip("/"))


def write_revision(repository: Repository, revision: str, target: str) -> None:
    """Write what trainc may read of `revision` (a commit, tag or branch) below the folder `target`.

    Those are the YAML, JSON and template files, and links. CompileError if there is no such revision.
    """
    looked_up = ["rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}"]
    try:
        commit = _git(repository.top, looked_up)
    except CompileError:
        raise _refused(f"there is no revision {revision!r}") from None
    listing = _git(repository.top, ["ls-tree", "-r", "-z", "--full-tree", commit.decode().strip()])
    entries = [entry for entry in _entries(listing) if _is_wanted(entry)]
    files = [entry for entry in entries if entry.mode != _LINK]
    links = [entry for entry in entries if entry.mode == _LINK]
    # Links come last, so that no file is written through one.
    for entry, content in _contents(repository.top, [*files, *links]):
        path = os.path.join(target, *entry.path.split("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if entry.mode == _LINK:
            os.symlink(content, os.fsencode(path))
        else:
            with open(path, "xb") as stream:
                stream.write(content)


def _entries(listing: bytes) -> Iterator[_Entry]:
    for record in listing.split(b"\0")[:-1]:
        about, _, path = record.partition(b"\t")
        mode, _, blob = about.split(b" ")
        yield _Entry(mode.decode(), blob, os.fsdecode(path))


def _is_wanted(entry: _Entry) -> bool:
    parts = entry.path.split("/")
    safe = not {"", ".", "..", ".git"} & {part.lower() for part in parts}
    return safe and (entry.mode == _LINK or (entry.mode.startswith(_FILE) and entry.path.endswith(READ_SUFFIXES)))


def _contents(top: str, entries: Sequence[_Entry]) -> Iterator[tuple[_Entry, bytes]]:
    """Each entry with its bytes, from one run of git."""
    if not entries:
        return
    printed = _git(top, ["cat-file", "--batch"], b"".join(entry.blob + b"\n" for entry in entries))
    position = 0
    for entry in entries:
        end = printed.index(b"\n", position)
        head = printed[position:end].split(b" ")
        if len(head) != 3 or head[1] != b"blob":
            raise _refused(f"git has no content for {entry.path}: {printed[position:end].decode(errors='replace')}")
        size = int(head[2])
        yield entry, printed[end + 1 : end + 1 + size]
        position = end + 1 + size + 1


def _git(folder: str, arguments: Iterable[str], given: bytes = b"") -> bytes:
    command = ["git", "--no-replace-objects", "-C", folder or ".", *arguments]
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments; a revision follows --end-of-options
            command, input=given, capture_output=True, check=False, env={**os.environ, **_ENVIRONMENT}
        )
    except OSError as error:
        raise _refused(f"git cannot be run: {(error.strerror or type(error).__name__).lower()}") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().removeprefix("fatal: ")
        raise _refused(said.partition("\n")[0] or f"git ended with {done.returncode}")
    return done.stdout


def _refused(message: str) -> CompileError:
    hint = "name a commit, tag or branch of the repository that you are in, as git:HEAD~1 or git:main:jobs"
    return CompileError([Diagnostic("NoSuchRevision", "error", message, hint)])
