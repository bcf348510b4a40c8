"""Maps field paths to source positions, on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainc.findings import Path, Source
from trainc.options import Limits
from trainc.reading.block_lines import LinePlaces
from trainc.reading.document import Chunk
from trainc.startup.records import dataclass

if TYPE_CHECKING:
    from trainc.reading.libyaml import Node


class Positions:
    """The positions of the fields in a chunk.

    The text is parsed on the first call, by libyaml if the line reader does not handle it. Importing libyaml takes longer
    than reading a hundred documents, so that is local.
    """

    __slots__ = ("_chunk", "_entries_of", "_limits", "_lines", "_root")

    def __init__(self, chunk: Chunk, limits: Limits) -> None:
        self._chunk = chunk
        self._limits = limits
        self._lines: LinePlaces | None = None
        self._root: Node | None = None
        self._entries_of: dict[Node, dict[str, tuple[int, Node]]] = {}

    def find(self, path: Path) -> Source:
        """Return the position of `path`: a mapping key or a list item, or the nearest existing ancestor."""
        if self._lines is None and self._root is None:
            self._read()
        if self._lines is not None:
            return self._chunk.source_at(*self._lines.find(path))
        node = self._root
        assert node is not None
        index = node.index
        for step in path:
            if (child := self._child(node.resolved(), step)) is None:
                break
            index, node = child
        return self._chunk.source(index)

    def _read(self) -> None:
        try:
            self._lines = LinePlaces(self._chunk.text, self._limits.depth)
        except ValueError:
            self._root = self._compose()

    def _compose(self) -> Node:
        from yaml.error import YAMLError

        from trainc.reading.libyaml import Node, RefusedError, compose

        try:
            root = compose(self._chunk, self._limits)
        except (YAMLError, RefusedError):  # JSON, whose strings may contain characters that YAML rejects.
            root = None
        return root or Node("scalar", 0)

    def _child(self, node: Node, step: str | int) -> tuple[int, Node] | None:
        """Return the offset of the key or item at `step`, and the node."""
        if node.kind == "sequence" and isinstance(step, int) and 0 <= step < len(node.children):
            return node.children[step].index, node.children[step]
        return self._entries(node).get(step) if node.kind == "mapping" and isinstance(step, str) else None

    def _entries(self, mapping: Node) -> dict[str, tuple[int, Node]]:
        """Return the entries of a mapping by key, including merged ones; later ones win, like in `construct`."""
        from trainc.reading.libyaml import is_merge, key_text

        entries = self._entries_of.setdefault(mapping, {})
        for key, value in () if entries else mapping.pairs():
            if is_merge(key):
                for source in reversed(value.children if value.kind == "sequence" else [value]):
                    entries |= self._entries(source.resolved())
            elif (name := key_text(key)) is not None:
                entries[name] = key.index, value
        return entries


@dataclass(frozen=True, slots=True)
class Locator:
    """`Document.locate` for a document at `prefix` inside a chunk, for example an item of a `List`."""

    positions: Positions
    prefix: Path = ()

    def __call__(self, path: Path) -> Source:
        """Return the position of `path`; see `Positions.find`."""
        return self.positions.find((*self.prefix, *path))
