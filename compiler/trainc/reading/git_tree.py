"""The files of a git revision, written to a folder from which they are read as any others."""

# os.path, not pathlib: it starts faster.

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from unicodedata import normalize

from trainc.diagnostics import CompileError, Diagnostic
from trainc.options import Limits
from trainc.reading.files import READ_SUFFIXES
from trainc.reading.git_program import REVISION_HINT, git_output, refused, run_git
from trainc.startup.records import dataclass

_LINK = "120000"
_FILE = "100"
_BLOCK = 1 << 16
# Linux' PATH_MAX.
_LONGEST_LINK = 4096


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
    try:
        output = run_git(folder, ["rev-parse", "--show-toplevel", "--show-prefix"])
    except CompileError as error:
        if "not a git repository" not in error.diagnostics[0].message:
            raise
        raise refused("this folder is not in a git repository, so it has no revisions", _OUTSIDE_HINT) from None
    lines = output.decode(errors="surrogateescape").split("\n")
    return Repository(lines[0], lines[1].rstrip("/"))


def commit_of(repository: Repository, revision: str) -> str:
    """The commit that a revision stands for. CompileError if there is none."""
    try:
        return (
            run_git(repository.top, ["rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}"])
            .decode()
            .strip()
        )
    except CompileError:
        is_shallow = run_git(repository.top, ["rev-parse", "--is-shallow-repository"]).strip() == b"true"
        hint = _SHALLOW_HINT if is_shallow else REVISION_HINT
        raise refused(f"there is no revision {revision!r}", hint) from None


def published_commit(folder: str) -> tuple[str, str] | None:
    """Where others fetch the repository around `folder`, and its commit; None where they cannot have that commit."""
    try:
        if not run_git(folder, ["branch", "--remotes", "--contains", "HEAD"]).strip():
            return None
        url = run_git(folder, ["remote", "get-url", "origin"]).decode().strip()
        commit = run_git(folder, ["rev-parse", "HEAD"]).decode().strip()
    except CompileError:
        return None
    return None if url.startswith(("/", ".", "file:")) else (url, commit)


def write_revision(
    repository: Repository, revision: str, target: str, limits: Limits, paths: Sequence[str] = ()
) -> bool:
    """Write what trainc may read of `revision` (a commit, tag or branch) below the folder `target`.

    Those are the YAML, JSON and template files, and links; where `paths` names some, from the repository's top, those
    at or below them. What is there already stays. Returns whether there are links. CompileError if there is no such
    revision, and where it holds more than the limits allow, which is known before a file of it is read.
    """
    commit = commit_of(repository, revision)
    entries = [entry for entry in _listed(repository.top, commit, limits, paths) if _is_wanted(entry)]
    _check_places(entries)
    # Links come last, so that no file is written through one; and none is made through another.
    entries.sort(key=lambda entry: entry.mode == _LINK)
    new = [entry for entry in entries if not os.path.lexists(_place(target, entry))]
    for entry, content in _contents(repository.top, new, limits):
        try:
            _write(entry, content, target)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise _unreadable(entry.path, f"it cannot be copied: {reason.lower()}") from None
    return any(entry.mode == _LINK for entry in entries)


def find_changed_files(
    repository: Repository, commit: str, texts: Mapping[str, bytes], limits: Limits
) -> dict[str, bytes | None]:
    """The files of `texts`, by their path from the top, that a commit has otherwise: their bytes there, None without any.

    Nothing is written, and no program that the repository configures, such as a filter, is run. CompileError as above.
    """
    prefix = repository.prefix
    below = [prefix] if prefix and all(path.startswith(f"{prefix}/") for path in texts) else []
    entries = {entry.path: entry for entry in _listed(repository.top, commit, limits, below)}
    found: dict[str, bytes | None] = {path: None for path in texts if path not in entries}
    other = [entry for path, entry in entries.items() if path in texts and _blob(texts[path], entry) != entry.blob]
    found |= {entry.path: content for entry, content in _contents(repository.top, other, limits)}
    return found


def _blob(data: bytes, like: _Entry) -> bytes:
    """What git calls a file with these bytes."""
    import hashlib

    algorithm = (
        hashlib.sha1 if len(like.blob) == len(hashlib.sha1(usedforsecurity=False).hexdigest()) else hashlib.sha256
    )
    return algorithm(b"blob %d\0%s" % (len(data), data), usedforsecurity=False).hexdigest().encode()


def _write(entry: _Entry, content: bytes, target: str) -> None:
    path = _place(target, entry)
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    if os.path.realpath(folder) != folder:
        raise OSError(errno.ELOOP, "a parent folder is a symbolic link")
    if entry.mode == _LINK:
        os.symlink(content, os.fsencode(path))
    else:
        with open(path, "xb") as stream:
            stream.write(content)


def _place(target: str, entry: _Entry) -> str:
    return os.path.join(os.path.realpath(target), *entry.path.split("/"))


def _check_places(entries: Sequence[_Entry]) -> None:
    """Refuse a tree in which a path stands twice or leads through a link, on disks that take X for x as well."""
    links = {_folded(entry.path) for entry in entries if entry.mode == _LINK}
    met: set[str] = set()
    for entry in entries:
        parts = _folded(entry.path).split("/")
        if any("/".join(parts[:end]) in links for end in range(1, len(parts))):
            raise _unreadable(entry.path, "a parent folder is a symbolic link in the same revision")
        if entry.path in met:
            raise _unreadable(entry.path, "the revision contains it twice")
        met.add(entry.path)


def _folded(path: str) -> str:
    return normalize("NFC", path.casefold()) if not path.isascii() else path.lower()


def _listed(top: str, commit: str, limits: Limits, paths: Sequence[str]) -> Iterator[_Entry]:
    """Every entry of a commit's tree, read as git prints it: a tree of equal trees has millions."""
    wanted = [path for path in paths if path not in ("", os.curdir)]
    listing = ["ls-tree", "-r", "-z", "--full-tree", commit, "--", *(wanted if len(wanted) == len(paths) else ())]
    left, rest = limits.file_bytes, b""
    with git_output(top, listing) as git:
        while block := git.read(_BLOCK):
            left -= len(block)
            if left < 0:
                raise _unreadable(
                    "", f"its file names have more than {limits.file_bytes:,} bytes (see --max-file-bytes)"
                )
            *records, rest = (rest + block).split(b"\0")
            yield from map(_entry, records)


def _entry(record: bytes) -> _Entry:
    about, _, path = record.partition(b"\t")
    mode, _, blob = about.split(b" ")
    return _Entry(mode.decode(), blob, os.fsdecode(path))


def _is_wanted(entry: _Entry) -> bool:
    parts = entry.path.split("/")
    safe = not {"", ".", "..", ".git"} & {part.lower() for part in parts} and (
        os.sep == "/" or os.sep not in entry.path
    )
    return safe and (entry.mode == _LINK or (entry.mode.startswith(_FILE) and entry.path.endswith(READ_SUFFIXES)))


def _contents(top: str, entries: Sequence[_Entry], limits: Limits) -> Iterator[tuple[_Entry, bytes]]:
    """Each entry with its bytes, one at a time; refused as a whole where sizes or numbers are beyond the limits."""
    if not entries:
        return
    if len(entries) > limits.documents:
        raise _unreadable("", f"it has more than {limits.documents:,} files (see --max-documents)")
    requested = b"".join(entry.blob + b"\n" for entry in entries)
    left = limits.file_bytes
    with git_output(top, ["cat-file", "--batch-check"], requested) as git:
        for entry in entries:
            size = _size(entry, git.readline())
            left -= size
            if entry.mode == _LINK and size > _LONGEST_LINK:
                raise _unreadable(entry.path, "the symbolic link's target is too long")
            if left < 0:
                reason = f"reading it would exceed the limit of bytes, {limits.file_bytes:,} (see --max-file-bytes)"
                raise _unreadable(entry.path, reason)
    with git_output(top, ["cat-file", "--batch"], requested) as git:
        for entry in entries:
            content = git.read(_size(entry, git.readline()) + 1)
            yield entry, content[:-1]


def _size(entry: _Entry, head: bytes) -> int:
    """What git says about an object before its bytes."""
    words = head.split()
    if len(words) != 3 or words[1] != b"blob":
        raise refused(f"git has no content for {entry.path}: {head.decode(errors='replace').strip()}")
    return int(words[2])


def _unreadable(path: str, reason: str) -> CompileError:
    what = f"{path!r} of the revision" if path else "the revision"
    hint = "use a smaller part of it, as in git:main:jobs, or fix the revision"
    return CompileError([Diagnostic("UnreadableFile", "error", f"{what} cannot be read: {reason}", hint)])


_OUTSIDE_HINT = "run it inside the repository, or name two files or folders, as in `trainc diff old/ new/`"
_SHALLOW_HINT = (
    "this clone is shallow and has only its newest commits: in GitHub Actions set `fetch-depth: 0` for actions/checkout, "
    "elsewhere run `git fetch --unshallow`"
)
