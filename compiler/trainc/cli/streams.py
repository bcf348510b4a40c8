"""The streams of the process: each byte that is written to one is written, or an OSError says so."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from io import BufferedReader, BufferedWriter, RawIOBase, TextIOWrapper
from typing import Any, BinaryIO, TextIO, TypeVar, cast

T = TypeVar("T")


class _Whole(RawIOBase):
    """A raw stream that waits for a pipe that does not block, and writes all that it is given or raises OSError.

    A raw write may take a part of the bytes without an error, and Python's own stdout is raw under PYTHONUNBUFFERED. A
    pipe that does not block looks like the end of the input, and like one that has taken nothing.
    """

    def __init__(self, stream: Any) -> None:
        self._raw = getattr(stream, "raw", stream)

    def write(self, data: Any) -> int:
        left = size = len(view := memoryview(data).cast("B"))
        while left:
            taken = self._waiting(lambda: self._raw.write(view[size - left :]), "POLLOUT")  # noqa: B023 - called at once
            if not taken:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            left -= taken
        return size

    def readinto(self, buffer: Any) -> int:
        return int(self._waiting(lambda: self._raw.readinto(buffer), "POLLIN"))

    def _waiting(self, act: Callable[[], T | None], event: str) -> T:
        while (done := act()) is None:
            import select

            if not hasattr(select, "poll"):  # Windows has no pipes that do not block.
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            poll = select.poll()
            poll.register(self.fileno(), getattr(select, event))
            poll.poll()
        return done

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def isatty(self) -> bool:
        return bool(self._raw.isatty())


def whole_input(stream: TextIO) -> BinaryIO:
    """The bytes of the process's standard input; a pipe that does not block is waited for."""
    return BufferedReader(_Whole(stream.buffer))


def whole_output(stream: TextIO) -> BinaryIO:
    """The bytes that go to the process's standard output, all of them once they are flushed."""
    return BufferedWriter(_Whole(stream.buffer))


def whole_messages(stream: TextIO) -> TextIO:
    """The text that goes to the process's standard error, line by line. A stream of a notebook is taken as it is."""
    if not hasattr(stream, "buffer"):
        return stream
    return TextIOWrapper(
        cast("BinaryIO", BufferedWriter(_Whole(stream.buffer))),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=True,
    )
