"""The one place that opens files for reading, less those that trainc ships: regular ones, and no more than a bound of each.

Devices, pipes and sockets are refused before anything waits for them. A pipe that the shell has made for a command line
is what its user has named, and is read. What an editor has not saved yet stands in for its file, while `unsaved` says so.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import BinaryIO

# Beyond what POSIX has, which Windows does not.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
_BLOCK = 1 << 16
# `trainc build <(helm template .)`; a path in a file cannot lead there, as it is in no repository.
_OF_THE_SHELL = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
# The texts of files as an editor has them, by real path.
_UNSAVED: ContextVar[Mapping[str, bytes] | None] = ContextVar("unsaved", default=None)


@contextmanager
def unsaved(texts: Mapping[str, bytes]) -> Iterator[None]:
    """Read the files in `texts`, by real path, as they are there, and all others from the disk."""
    before = _UNSAVED.set(texts)
    try:
        yield
    finally:
        _UNSAVED.reset(before)


def _as_edited(path: str | os.PathLike[str]) -> bytes | None:
    """The text of a file that `unsaved` has."""
    texts = _UNSAVED.get()
    if not texts or not any(os.path.basename(known) == os.path.basename(path) for known in texts):
        return None
    return texts.get(os.path.realpath(path))


class NoRegularFileError(OSError):
    """What is there is none of the files that are read: a device, a pipe, a link where none may be, or endless."""


def open_file(path: str | os.PathLike[str], *, links: bool = True) -> BinaryIO:
    """A regular file, unbuffered; with `links=False` one that is no link itself. OSError for all others."""
    name = os.fspath(path)
    if "\0" in name:
        raise NoRegularFileError(errno.EINVAL, "its name contains a NUL character", name)
    if not links and os.path.islink(name):  # Where the system has no such flag.
        raise NoRegularFileError(errno.ELOOP, "it is a symbolic link", name)
    try:
        descriptor = os.open(name, _FLAGS | (0 if links else _NO_LINKS))
    except UnicodeEncodeError:
        raise NoRegularFileError(errno.EINVAL, "its name is not valid UTF-8", name) from None
    regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
    if not regular and not (links and name.startswith(_OF_THE_SHELL)):
        os.close(descriptor)
        raise NoRegularFileError(errno.EINVAL, "it is not a regular file", name)
    if not regular:
        os.set_blocking(descriptor, True)
    return os.fdopen(descriptor, "rb", 0)


def read_file(path: str | os.PathLike[str], most: int, *, links: bool = True) -> bytes:
    """All bytes of a file as `open_file` opens it; OSError where there are more than `most`."""
    if (edited := _as_edited(path)) is not None:
        return edited
    with open_file(path, links=links) as stream:
        return read_bounded(stream, most, os.fspath(path))


def read_bounded(stream: BinaryIO, most: int, name: str = "-") -> bytes:
    """All of a stream; OSError if that is more than `most` bytes, which something endless would be."""
    blocks: list[bytes] = []
    left = most
    while block := stream.read(_BLOCK):
        blocks.append(block)
        left -= len(block)
        if left < 0:
            raise NoRegularFileError(errno.EFBIG, f"it has more than {most:,} bytes (see --max-file-bytes)", name)
    return blocks[0] if len(blocks) == 1 else b"".join(blocks)


def error_reason(error: OSError) -> str:
    """Why something could not be opened, as a part of a sentence."""
    return (error.strerror or type(error).__name__).lower()
