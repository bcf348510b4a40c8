"""Output that is held back until everything is known to be right: in memory while it is small, in a file beyond."""

from __future__ import annotations

from typing import IO, BinaryIO, Self

_IN_MEMORY = 8_000_000
_AT_A_TIME = 1_000_000


class HeldOutput:
    """Takes pieces of output and gives them out in order."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, piece: bytes) -> None:
        """Hold one more piece."""
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > _IN_MEMORY:
            self._to_file()

    def copy_to(self, out: BinaryIO) -> None:
        """Write everything that is held."""
        if self._file is not None:
            self._to_file()
            self._file.seek(0)
            while block := self._file.read(_AT_A_TIME):
                out.write(block)
        out.write(b"".join(self._pieces))

    def _to_file(self) -> None:
        if self._file is None:
            from tempfile import TemporaryFile  # Most output is small, and this takes a while to import.

            self._file = TemporaryFile()  # noqa: SIM115 - `__exit__` closes it
        self._file.write(b"".join(self._pieces))
        self._pieces.clear()
        self._size = 0
