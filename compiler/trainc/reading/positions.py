"""Field paths to places in the text: looked up only when a diagnostic needs one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainc.diagnostics import Path, Source
from trainc.options import Limits
from trainc.reading.chunk import Chunk
from trainc.startup.records import dataclass

if TYPE_CHECKING:
    from trainc.reading.nodes import Node


class Positions:
    """The places of one chunk's fields. The text is parsed at the first question and kept as a tree.

    Nothing that parses is imported before: most compilations end without a question.
    """

    __slots__ = ("_chunk", "_entries_of", "_limits", "_root")

    def __init__(self, chunk: Chunk, limits: Limits) -> None:
        self._chunk = chunk
        self._limits = limits
        self._root: Node | None = None
        self._entries_of: dict[Node, dict[str, tuple[int, Node]]] = {}

    def find(self, path: Path) -> Source:
        """The place of `path`: a mapping entry's key, a list's item; of its nearest ancestor if it does not exist."""
        node = self._root = self._root or self._compose()
        index = node.index
        for step in path:
            if (child := self._child(node.resolved(), step)) is None:
                break
            index, node = child
        return self._chunk.source(index)

    def _compose(self) -> Node:
        from yaml.error import YAMLError

        from trainc.reading.nodes import Node, RefusedError, compose

        try:
            root = compose(self._chunk, self._limits)
        except (YAMLError, RefusedError):  # JSON, whose strings may hold what YAML refuses.
            root = None
        return root or Node("scalar", 0)

    def _child(self, node: Node, step: str | int) -> tuple[int, Node] | None:
        """Where the child at `step` is named, and the child."""
        if node.kind == "sequence" and isinstance(step, int) and 0 <= step < len(node.children):
            return node.children[step].index, node.children[step]
        return self._entries(node).get(step) if node.kind == "mapping" and isinstance(step, str) else None

    def _entries(self, mapping: Node) -> dict[str, tuple[int, Node]]:
        """The entries of a mapping by key, merged ones included: the last one counts, as in `construct`."""
        from trainc.reading.construct import is_merge, key_text

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
    """`Document.locate` of the document that stands at `prefix` inside a chunk: a `List` holds several."""

    positions: Positions
    prefix: Path = ()

    def __call__(self, path: Path) -> Source:
        """The place of `path`, as `Positions.find` has it."""
        return self.positions.find((*self.prefix, *path))
