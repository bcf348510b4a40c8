"""Places in a text: from a position to the field that stands there, and from a field to its range.

Lines and columns count from 0, in characters: the server knows in which units its client counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from trainc.diagnostics import Diagnostic, Path
from trainc.options import Limits
from trainc.reading.chunk import Chunk, split
from trainc.reading.encoding import decode, encode
from trainc.reading.nodes import Node, RefusedError, compose
from trainc.startup.records import dataclass


class Position(NamedTuple):
    """A place between two characters."""

    line: int
    column: int


class Range(NamedTuple):
    """What stands between two places; `end` is behind its last character."""

    start: Position
    end: Position

    def holds(self, position: Position) -> bool:
        """Whether a place is in it or at one of its ends."""
        return self.start <= position <= self.end


@dataclass(frozen=True, slots=True)
class Field:
    """A field or an item of a list. `key` is where its name stands, that of an item being nothing; `value` its value.

    `whole` reaches from its name to the end of the last line that belongs to it. `text` is that of a scalar.
    """

    path: Path
    key: Range
    value: Range
    whole: Range
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Tree:
    """One document of a text: its fields, outermost first, in the order of the text. `whole` is where it stands."""

    fields: Sequence[Field]
    whole: Range

    def field(self, path: Path) -> Field | None:
        """The field at a path; None where there is none."""
        return next((field for field in self.fields if field.path == path), None)

    def at(self, position: Position) -> Field | None:
        """The innermost field at a place."""
        found = [field for field in self.fields if field.key.holds(position) or field.value.holds(position)]
        return found[-1] if found else None


def trees(text: str) -> list[Tree]:
    """A tree for each document of a text that can be read as YAML; the others have no fields."""
    chunks = (chunk for chunk in split(decode(encode(text)), "") if not isinstance(chunk, Diagnostic))
    return [tree for chunk in chunks if (tree := _tree(chunk)).fields or chunk.text.strip()]


def _tree(chunk: Chunk) -> Tree:
    from yaml.error import YAMLError

    try:
        root = compose(chunk, Limits())
    except (YAMLError, RefusedError):
        root = None
    reader = _Reader(chunk)
    whole = Range(reader.place(0), reader.place(len(chunk.text.rstrip())))
    return Tree(tuple(reader.fields(root, (), len(chunk.text))) if root is not None else (), whole)


class _Reader:
    """Makes fields of nodes, whose own ends the parser does not keep."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk

    def place(self, index: int) -> Position:
        source = self._chunk.source(index)
        return Position(source.line - 1, source.column - 1)

    def fields(self, node: Node, path: Path, end: int) -> Iterator[Field]:
        """The fields below a node that nothing of reaches beyond `end`."""
        if node.kind == "mapping":
            pairs = list(node.pairs())
            for (key, value), stop in zip(pairs, (*(later.index for later, _ in pairs[1:]), end), strict=False):
                yield self._field((*path, key.text), key, value, stop)
                yield from self.fields(value, (*path, key.text), stop)
        elif node.kind == "sequence":
            stops = (*(later.index for later in node.children[1:]), end)
            for number, (item, stop) in enumerate(zip(node.children, stops, strict=False)):
                yield self._field((*path, number), None, item, stop)
                yield from self.fields(item, (*path, number), stop)

    def _field(self, path: Path, key: Node | None, value: Node, stop: int) -> Field:
        start = value.index if key is None else key.index
        last = self._trimmed(max(value.index, start), stop)
        named = Range(self.place(start), self.place(start if key is None else self._end_of(key, stop)))
        held = Range(self.place(value.index), self.place(self._end_of(value, last)))
        return Field(path, named, held, Range(named.start, self.place(last)), value.kind, value.text)

    def _end_of(self, node: Node, stop: int) -> int:
        """Behind the last character of a scalar on one line, or of brackets; of anything else, where it stops."""
        text, start = self._chunk.text, node.index
        if node.kind != "scalar":
            return _closing_bracket(text, start, stop) if text[start : start + 1] in ("[", "{") else stop
        if text[start : start + 1] in ("'", '"'):
            end = _closing(text, start)
            return end if end > start else stop
        return start + len(node.text) if text.startswith(node.text, start) else self._line_end(start, stop)

    def _line_end(self, start: int, stop: int) -> int:
        end = self._chunk.text.find("\n", start, stop)
        return stop if end < 0 else end

    def _trimmed(self, start: int, stop: int) -> int:
        """The end of the last line before `stop` that says something: what stands there may be the next item's dash."""
        text = self._chunk.text[start:stop]
        lines = text.split("\n")
        while (len(lines) > 1 and not lines[-1].strip(" -\t")) or lines[-1].lstrip().startswith("#"):
            lines.pop()
            if not lines:
                return start
        return start + len("\n".join(lines).rstrip())


def _closing(text: str, start: int) -> int:
    """Behind the quote that closes the one at `start`; `start` where none does."""
    quote, at = text[start], start + 1
    while at < len(text):
        if quote == '"' and text[at] == "\\":
            at += 2
        elif text[at] != quote:
            at += 1
        elif quote == "'" and text[at + 1 : at + 2] == "'":
            at += 2
        else:
            return at + 1
    return start


def _closing_bracket(text: str, start: int, stop: int) -> int:
    """Behind the bracket that closes the one at `start`; `stop` where none does before."""
    depth, at = 0, start
    while at < stop:
        if text[at] in ("'", '"') and text[at - 1] in " ,:[{":
            at = max(_closing(text, at), at + 1)
            continue
        depth += (text[at] in "[{") - (text[at] in "]}")
        at += 1
        if not depth:
            return at
    return stop
