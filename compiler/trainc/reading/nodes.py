"""Parses YAML to a tree that keeps tags, aliases and positions, for `construct` and `positions`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from trainc.diagnostics import Diagnostic
from trainc.options import Limits
from trainc.reading.chunk import Chunk
from trainc.reading.event_parser import EventParser
from trainc.startup.records import dataclass, field

# The maximum number of nodes from aliases, per allowed alias: 400,000 by default, like go.yaml.in/yaml/v2 decode.go.
_NODES_PER_ALIAS = 40

Kind: TypeAlias = Literal["scalar", "sequence", "mapping", "alias"]


@dataclass(slots=True, eq=False)
class Node:
    """A YAML node. `children` of a mapping alternate between keys and values; an alias only has a `target`.

    `index` is the character offset in the text. `plain` means that the type depends on the text alone. `nodes`,
    `aliases` and `height` measure the tree with all aliases expanded.
    """

    kind: Kind
    index: int
    text: str = ""
    tag: str | None = None
    plain: bool = False
    children: list[Node] = field(default_factory=list)
    target: Node | None = None
    nodes: int = 1
    aliases: int = 0
    height: int = 0

    def resolved(self) -> Node:
        """Return the node itself, or the target of an alias."""
        return self.target or self

    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """Iterate over the (key, value) pairs of a mapping."""
        return zip(self.children[::2], self.children[1::2], strict=True)


class RefusedError(Exception):
    """The text is valid YAML, but not a document that trainc accepts."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def compose(chunk: Chunk, limits: Limits) -> Node | None:
    """Parse a chunk; None if it has no document. Raises YAMLError or RefusedError if it cannot be read."""
    composer = _Composer(chunk, limits)
    parser = EventParser(chunk.text)
    while (event := parser.get_event()) is not None:
        composer.take(event)
    return next(iter(composer.open[0].children), None)


class _Composer:
    """Builds the tree from events with an explicit stack, so that deep nesting cannot cause a RecursionError."""

    def __init__(self, chunk: Chunk, limits: Limits) -> None:
        self.chunk = chunk
        self.limits = limits
        self.anchors: dict[str, Node] = {}
        self.open = [Node("sequence", 0)]  # Innermost last; the first entry is the stream.
        self.aliases = self.aliased_nodes = 0

    def take(self, event: Any) -> None:
        if isinstance(event, ScalarEvent):
            self._add(self._anchored(self._scalar(event), event))
        elif isinstance(event, MappingStartEvent):
            self._start("mapping", event)
        elif isinstance(event, SequenceStartEvent):
            self._start("sequence", event)
        elif isinstance(event, MappingEndEvent | SequenceEndEvent):
            self._add(self.open.pop())
        elif isinstance(event, AliasEvent):
            self._add(self._alias(event))
        elif isinstance(event, DocumentStartEvent) and self.open[0].children:
            message = "a second document starts here without a `---` line before it"
            raise self._refused("YAMLSyntax", event, message, "put a `---` line between the documents")

    def _scalar(self, event: Any) -> Node:
        index, tag = event.start_mark.index, event.tag
        if tag is None and event.implicit[0] and self.chunk.text.startswith("!", index):
            tag = "!"
        return Node("scalar", index, event.value, tag, event.implicit[0] and tag is None)

    def _start(self, kind: Kind, event: Any) -> None:
        if len(self.open) > self.limits.depth:
            raise self._too_deep(event)
        self.open.append(self._anchored(Node(kind, event.start_mark.index, tag=event.tag), event))

    def _alias(self, event: Any) -> Node:
        name = event.anchor
        target = self.anchors.get(name)
        if target is None:
            hint = "define the anchor earlier in the same document"
            raise self._refused("YAMLSyntax", event, f"the alias *{name} has no anchor &{name} before it", hint)
        if target in self.open:
            hint = "write the value out: it cannot refer to a mapping or list that it is part of"
            raise self._refused("YAMLSyntax", event, f"the anchor &{name} contains itself", hint)
        if len(self.open) - 1 + target.height > self.limits.depth:
            raise self._too_deep(event)
        node = Node("alias", event.start_mark.index, "", target=target)
        node.nodes, node.aliases, node.height = target.nodes, target.aliases + 1, target.height
        self._count(node, event)
        return node

    def _count(self, alias: Node, event: Any) -> None:
        limit = self.limits.alias_expansions
        self.aliases += alias.aliases
        self.aliased_nodes += alias.nodes
        if self.aliases > limit or self.aliased_nodes > limit * _NODES_PER_ALIAS:
            message = f"aliases expand to more than {limit:,} copies or {limit * _NODES_PER_ALIAS:,} values"
            hint = "write the repeated parts out, or raise the limit (--max-aliases)"
            raise self._refused("TooManyAliases", event, message, hint)

    def _anchored(self, node: Node, event: Any) -> Node:
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _add(self, node: Node) -> None:
        parent = self.open[-1]
        parent.children.append(node)
        parent.nodes += node.nodes
        parent.aliases += node.aliases
        parent.height = max(parent.height, node.height + 1)

    def _too_deep(self, event: Any) -> RefusedError:
        message = f"the document nests deeper than {self.limits.depth:,} levels"
        return self._refused("TooDeep", event, message, "flatten it, or raise the limit (--max-depth)")

    def _refused(self, code: str, event: Any, message: str, hint: str) -> RefusedError:
        return RefusedError(self.chunk.error(code, event.start_mark.index, message, hint))
