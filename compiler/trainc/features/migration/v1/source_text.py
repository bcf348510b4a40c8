"""The text of a document as entries: each key and each list item, with its lines and its comments."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice, takewhile
from typing import Any

from trainc.api.records import dataclass, field, pattern
from trainc.api.rewriting import libyaml

_BEHIND = pattern(r"\s+#.*$")
_BLOCKS = ("|", ">")
_COMMENT = pattern(r"(?m)(?:^|(?<=\s))#.*")
# Of many free entries with the same name and value, only the first few are compared.
_MOST_COMPARED = 8


class UnfitError(Exception):
    """The text has a form that cannot be divided into entries."""


@dataclass(slots=True, eq=False)
class Entry:
    """A key with its value, or an item of a list, which starts at `start`; `head` is the end of its key or dash.

    The lines from `top` to `line` are above it, those from `line` to `end` its own, and `behind` is the comment that
    follows it on its line. `path` has the keys that lead to it. Once the new data has a place for it, it `is_used`;
    `position` is the (document, line, column) where it was written, and with `is_copied` its lines were, too. An entry
    that `is_torn` has lost one inside of it to another place.
    """

    step: str | int
    value: Any
    node: libyaml.Node
    start: int
    head: int
    column: int
    line: int
    path: tuple[str, ...]
    in_flow: bool
    top: int
    end: int = 0
    behind: str = ""
    is_used: bool = False
    is_copied: bool = False
    is_torn: bool = False
    position: tuple[int, int, int] | None = None
    parent: Entry | None = None
    entries: list[Entry] = field(default_factory=list)

    def use(self, *, copied: bool = False) -> None:
        """Mark the entry, and everything in it, as used."""
        self.is_used, self.is_copied = True, self.is_copied or copied
        for entry in self.entries:
            entry.use(copied=copied)

    def put(self, position: tuple[int, int, int]) -> None:
        """Note where the entry is written."""
        self.is_used, self.position = True, position
        ancestor = self.parent
        while ancestor is not None and not ancestor.is_torn:
            ancestor.is_torn, ancestor = True, ancestor.parent


class SourceText:
    """A document's text, divided into entries; `root` is its node. Raises UnfitError or YAMLError where that fails.

    `entries` are all of them; `step` and `offset` are by how much its author indents a mapping and a list below their keys; `tail` has the
    comments at the end, which belong to no entry.
    """

    def __init__(self, text: str, data: Any) -> None:
        self.text = text if text.endswith("\n") else text + "\n"
        self.lines = self.text.split("\n")[:-1]
        self.step, self.offset = 0, -1
        self._starts = list(accumulate((len(line) + 1 for line in self.lines), initial=0))
        self.entries: list[Entry] = []
        self._by_name: dict[tuple[str, bool], dict[str, deque[Entry]]] = {}
        try:
            node = libyaml.compose(libyaml.Chunk(self.text, ""))
        except libyaml.RefusedError:
            raise UnfitError from None
        if node is None or not node.children:
            raise UnfitError
        column = self._column(node.index)
        end = self._end_of_comments(self._last_line(node) + 1, len(self.lines), column)
        self.tail = self.lines[end:]
        if any(line.strip() and not line.lstrip().startswith("#") for line in self.tail):
            raise UnfitError
        self.root = Entry("", data, node, node.index, node.index, column, 0, (), in_flow=False, top=0)
        self._divide(self.root, 0, end)

    def line_of(self, index: int) -> int:
        """Return the line of a character."""
        return bisect_right(self._starts, index) - 1

    def rest_of_line(self, index: int) -> str:
        """Return the text from a character to the end of its line."""
        return self.text[index : self._starts[self.line_of(index) + 1] - 1]

    def below(self, entry: Entry) -> list[str]:
        """Return the comments below an entry that belong to it, unless a block inside of it has them."""
        return [] if entry.in_flow or entry.node.is_block else self.lines[self._last_line(entry.node) + 1 : entry.end]

    def comments_in(self, node: libyaml.Node) -> list[str]:
        """Return the comments between the brackets of a collection."""
        if node.style != "[" or "#" not in self.text[node.index : node.end]:
            return []
        spans = [(inner.index, inner.end) for inner in _scalars(node)]
        matches = _COMMENT.finditer(self.text, node.index, node.end)
        before = ((match, bisect_right(spans, (match.start(), len(self.text))) - 1) for match in matches)
        return [match[0].rstrip() for match, at in before if at < 0 or match.start() >= spans[at][1]]

    def elsewhere(self, names: Sequence[str], path: Sequence[str], is_item: bool, value: Any) -> Entry | None:
        """Return a free entry that has one of `names` and this value, preferably with the same parents as `path`."""
        free: list[Entry] = []
        for name in names:
            if (by_value := self._by_name.get((name, is_item))) is None:
                continue
            entries = by_value.get(repr(value), deque())
            while entries and entries[0].is_used:
                entries.popleft()
            free += (entry for entry in islice(entries, _MOST_COMPARED) if not entry.is_used and not entry.is_torn)

        def parents_in_common(entry: Entry) -> int:
            pairs = zip(entry.path[-2::-1], path[-2::-1], strict=False)
            return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

        return max(free, key=parents_in_common, default=None)

    def _divide(self, parent: Entry, begin: int, end: int) -> None:
        """Find the entries in an entry's collection, whose lines are those from `begin` to `end`."""
        node, value = parent.node, parent.value
        for step, start, head, child in self._parts(node):
            if isinstance(step, str) and step not in value:
                raise UnfitError
            line, column = self.line_of(start), self._column(start)
            path = (*parent.path, step) if isinstance(step, str) else parent.path
            in_flow = node.style == "["
            entry = Entry(step, value[step], child, start, head, column, line, path, in_flow, line, parent=parent)
            parent.entries.append(entry)
            self.entries.append(entry)
            name = (path[-1] if path else "", isinstance(step, int))
            self._by_name.setdefault(name, {}).setdefault(repr(entry.value), deque()).append(entry)
        if node.is_block:
            self._give_lines(parent.entries, begin, end)
        for entry in parent.entries:
            child = entry.node
            starts_below = self.line_of(child.index) > entry.line
            if not entry.in_flow:
                entry.behind = self._behind(entry, starts_below)
                if child.is_block and isinstance(entry.step, str):
                    indent = self._column(child.index) - entry.column
                    if child.kind == "mapping":
                        self.step = self.step or indent
                    elif self.offset < 0:
                        self.offset = indent
            if child.children:
                self._divide(entry, entry.line + starts_below, entry.end)

    def _parts(self, node: libyaml.Node) -> Iterator[tuple[str | int, int, int, libyaml.Node]]:
        """Yield (step, start, end of key or dash, value) of each entry; a merge key is none."""
        if node.kind == "mapping":
            for key, child in node.pairs():
                if not libyaml.is_merge(key):
                    yield libyaml.key_text(key) or "", key.index, key.end, child
        else:
            for index, child in enumerate(node.children):
                start = self._dash(node, child) if node.is_block else child.index
                yield index, start, start + node.is_block, child

    def _dash(self, node: libyaml.Node, child: libyaml.Node) -> int:
        """Return the position of an item's dash, which is in the list's column, on the item's line or above."""
        column = self._column(node.index)
        for line in range(self.line_of(child.index), self.line_of(node.index) - 1, -1):
            if self.lines[line][column : column + 1] == "-" and self._starts[line] + column < child.end + 1:
                return self._starts[line] + column
        raise UnfitError

    def _give_lines(self, entries: Sequence[Entry], begin: int, end: int) -> None:
        """Give every line to an entry. A comment belongs to what is below it, or, if it is deeper, to what is above."""
        for before, entry in zip((None, *entries), entries, strict=False):
            entry.top = begin if before is None else self._end_of_comments(before.end, entry.line, before.column)
            if before is not None:
                before.end = entry.top
            entry.end = self._last_line(entry.node) + 1
        entries[-1].end = end

    def _end_of_comments(self, begin: int, end: int, column: int) -> int:
        """Return the end of the comments, from the line `begin` on, that are to the right of a column."""
        while begin < end and self.lines[begin].lstrip().startswith("#") and self.lines[begin].find("#") > column:
            begin += 1
        return begin

    def _behind(self, entry: Entry, starts_below: bool) -> str:
        node = entry.node
        if node.is_block and not starts_below:
            return ""
        match = _BEHIND.search(self.rest_of_line(entry.head if node.is_block or node.style in _BLOCKS else node.end))
        return match[0] if match else ""

    def _last_line(self, node: libyaml.Node) -> int:
        line = self.line_of(node.end)
        return line - 1 if node.last.style in _BLOCKS and node.end == self._starts[line] else line

    def _column(self, index: int) -> int:
        return index - self._starts[self.line_of(index)]


def _scalars(node: libyaml.Node) -> Iterator[libyaml.Node]:
    if not node.children:
        yield node
    for child in node.children:
        yield from _scalars(child)
