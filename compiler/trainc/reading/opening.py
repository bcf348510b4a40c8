"""The only module that opens files, except for the files that trainc ships.

Only regular files are opened, up to a size limit. Devices, pipes and sockets are rejected before a read could block.
Pipes from process substitution are allowed, because the user passed them explicitly. Inside `unsaved`, the contents of
editor buffers replace those of their files.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextvars import ContextVar

from trainc.startup import suppress
from trainc.startup.patterns import pattern
from trainc.startup.shipped import (
    read_data as read_data,  # noqa: PLC0414 - features have it from here
    read_text as read_text,  # noqa: PLC0414 - so does a plugin
)
from trainc.startup.typing import BinaryIO

# Flags that do not exist on all platforms.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
_BLOCK = 1 << 16
_WRITING = os.O_WRONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# `trainc build <(helm template .)`. Paths inside files cannot lead here, as this is outside any repository.
_SHELL_PIPES = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
# The contents of editor buffers by real path.
_UNSAVED: ContextVar[Mapping[str, bytes] | None] = ContextVar("unsaved", default=None)


class unsaved:  # noqa: N801 - it is called as a function
    """Within the context, read the files in `texts` (by real path) from there instead of from disk."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        self._texts = texts

    def __enter__(self) -> None:
        self._before = _UNSAVED.set(self._texts)

    def __exit__(self, *raised: object) -> None:
        _UNSAVED.reset(self._before)


def _unsaved_content(path: str | os.PathLike[str]) -> bytes | None:
    """Return the content of a file from `unsaved`, if present."""
    texts = _UNSAVED.get()
    if not texts:
        return None
    name = os.path.basename(path)
    if not any(os.path.basename(edited_path) == name for edited_path in texts) and not os.path.islink(path):
        return None
    return texts.get(os.path.realpath(path))


class NoRegularFileError(OSError):
    """The path is not a file that trainc reads: a device, a pipe, a forbidden symlink, or too large."""


def open_file(path: str | os.PathLike[str], *, links: bool = True) -> BinaryIO:
    """Open a regular file, unbuffered.

    With `links=False`, the path itself must not be a symlink. Raises OSError if the file cannot be opened.
    """
    name = os.fspath(path)
    if "\0" in name:
        raise NoRegularFileError(errno.EINVAL, "its name contains a NUL character", name)
    if not links and os.path.islink(name):  # For platforms without O_NOFOLLOW.
        raise NoRegularFileError(errno.ELOOP, "it is a symbolic link", name)
    try:
        descriptor = os.open(name, _FLAGS | (0 if links else _NO_LINKS))
    except UnicodeEncodeError:
        raise NoRegularFileError(errno.EINVAL, "its name is not valid UTF-8", name) from None
    regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
    if not regular and not (links and name.startswith(_SHELL_PIPES)):
        os.close(descriptor)
        raise NoRegularFileError(errno.EINVAL, "it is not a regular file", name)
    if not regular:
        os.set_blocking(descriptor, True)
    return os.fdopen(descriptor, "rb", 0)


def read_file(path: str | os.PathLike[str], most: int, *, links: bool = True) -> bytes:
    """Read a whole file via `open_file`. Raises OSError if it has more than `most` bytes."""
    if (edited := _unsaved_content(path)) is not None:
        return edited
    with open_file(path, links=links) as stream:
        return read_bounded(stream, most, os.fspath(path))


def read_bounded(stream: BinaryIO, most: int, name: str = "-") -> bytes:
    """Read a whole stream. Raises OSError if it has more than `most` bytes, so endless streams are safe."""
    blocks: list[bytes] = []
    left = most
    while block := stream.read(_BLOCK):
        blocks.append(block)
        left -= len(block)
        if left < 0:
            raise NoRegularFileError(errno.EFBIG, f"it has more than {most:,} bytes (see --max-file-bytes)", name)
    return blocks[0] if len(blocks) == 1 else b"".join(blocks)


def write_file(path: str, text: str, *, new: bool = False, links: bool = True) -> None:
    """Write a file as UTF-8, whole or not at all: one that is there is replaced at the end, with its mode.

    With `new`, there must be none. A link is kept and its target replaced; without `links`, it is refused.
    """
    data = text.encode("utf-8")
    if not links and os.path.islink(path):
        raise OSError(errno.ELOOP, "it is a symbolic link", path)
    if new or not os.path.isfile(path):  # /dev/stdout is written, not replaced.
        _write(path, data, os.O_EXCL if new or not os.path.lexists(path) else 0)
        return
    path = os.path.realpath(path)
    temporary = f"{path}.trainc-new"
    with suppress(FileNotFoundError):
        os.remove(temporary)  # Never write through an existing file or link of this name.
    _write(temporary, data, os.O_EXCL)
    os.chmod(temporary, os.stat(path).st_mode)
    os.replace(temporary, path)


def _write(path: str, data: bytes, exclusive: int) -> None:
    descriptor = os.open(path, _WRITING | exclusive, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
    except BaseException as error:
        if exclusive:
            os.unlink(path)
        if isinstance(error, OSError):
            error.filename = path
        raise


def error_reason(error: OSError) -> str:
    """Return the reason for an OSError, to use in a sentence."""
    return (error.strerror or type(error).__name__).lower()


# Confines references in files to the repository that the file is in.

CONFIGURATION_FILE = "trainc.yaml"
OUTSIDE_HINT = (
    "move it into the repository (the folder with .git, or else with the nearest trainc.yaml), or pass --allow-outside"
)
_SHORT_NAME = pattern(r"git~\d+")
# HFS+ ignores these in names (git's utf8.c, next_hfs_char).
_IGNORED_IN_NAMES = dict.fromkeys((*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF))


def is_git_folder(name: str) -> bool:
    """Return whether a name is `.git` on some file system, as git itself compares names (path.c, is_ntfs_dotgit)."""
    plain = name.translate(_IGNORED_IN_NAMES).partition(":")[0].rstrip(" .").casefold()
    return plain == ".git" or _SHORT_NAME.fullmatch(plain) is not None


def folders_upward(start: str) -> Iterator[str]:
    """Yield `start` and its parents, up to the first one with `.git`, stopping at directories of other users.

    Settings in those must not apply. They are world-writable directories like /tmp, and directories that belong neither
    to the current user, nor to root, nor to the owner of `start`. The last case is for containers, which often run as
    another user than the one who owns the files.
    """
    folder = start
    owners = {0, _status(start).st_uid, getattr(os, "geteuid", int)()}
    while (status := _status(folder)).st_uid in owners and status.st_mode & _SHARED != _SHARED:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder or os.path.exists(os.path.join(folder, ".git")):
            return
        folder = parent


# World-writable with the sticky bit, like /tmp.
_SHARED = stat.S_ISVTX | stat.S_IWOTH


def _status(folder: str) -> os.stat_result:
    try:
        return os.stat(folder)
    except (OSError, ValueError):
        return os.stat(os.sep)


def root_around(folder: str) -> str:
    """Return the real path of the repository that contains `folder`.

    This is the nearest directory with `.git`, otherwise the nearest one with a trainc.yaml, otherwise the current
    directory if it contains `folder`, and otherwise the parent of `folder`.
    """
    start = os.path.realpath(folder)
    configured = ""
    for parent in folders_upward(start):
        if os.path.exists(os.path.join(parent, ".git")):
            return parent
        if not configured and os.path.isfile(os.path.join(parent, CONFIGURATION_FILE)):
            configured = parent
    here = os.path.realpath(os.curdir)
    return configured or (here if is_inside(start, here) else os.path.dirname(start))


def repository_above(path: str) -> str | None:
    """Return the real path of the nearest directory with `.git` at or above `path`, or None."""
    folders = folders_upward(os.path.realpath(path))
    return next((parent for parent in folders if os.path.exists(os.path.join(parent, ".git"))), None)


def is_inside(path: str, root: str) -> bool:
    """Return whether `path` is `root` or below it after resolving symlinks; `root` must be a real path."""
    return "\0" not in path and is_below(os.path.realpath(path), root)


def is_below(real: str, root: str) -> bool:
    """Like `is_inside`, for a path without symlinks."""
    return real == root or real.startswith(root if root.endswith(os.sep) else root + os.sep)
