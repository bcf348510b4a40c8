"""Where the fields of a text stand, and what its diagnostics' fixes change in it.

Lines and columns count from 0, in characters.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from trainc.findings import Diagnostic, Fix, Path, format_key, format_path
from trainc.findings.policy import GUARDED
from trainc.reading.document import Chunk, split
from trainc.reading.libyaml import Node, RefusedError, compose
from trainc.reading.yaml_reader import decode, encode
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
        """Return whether a place is in it or at one of its ends."""
        return self.start <= position <= self.end


@dataclass(frozen=True, slots=True)
class Field:
    """A field or an item of a list. `key` is where its name stands, that of an item being empty; `value` its value.

    `extent` reaches from its name to the end of the last line that belongs to it. `text` is that of a scalar.
    """

    path: Path
    key: Range
    value: Range
    extent: Range
    kind: str
    text: str


# The step to an entry of a mapping or list, its key if it has one, its value, and where the next entry starts.
_Entry: TypeAlias = tuple[str | int, Node | None, Node, int]


class Tree:
    """One document of a text, parsed when a field of it is first asked for; `extent` is its range.

    A document that cannot be read as YAML has no fields.
    """

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        # The entries of nodes that were looked into, by their steps: the last of several with one name counts.
        self._known: dict[tuple[str, int, int], dict[str | int, _Entry]] = {}
        self.extent = self._range(0, len(chunk.text.rstrip()))

    @functools.cached_property
    def _root(self) -> Node | None:
        from yaml.error import YAMLError

        try:
            return compose(self._chunk)
        except (YAMLError, RefusedError, UnicodeEncodeError):  # The last for bytes that are no UTF-8.
            return None

    def fields(self) -> Iterator[Field]:
        """Yield every field, outermost first, in the order of the text."""
        return self._fields(self._root, (), len(self._chunk.text))

    def find(self, path: Path) -> Field | None:
        """Return the field at a path, the last one of several, or None."""
        key, node, end = None, self._root, len(self._chunk.text)
        for step in path:
            if node is None:
                return None
            place = node.kind, node.index, end
            if place not in self._known:
                self._known[place] = {entry[0]: entry for entry in self._entries(node, end)}
            if step not in self._known[place]:
                return None
            _, key, node, end = self._known[place][step]
        return self._field(path, key, node, end) if path and node is not None else None

    def around(self, position: Position) -> list[Field]:
        """Return the fields between whose start and that of the next one a place is, outermost first."""
        index = self._index_of(position)
        return list(self._fields(self._root, (), len(self._chunk.text), index)) if index is not None else []

    def at(self, position: Position) -> Field | None:
        """Return the innermost field at a place."""
        fields = reversed(self.around(position))
        return next((field for field in fields if field.key.holds(position) or field.value.holds(position)), None)

    def _range(self, start: int, end: int) -> Range:
        first, last = self._chunk.source(start), self._chunk.source(end)
        return Range(Position(first.line - 1, first.column - 1), Position(last.line - 1, last.column - 1))

    def _index_of(self, position: Position) -> int | None:
        """Return the index of a position in the text of the chunk; None before and after it."""
        lines = self._chunk.text.split("\n")
        line = position.line + 1 - self._chunk.line
        if not 0 <= line < len(lines):
            return None
        return sum(map(len, lines[:line])) + line + position.column - (0 if line else self._chunk.column - 1)

    def _entries(self, node: Node | None, end: int) -> Iterator[_Entry]:
        """Yield the entries of a node that nothing of reaches beyond `end`."""
        if node is None or node.kind not in ("mapping", "sequence"):
            return
        if node.kind == "mapping":
            pairs: list[tuple[Node | None, Node]] = list(node.pairs())
        else:
            pairs = [(None, item) for item in node.children]
        starts = [(value if key is None else key).index for key, value in pairs]
        for number, ((key, value), stop) in enumerate(zip(pairs, (*starts[1:], end), strict=False)):
            yield number if key is None else key.text, key, value, stop

    def _fields(self, node: Node | None, path: Path, end: int, near: int | None = None) -> Iterator[Field]:
        """Yield the fields below a node, with `near` only those that are around that index."""
        for step, key, value, stop in self._entries(node, end):
            if near is None or (value if key is None else key).index <= near <= stop:
                yield self._field((*path, step), key, value, stop)
                yield from self._fields(value, (*path, step), stop, near)

    def _field(self, path: Path, key: Node | None, value: Node, stop: int) -> Field:
        """Make the field at a path, which nothing of reaches beyond `stop`."""
        start = value.index if key is None else key.index
        last = self._content_end(max(value.index, start), stop)
        key_range = self._range(start, start if key is None else key.end)
        value_range = self._range(value.index, min(value.end, last))
        return Field(path, key_range, value_range, self._range(start, last), value.kind, value.text)

    def _content_end(self, start: int, stop: int) -> int:
        """Return the end of the last line before `stop` that is neither blank, a comment nor the next item's dash."""
        text = self._chunk.text[start:stop]
        lines = text.split("\n")
        while (len(lines) > 1 and not lines[-1].strip(" -\t")) or lines[-1].lstrip().startswith("#"):
            lines.pop()
            if not lines:
                return start
        return start + len("\n".join(lines).rstrip())


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, without their ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def trees(text: str) -> list[Tree]:
    """Return a tree for each document of a text."""
    chunks = (chunk for chunk in split(decode(encode(text)), "") if not isinstance(chunk, Diagnostic))
    return [Tree(chunk) for chunk in chunks if chunk.text.strip()]


# Fixes as edits.

# What means something else inside quotes.
_QUOTING = frozenset("'\"\\")
# What only trainc.yaml can ignore, and what is about comments themselves.
_NEVER_IGNORED = {*GUARDED, "IgnoreWithoutReason", "UnknownCode", "UnusedIgnore"}


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a text: `text` for what stands in `range`."""

    title: str
    range: Range
    text: str


class EditedText:
    """A text, to look up the edits that the fixes of its diagnostics are."""

    def __init__(self, text: str) -> None:
        self.lines = lines_of(text)
        self._trees = trees(text)

    def edits(self, diagnostic: Diagnostic) -> list[Edit]:
        """Return the edits that fix a diagnostic of this text, one of which is enough."""
        if diagnostic.source is None or not diagnostic.fixes:
            return []
        position = Position(diagnostic.source.line - 1, diagnostic.source.column - 1)
        around = ((tree, field) for tree in self._trees for field in tree.around(position))
        fields = [(tree, field) for tree, field in around if position in (field.key.start, field.value.start)]
        # A list of a built object stands where its first item does.
        lists = [(tree, tree.find(field.path[:-1])) for tree, field in fields if field.path[1:] and field.path[-1] == 0]
        fields += [(tree, field) for tree, field in lists if field is not None]
        targets = [target for target in fields if not diagnostic.path or _is_last(target[1], diagnostic.path)]
        edits: list[Edit | None] = []
        for fix in diagnostic.fixes:
            if fix.action == "set" and fix.name:
                edits.append(self._set_field(fix, diagnostic.path, fields))
            elif targets:
                edits.append(self._change(fix, *targets[0 if diagnostic.path else -1]))
            elif fix.action == "replace" and not diagnostic.path:  # In a comment.
                edits.append(self._write(fix, position, position))
        return [edit for edit in edits if edit is not None]

    def ignoring(self, diagnostic: Diagnostic) -> Edit | None:
        """Return the comment that ignores a warning or an info, its reason still to be written; None if none can."""
        source, code = diagnostic.source, diagnostic.code
        if source is None or source.line > len(self.lines) or diagnostic.severity == "error" or code in _NEVER_IGNORED:
            return None
        line, position = self.lines[source.line - 1], Position(source.line - 1, 0)
        indent = line[: len(line) - len(line.lstrip())]
        text = f"{indent}# trainc: ignore[{code}] reason\n"
        return Edit(f"Ignore {code} here", Range(position, position), text)

    def _change(self, fix: Fix, tree: Tree, field: Field) -> Edit | None:
        """Return the edit of the field itself."""
        if fix.action == "remove" and fix.name in ("", field.text):
            return self._remove(tree, field)
        if fix.action in ("remove", "replace"):
            name = tree.find((*field.path, "name"))
            field = name if name is not None and name.text == fix.name else field
            is_key = field.path[-1] == fix.name
            if (is_key and tree.find((*field.path[:-1], fix.text)) is not None) or not _QUOTING.isdisjoint(fix.text):
                return None
            start, end = field.key if is_key else (field.value.start, field.extent.end)
            return self._write(fix, start, end)
        if fix.text[:1] == "[" and isinstance(field.path[-1], int):
            field = tree.find(field.path[:-1]) or field  # A list for the one that has the item.
        elif field.kind != ("sequence" if fix.text[:1] == "[" else "scalar"):
            return None
        value = field.value
        if value.start.line != value.end.line:
            return None
        text = self.lines[value.start.line][value.start.column : value.end.column]
        quoted = text[:1] in ("'", '"')
        if fix.action == "set":
            return Edit(f"Change {text} to {fix.text}", value, fix.text)
        if fix.action == "quote":
            return None if quoted else Edit(f"Put quotes around {text}", value, f'"{text}"')
        return Edit(f"Remove the quotes around {text[1:-1]}", value, text[1:-1]) if quoted else None

    def _write(self, fix: Fix, start: Position, end: Position) -> Edit | None:
        """Write a word in the place of another one, the first in a range, or delete that with the space before it."""
        space, title = "", f"Change {fix.name} to {fix.text}"
        if fix.action == "remove":
            space, title = r"\s*", f"Remove {fix.name}"
        word = re.compile(rf"{space}(?<![\w-]){re.escape(fix.name)}(?![\w-])")
        for number in range(start.line, end.line + 1):
            match = word.search(self.lines[number], start.column if number == start.line else 0)
            if match is not None:
                return Edit(title, Range(Position(number, match.start()), Position(number, match.end())), fix.text)
        return None

    def _set_field(self, fix: Fix, path: str, fields: Sequence[tuple[Tree, Field]]) -> Edit | None:
        """Set a field of the mapping that `path` is about, or leads into if that very field is missing."""
        step = format_key(fix.name, leads=fix.name == path)
        above = path.removesuffix(step)
        for tree, field in fields:
            inside = isinstance(field.path[-1], int)
            if not _is_last(field, path):
                if above == path or (above and not _is_last(field, above)):
                    continue
                inside = bool(above)
            existing = tree.find((*(field.path if inside else field.path[:-1]), fix.name))
            if existing is not None:
                if existing.kind != "scalar":
                    return None
                return Edit(f"Change {fix.name} to {fix.text}", existing.value, fix.text)
            if inside and field.kind != "mapping":
                return None
            line, column = field.value.start if inside else field.key.start
            between = f"\n{' ' * column}"
            if self.lines[line][:column].strip(" -"):
                column, between = column + inside, ", "
            position = Position(line, column)
            return Edit(f"Add {fix.name}: {fix.text}", Range(position, position), f"{fix.name}: {fix.text}{between}")
        return None

    def _remove(self, tree: Tree, field: Field) -> Edit | None:
        """Delete a field or an item, with its lines or its comma."""
        last, name = field.path[-1], tree.find((*field.path, "name"))
        title = f"Remove {last if isinstance(last, str) else field.text or (name.text if name else last)}"
        first, end = field.extent
        before, after = self.lines[first.line][: first.column], self.lines[end.line][end.column :].split(" #")[0]
        alone = not before.strip() or (isinstance(last, int) and before.strip() == "-")
        if alone and not after.strip() and end.line + 1 < len(self.lines):
            return Edit(title, Range(Position(first.line, 0), Position(end.line + 1, 0)), "")
        end = field.value.end
        after = self.lines[end.line][end.column :]
        following = after.lstrip()
        if first.line != end.line:
            return None
        if following.startswith(","):
            length = len(after) - len(following[1:].lstrip())
            return Edit(title, Range(first, Position(end.line, end.column + length)), "")
        if following[:1] in ("]", "}") and before.rstrip()[-1:] == ",":
            return Edit(title, Range(Position(first.line, len(before.rstrip()) - 1), end), "")
        return None


def _is_last(field: Field, path: str) -> bool:
    """Return whether a formatted path ends with the last step of a field's path."""
    return path.endswith(format_path(field.path[-1:]))
