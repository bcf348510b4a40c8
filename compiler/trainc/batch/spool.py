"""Bytes put aside until they are wanted: in memory while they are few, and in a temporary file beyond."""

from __future__ import annotations

from io import BytesIO
from tempfile import TemporaryFile
from typing import IO, NamedTuple

_IN_MEMORY = 32_000_000


class Place(NamedTuple):
    """Where something lies in a spool, and how long it is, in bytes."""

    at: int
    length: int


class Spool:
    """Keeps bytes in the order in which they come, and gives them back in any."""

    def __init__(self) -> None:
        self._file: IO[bytes] = BytesIO()
        self._in_memory = True
        self._end = 0
        self._at_end = True

    def keep(self, data: bytes) -> Place:
        """Put `data` aside."""
        if self._in_memory and self._end + len(data) > _IN_MEMORY:
            self._to_disk()
        if not self._at_end:
            self._file.seek(self._end)
            self._at_end = True
        self._file.write(data)
        place = Place(self._end, len(data))
        self._end += len(data)
        return place

    def read(self, place: Place) -> bytes:
        """What was put aside there."""
        self._at_end = False
        self._file.seek(place.at)
        return self._file.read(place.length)

    def close(self) -> None:
        """Give up what is kept."""
        self._file.close()

    def _to_disk(self) -> None:
        file = TemporaryFile()  # noqa: SIM115 - `close` closes it
        self._file.seek(0)
        file.write(self._file.read())
        self._file, self._in_memory, self._at_end = file, False, True
