"""The cache: outcomes of job files by the digests of their inputs, with one pack of records for each context.

A pack's name is the digest of everything that its job files share, and a record's address is the digest of its file's
name and content. A record is used only if the checksum of its pack, address and content is correct; a truncated, damaged
or foreign record is a miss. A pack is replaced atomically, so that concurrent runs see the old or the new one. If two
runs write, the last one wins, and the other one has cached nothing.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import BufferedReader, BytesIO
from struct import Struct
from typing import Any, BinaryIO

from trainc.batch.digest import SIZE, digest
from trainc.options import Limits
from trainc.reading.opening import open_file, read_file

SUFFIX = ".pack"
# A pack keeps records that a run did not use, such as those of another branch, up to this size or that of the used ones.
_SPARE_BYTES = 64_000_000
# If there are more packs, the least recently used ones are removed.
_PACKS = 32
# Records are mostly read in file order; otherwise the rest of the buffer is wasted.
_BUFFER = 1 << 17
_MAGIC = b"trainc pack 1\n"
_HEAD = Struct(f">{SIZE}s{SIZE}sQ")  # address, checksum, length of the content
# Of an index: gitformat-index(5).
_SHORTENED = (4).to_bytes(4, "big")
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of trainc's and may be removed.\n"


class Pack:
    """The records of one context, by address, which is the digest of a file.

    `digest` is that of everything that the files share, including trainc.
    """

    def __init__(self, folder: str, digest: bytes) -> None:
        self._folder = folder
        self._digest = digest
        self._path = os.path.join(folder, digest.hex() + SUFFIX)
        self._stream = _open_pack(self._path)
        self._places = dict(_places(self._stream))
        self._believed: dict[bytes, bytes] = {}

    def find(self, address: bytes) -> bytes | None:
        """Return the content of a record, or None if it is missing or damaged."""
        place = self._places.get(address)
        if place is None:
            return None
        at, length, checksum = place
        self._stream.seek(at)
        content = self._stream.read(length)
        if self._checksum(address, content) != checksum:
            return None
        self._believed[address] = checksum
        return content

    def close(self) -> None:
        """Close the pack's file."""
        self._stream.close()

    def touch(self) -> None:
        """Mark the pack as used, if there is nothing to write."""
        with suppress(OSError):
            os.utime(self._path)

    def save(self, records: Iterable[tuple[bytes, bytes]]) -> None:
        """Replace the pack with `records`, pairs of address and content, and some of its unused ones; then close it.

        Contents returned by `find` must be passed unchanged: their checksums are not computed again. Raises OSError if
        the pack cannot be written.
        """
        os.makedirs(self._folder, exist_ok=True)
        _write_once(os.path.join(self._folder, "CACHEDIR.TAG"), _TAG)
        _write_once(os.path.join(self._folder, ".gitignore"), "*\n")
        descriptor, staged = tempfile.mkstemp(dir=self._folder, prefix=".new-", suffix=SUFFIX)
        try:
            with os.fdopen(descriptor, "wb", _BUFFER) as stream:
                stream.write(_MAGIC)
                for address, content in self._kept(records):
                    checksum = self._believed.get(address) or self._checksum(address, content)
                    stream.write(_HEAD.pack(address, checksum, len(content)) + content)
            os.chmod(staged, 0o666 & ~_umask())
            self.close()  # Windows cannot replace an open file.
            os.replace(staged, self._path)
        except BaseException:
            with suppress(OSError):
                os.unlink(staged)
            raise
        _prune(self._folder)

    def _kept(self, records: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        written: set[bytes] = set()
        size = 0
        for address, content in records:
            yield address, content
            written.add(address)
            size += len(content)
        room = max(size, _SPARE_BYTES)
        for address in self._places:
            spare = None if address in written else self.find(address)
            if spare is not None and len(spare) <= room:
                room -= len(spare)
                yield address, spare

    def _checksum(self, address: bytes, content: bytes) -> bytes:
        return digest(self._digest + address + content)  # The first two have fixed lengths, so this is unambiguous.


def tracked_by_git(folder: str) -> bool:
    """Return whether packs in a folder are tracked by git, so that commits could change their content."""
    folder = os.path.realpath(folder)
    top = folder
    while not os.path.lexists(os.path.join(top, ".git")):
        if (parent := os.path.dirname(top)) == top:
            return False
        top = parent
    try:
        index = read_file(os.path.join(_git_folder(top), "index"), Limits().file_bytes).lower()
    except OSError:
        return False
    name = os.path.relpath(folder, top).replace(os.sep, "/")
    # Version 4 stores only the part of a path that differs from the previous one; other versions store it whole.
    known = SUFFIX if index[4:8] == _SHORTENED or name == os.curdir else f"{name}/"
    return known.lower().encode("utf-8", "surrogateescape") in index


def _git_folder(top: str) -> str:
    """Return the folder `.git`, or the one to which a file of that name points."""
    folder = os.path.join(top, ".git")
    if os.path.isdir(folder):
        return folder
    text = read_file(folder, Limits().file_bytes).decode("utf-8", "surrogateescape")
    return os.path.join(top, text.removeprefix("gitdir: ").strip())


def _open_pack(path: str) -> BinaryIO:
    try:
        raw: Any = open_file(path, links=False)
        return BufferedReader(raw, _BUFFER)
    except OSError:
        return BytesIO()


def _places(stream: BinaryIO) -> Iterator[tuple[bytes, tuple[int, int, bytes]]]:
    """Yield each record's address, and the offset, length and checksum of its content, as far as they are readable."""
    if stream.read(len(_MAGIC)) != _MAGIC:
        return
    at, end = len(_MAGIC), stream.seek(0, os.SEEK_END)
    while at + _HEAD.size <= end:
        stream.seek(at)
        address, checksum, length = _HEAD.unpack(stream.read(_HEAD.size))
        at += _HEAD.size
        if length > end - at:
            return
        yield address, (at, length, checksum)
        at += length


def _prune(folder: str) -> None:
    with suppress(OSError), os.scandir(folder) as entries:
        packs = sorted((entry.stat().st_mtime_ns, entry.path) for entry in entries if entry.name.endswith(SUFFIX))
        for _, path in packs[:-_PACKS]:
            os.unlink(path)


def _write_once(path: str, text: str) -> None:
    with suppress(FileExistsError), open(path, "x", encoding="utf-8") as stream:
        stream.write(text)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
