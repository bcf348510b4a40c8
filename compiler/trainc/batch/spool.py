"""A spool that stores bytes for later: in memory up to a limit, and in a temporary file beyond it."""

from __future__ import annotations

from io import BytesIO
from tempfile import TemporaryFile
from typing import IO, NamedTuple

_IN_MEMORY = 32_000_000


class Place(NamedTuple):
    """The offset and length, in bytes, of an entry of a spool."""

    at: int
    length: int


class Spool:
    """Stores bytes in order of arrival, and returns them in any order."""

    def __init__(self) -> None:
        self._file: IO[bytes] = BytesIO()
        self._in_memory = True
        self._end = 0
        self._at_end = True

    def keep(self, data: bytes) -> Place:
        """Store `data` and return its place."""
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
        """Return the data at a place."""
        self._at_end = False
        self._file.seek(place.at)
        return self._file.read(place.length)

    def close(self) -> None:
        """Delete all data."""
        self._file.close()

    def _to_disk(self) -> None:
        file = TemporaryFile()  # noqa: SIM115 - `close` closes it
        self._file.seek(0)
        file.write(self._file.read())
        self._file, self._in_memory, self._at_end = file, False, True
