"""Reads files into documents exactly as kubectl does, and reports all problems.

Files are split at `---` lines first, so that a broken document does not affect the others. Most documents are simple
enough for the fast line reader; libyaml is only imported for the first one that is not.
"""

from __future__ import annotations

import codecs
import os
from array import array
from collections.abc import Iterator
from contextvars import ContextVar

from trainc.findings import CompileError, Diagnostic, Path, Source
from trainc.options import Limits
from trainc.reading.block_lines import LinePositions, read_lines
from trainc.reading.document import Chunk, Document, is_printed, split
from trainc.startup import suppress
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass
from trainc.startup.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainc.reading.libyaml import Node

# Maps field paths to source positions, on demand.


class Positions:
    """The positions of the fields in a chunk.

    The text is parsed on the first call, by libyaml if the line reader does not handle it. Importing libyaml takes longer
    than reading a hundred documents, so that is local.
    """

    __slots__ = ("_chunk", "_entries_of", "_is_read", "_limits", "_lines", "_root")

    def __init__(self, chunk: Chunk, limits: Limits) -> None:
        self._chunk = chunk
        self._limits = limits
        self._lines: LinePositions | None = None
        self._root: Node | None = None
        self._is_read = False
        # The numbers of the nodes of each entry's key (or item) and value, by the number of the mapping or list.
        self._entries_of: dict[int, dict[str, tuple[int, int]] | array[int]] = {}

    def find(self, path: Path) -> Source:
        """Return the position of `path`: a mapping key or a list item, or the nearest existing ancestor."""
        if not self._is_read:
            self._is_read = True
            try:
                if not self._chunk.is_plain:
                    read_lines(self._chunk.text, self._limits.depth)
                self._lines = LinePositions(self._chunk)
            except ValueError:
                self._root = self._compose()
        if self._lines is not None:
            return self._chunk.source_at(*self._lines.find(path))
        node = place = self._root
        for step in path if node is not None else ():
            assert node is not None
            entries = self._entries(node.resolve())
            if isinstance(step, int) and isinstance(entries, array) and 0 <= step < len(entries):
                place = node = node.at(entries[step])
            elif isinstance(step, str) and isinstance(entries, dict) and step in entries:
                place, node = map(node.at, entries[step])
            else:
                break
        return self._chunk.source(0 if place is None else place.index)

    def _compose(self) -> Node | None:
        from yaml.error import YAMLError

        from trainc.reading.libyaml import RefusedError, compose

        try:
            return compose(self._chunk, self._limits)
        except (YAMLError, RefusedError):  # JSON, whose strings may contain characters that YAML rejects.
            return None

    def _entries(self, node: Node) -> dict[str, tuple[int, int]] | array[int]:
        """Return the entries of a mapping by key, including merged ones; later ones win, like in `construct`.

        Of a list, these are the numbers of its items; of a scalar, there are none.
        """
        from trainc.reading.libyaml import is_merge, key_text

        if node.number in self._entries_of:
            return self._entries_of[node.number]
        if node.kind != "mapping":
            items = self._entries_of[node.number] = array("I", node.numbers())
            return items
        entries: dict[str, tuple[int, int]] = {}
        self._entries_of[node.number] = entries
        for key, value in node.pairs():
            if is_merge(key):
                for source in reversed(value.children if value.kind == "sequence" else [value]):
                    merged = self._entries(source.resolve())
                    entries |= merged if isinstance(merged, dict) else {}
            elif (name := key_text(key)) is not None:
                entries[name] = key.number, value.number
        return entries


@dataclass(frozen=True, slots=True)
class Locator:
    """`Document.locate` for a document at `prefix` inside a chunk, for example an item of a `List`."""

    positions: Positions
    prefix: Path = ()

    def __call__(self, path: Path) -> Source:
        """Return the position of `path`; see `Positions.find`."""
        return self.positions.find((*self.prefix, *path))


# Decodes files like kubectl, and finds characters that YAML does not allow.

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LOST = "\ud800"  # Marks the position of a decoding error.
_FORBIDDEN = pattern("[^\t\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def decode(data: bytes) -> str:
    """Decode a file and normalize line endings to `\\n`. Each undecodable byte becomes a lone surrogate."""
    if data.startswith(_UTF16):
        text = _decode_utf16(data)
    else:
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def encode(text: str) -> bytes:
    """Encode text so that `decode` returns the same text, or text that is rejected at the same position."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def damage(chunk: Chunk) -> Diagnostic | None:
    """Return an error for the first character that could not be decoded or that YAML does not allow."""
    # Almost all text is ASCII, and this check is faster than compiling the pattern.
    if chunk.text.isascii() and chunk.text.replace("\n", "").replace("\t", "").isprintable():
        return None
    if (match := _FORBIDDEN.search(chunk.text)) is None:
        return None
    character = ord(match[0])
    message = f"the control character U+{character:04X} is not allowed"
    hint = f'remove it, or write it as an escape inside double quotes: "\\u{character:04X}"'
    if match[0] == _LOST:
        message, hint = "the bytes from here on are not valid UTF-16", "save the file as UTF-8"
    elif 0xD800 <= character <= 0xDFFF:
        message, hint = f"the byte 0x{character - 0xDC00:02X} is not valid UTF-8", "save the file as UTF-8"
    elif character == 0:
        hint = "save the file as UTF-8; it looks like UTF-16 or UTF-32, or is not a text file"
    return chunk.error("InvalidEncoding", match.start(), message, hint)


def _decode_utf16(data: bytes) -> str:
    try:
        return data.decode("utf-16")
    except UnicodeDecodeError as error:
        return data[: error.start].decode("utf-16") + _LOST


def read_documents(
    text: bytes, file: str, limits: Limits, *, already: int = 0
) -> tuple[list[Document], list[Diagnostic]]:
    """Read the documents of one file; return them and all problems with the text.

    `file` is the name to show in diagnostics. `already` is the number of documents read from other files, which count
    towards the limit.
    """
    most = limits.documents_in(text)
    room = min(limits.documents - already, most)
    documents: list[Document] = []
    diagnostics: list[Diagnostic] = []
    for number, chunk in enumerate(split(decode(text), file)):
        if isinstance(chunk, Diagnostic):
            diagnostics.append(chunk)
            continue
        for value, part, problems in _read_chunk(chunk, limits):
            if problems:
                diagnostics += problems
            elif value is not None:
                _add(value, part, limits, documents, diagnostics)
            if len(documents) > room:
                diagnostics.append(_too_many(documents[room].locate(()), limits, most))
                return documents[:room], diagnostics
        if number > most:  # A long series of empty documents takes time too.
            diagnostics.append(_too_many(chunk.source(0), limits, most))
            break
    if diagnostics:
        from trainc.reading.unrendered import as_template

        template = as_template(decode(text), file, diagnostics)
        return documents, [template] if template is not None else diagnostics
    return documents, diagnostics


def read_value(text: str, limits: Limits = Limits()) -> Any:
    """Return the value of the document in `text`, of any type. Raises CompileError if it cannot be read."""
    chunk = Chunk(text if text.endswith("\n") else text + "\n", "")
    value, problems = _read_yaml(chunk, limits)
    if problems:
        raise CompileError(problems)
    return value


def _read_chunk(chunk: Chunk, limits: Limits) -> Iterator[tuple[Any, Chunk, list[Diagnostic]]]:
    """Yield (value, text, problems) of each document in a chunk: at most one, or several adjacent JSON objects."""
    if (problem := _too_large(chunk, limits) or damage(chunk)) is not None:
        yield None, chunk, [problem]
        return
    if chunk.text.lstrip().startswith("{") and not _may_have_more(chunk.text, ",:[{", limits.values_in(chunk.text)):
        from trainc.reading.json_text import read_objects

        for value, part in read_objects(chunk, limits.depth):
            if value is not None:
                yield value, part, []
            else:
                chunk = part
    value, problems = _read_yaml(chunk, limits)
    yield value, chunk, problems


def _may_have_more(text: str, marks: str, most: int) -> bool:
    """Return whether a text may have more keys and values, each of which follows a mark: only libyaml's reader counts."""
    return len(text) > most and sum(map(text.count, marks)) > most


def _read_yaml(chunk: Chunk, limits: Limits) -> tuple[Any, list[Diagnostic]]:
    value, problems = _read_value(chunk, limits)
    if problems or _looks_flattened(value):
        from trainc.reading.libyaml import find_lost_indentation

        if lost := find_lost_indentation(chunk):
            return None, [lost]
    return value, problems


def _looks_flattened(value: Any) -> bool:
    """Return whether a readable document may have lost its indentation: it has an empty metadata or spec, say."""
    if not isinstance(value, dict):
        return False
    fields = ("metadata", "spec") if "kind" in value else value
    return any(key in value and value[key] is None for key in fields)


# The values of documents that were read, by their text, while `reading_once` lasts. Each thread has its own.
_values_by_text: ContextVar[dict[str, Any] | None] = ContextVar("_values_by_text", default=None)


class reading_once:  # noqa: N801 - it is called as a function
    """Read documents with the same text only once while this lasts. They share their data, which nobody may change."""

    def __enter__(self) -> None:
        self._before = _values_by_text.set({})

    def __exit__(self, *raised: object) -> None:
        _values_by_text.reset(self._before)


def _read_value(chunk: Chunk, limits: Limits) -> tuple[Any, list[Diagnostic]]:
    cache = _values_by_text.get()
    if cache is not None and chunk.text in cache:
        return cache[chunk.text], []
    if not _may_have_more(chunk.text, "\n,:[{-", limits.values_in(chunk.text)):
        with suppress(ValueError):
            value = read_lines(chunk.text, limits.depth)
            chunk.is_plain = True
            if cache is not None:
                cache[chunk.text] = value
            return value, []
    from trainc.reading.libyaml import read_strictly

    return read_strictly(chunk, limits)


def _add(value: Any, chunk: Chunk, limits: Limits, documents: list[Document], diagnostics: list[Diagnostic]) -> None:
    positions = Positions(chunk, limits)
    listing = f"{chunk.file}:{chunk.line}:{chunk.column}" if is_printed(value) else ""
    for path, item in Document.each_in(value):
        locate = Locator(positions, path)
        if isinstance(item, dict):
            documents.append(Document(item, chunk.file, locate, listing=listing))
        else:
            message = f"expected a Kubernetes manifest, which is a mapping; this is {_NAMES.get(type(item), 'a value')}"
            hint = "start the file with apiVersion, kind and metadata, or leave it out of the input"
            diagnostics.append(Diagnostic("NotAnObject", "error", message, hint, source=locate(())))


_NAMES = {list: "a list", str: "plain text", int: "a number", float: "a number", bool: "a boolean", type(None): "null"}


def _too_large(chunk: Chunk, limits: Limits) -> Diagnostic | None:
    limit = limits.document_bytes
    if len(chunk.text) * 4 <= limit or (size := len(chunk.text.encode("utf-8", "surrogatepass"))) <= limit:
        return None
    message = f"the document has {size:,} bytes; at most {limit:,} are allowed"
    return chunk.error("DocumentTooLarge", 0, message, "split it, or raise the limit (--max-document-bytes)")


def _too_many(source: Source | None, limits: Limits, most: int) -> Diagnostic:
    message = f"more than {most:,} documents; the rest was not read"
    hint = "build fewer files at a time" + ", or raise the limit (--max-documents)" * (most == limits.documents)
    return Diagnostic("TooManyDocuments", "error", message, hint, source=source)


def read_port() -> dict[str, Any]:
    """Read PORT.yaml, which lists the pinned upstream releases and the differences from them."""
    import trainc

    # Also from an archive, as importlib.resources would; that imports as much as all the rest of a command.
    data: bytes = trainc.__loader__.get_data(os.path.join(os.path.dirname(trainc.__file__), "PORT.yaml"))
    port: dict[str, Any] = read_value(data.decode())
    return port
