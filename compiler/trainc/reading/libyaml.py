"""The slow but thorough reader, which parses to a tree with positions and reports all problems."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from sys import intern
from typing import TYPE_CHECKING, Any

from yaml import events
from yaml.error import YAMLError

from trainc.findings import TEMPLATE_HINT, Diagnostic, Fix, Hint
from trainc.options import Limits
from trainc.reading.block_lines import MERGE, NotFiniteError, Scalar, integer, plain
from trainc.reading.document import Chunk
from trainc.reading.syntax_errors import syntax_error
from trainc.startup.patterns import pattern

# Detects lost indentation, for example after copying from a web page, to report one clear error instead of many.
# Such text still looks like YAML and may even parse, but `spec:` is empty and its fields are next to it.

_CONTENT = pattern(r"(?m)^([ \t]*)([^\s#].*)$")
_EMPTY_KEY = pattern(r"[\w./-]+:\s*(?:#.*)?")
_KEY = pattern(r"[\w./-]+(?=:(?:\s|$))")
# Fields that are siblings in any manifest, so one of them after an empty one is no evidence.
_ROOT_KEYS = frozenset(("apiVersion", "kind", "metadata", "spec", "status", "data"))


def find_lost_indentation(chunk: Chunk) -> Diagnostic | None:
    """Return the error `FlattenedYAML` if all lines start in the same column although some keys are empty."""
    if len({len(line[1]) for line in _CONTENT.finditer(chunk.text)}) != 1:
        return None
    for parent, child in pairwise(_CONTENT.finditer(chunk.text)):  # All matches at once would take 100 times the text.
        key = _KEY.match(child[2])
        if _EMPTY_KEY.fullmatch(parent[2]) and key and key[0] not in _ROOT_KEYS:
            return chunk.error(
                "FlattenedYAML",
                parent.start(2),
                f"the indentation is lost: `{parent[2].partition(':')[0]}:` is empty and `{key[0]}:` is in the same column",
                "copy the document again with its indentation: trainc cannot tell which field is under which",
            )
    return None


# The YAML event parser: libyaml's if PyYAML was built with it, otherwise the one in pure Python.

if TYPE_CHECKING:
    from yaml._yaml import CParser as EventParser
else:
    try:
        from yaml._yaml import CParser as EventParser
    except ImportError:
        from yaml.parser import Parser
        from yaml.reader import Reader
        from yaml.scanner import Scanner, ScannerError

        class EventParser(Reader, Scanner, Parser):
            """PyYAML's own parser, many times slower. Rejects anything that only one of the parsers accepts."""

            def __init__(self, text: str) -> None:
                Reader.__init__(self, text)
                Scanner.__init__(self)
                Parser.__init__(self)

            def scan_to_next_token(self) -> None:
                """Skip tabs where libyaml does: anywhere except in indentation (yaml/libyaml, scanner.c)."""
                super().scan_to_next_token()
                while self.peek() == "\t" and (self.flow_level or not self.allow_simple_key):
                    self.forward()
                    super().scan_to_next_token()

            def scan_plain(self) -> object:
                """Read a word. In brackets libyaml refuses a colon directly in front of one of these (scanner.c)."""
                token = super().scan_plain()
                if self.flow_level and (":?" in token.value or (self.peek() == ":" and self.peek(1) in ",[]{}")):
                    raise ScannerError(None, None, "found unexpected ':'", self.get_mark())
                return token

            def get_event(self) -> object:
                """Return the next event, or None at the end. Rejects unpaired surrogates, like libyaml."""
                event = super().get_event()
                try:
                    getattr(event, "value", "").encode()
                except UnicodeEncodeError:
                    mark = event.start_mark
                    raise ScannerError(None, None, "found invalid Unicode character escape code", mark) from None
                return event


__all__ = ["Chunk", "EventParser"]
# The maximum number of nodes from aliases, per allowed alias: 400,000 by default, like go.yaml.in/yaml/v2 decode.go.
_NODES_PER_ALIAS = 40

# A kind of node, the quote, `|`, `>` or `[` that a value in quotes, in a block or in brackets starts with, and whether the
# type depends on the text alone.
_ALIAS = ("alias", "", False)
_FORMS = (
    ("scalar", "", True), *(("scalar", style, False) for style in ("", "'", '"', "|", ">")), _ALIAS,
    *((kind, style, False) for kind in ("sequence", "mapping") for style in ("", "[")),
)  # fmt: skip
_NUMBER_OF_FORM = {form: number for number, form in enumerate(_FORMS)}
_QUOTES = ("'", '"')
_STARTS = {events.MappingStartEvent: "mapping", events.SequenceStartEvent: "sequence"}


class _Nodes:
    """The nodes of a text, in its order, in a few bytes each: a hostile document has one in every other character.

    A node stands from `starts` to `ends`; the nodes in it are those that follow it, up to the number in `after`. What is
    rare is by the number of the node: `texts` that differ from what is written, `tags` and the `targets` of aliases.
    `shared` are the numbers of those with an anchor, an alias or a tag, in order.
    """

    def __init__(self, written: str) -> None:
        self.written = written
        self.forms = bytearray()
        self.starts, self.ends, self.after = array("I"), array("I"), array("I")
        self.shared = array("I")
        self.texts: dict[int, str] = {}
        self.tags: dict[int, str] = {}
        self.targets: dict[int, int] = {}


class Node:
    """A YAML node. The children of a mapping alternate between keys and values.

    It stands from `index` to `end` in the text; a collection without brackets ends with its last child.
    """

    __slots__ = ("_nodes", "index", "kind", "number", "plain", "style")

    def __init__(self, nodes: _Nodes, number: int) -> None:
        self._nodes, self.number, self.index = nodes, number, nodes.starts[number]
        self.kind, self.style, self.plain = _FORMS[nodes.forms[number]]

    @property
    def end(self) -> int:
        """Where it ends."""
        return self._nodes.ends[self.number]

    @property
    def text(self) -> str:
        """The text of a scalar; empty for any other node."""
        nodes, number = self._nodes, self.number
        if self.kind != "scalar" or number in nodes.texts:
            return nodes.texts.get(number, "")
        quote = self.style in _QUOTES
        return nodes.written[self.index + quote : nodes.ends[number] - quote]

    @property
    def tag(self) -> str | None:
        """Its tag, unless that is `!`."""
        return self._nodes.tags.get(self.number)

    @property
    def children(self) -> list[Node]:
        """The nodes directly in it."""
        return list(map(self.at, self.numbers()))

    def numbers(self) -> Iterator[int]:
        """Iterate over the numbers of its children."""
        number, end, after = self.number + 1, self._nodes.after[self.number], self._nodes.after
        while number < end:
            yield number
            number = after[number]

    def at(self, number: int) -> Node:
        """Return the node with a number."""
        return Node(self._nodes, number)

    @property
    def is_block(self) -> bool:
        """Return whether it is a mapping or list without brackets, whose entries have lines of their own."""
        return not self.style and self._nodes.after[self.number] > self.number + 1

    @property
    def is_shared(self) -> bool:
        """Return whether it, or something in it, has an anchor, an alias or a tag."""
        shared = self._nodes.shared
        at = bisect_left(shared, self.number)
        return at < len(shared) and shared[at] < self._nodes.after[self.number]

    @property
    def last(self) -> Node:
        """The innermost node at its end."""
        return self.at(self._nodes.after[self.number] - 1)

    def resolve(self) -> Node:
        """Return the node itself, or the target of an alias."""
        return self.at(self._nodes.targets[self.number]) if self.kind == "alias" else self

    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """Iterate over the (key, value) pairs of a mapping."""
        children = map(self.at, self.numbers())
        return zip(children, children, strict=True)


class RefusedError(Exception):
    """The text is valid YAML, but not a document that trainc accepts."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def compose(chunk: Chunk, limits: Limits = Limits()) -> Node | None:
    """Parse a chunk; None if it has no document. Raises YAMLError or RefusedError if it cannot be read."""
    composer = _Composer(chunk, limits)
    parser = EventParser(chunk.text)
    while (event := parser.get_event()) is not None:
        composer.take(event)
    return Node(composer.tree, 0) if composer.tree.forms else None


class _Composer:
    """Notes the nodes from events with an explicit stack, so that deep nesting cannot cause a RecursionError."""

    def __init__(self, chunk: Chunk, limits: Limits) -> None:
        self.chunk = chunk
        self.limits, self.most = limits, limits.values_in(chunk.text)
        self.tree = _Nodes(chunk.text)
        # The innermost last: the number of a collection, and what was before it: nodes, aliases, and the characters of those.
        self.open: list[tuple[int, int, int, int]] = []
        self.heights = [0]
        self.last = 0  # The node that ended last.
        self.anchors: dict[str, int] = {}
        # Of each node with an anchor, its nodes, aliases, levels and characters of aliases, aliases expanded.
        self.measures: dict[int, tuple[int, int, int, int]] = {}
        self.aliases = self.aliased_nodes = self.aliased = self.nodes = 0

    def take(self, event: Any) -> None:
        kind = type(event)
        if kind is events.ScalarEvent:
            self._scalar(event)
        elif kind in _STARTS:
            self._start(_STARTS[kind], event)
        elif kind in (events.MappingEndEvent, events.SequenceEndEvent):
            self._end(event)
        elif kind is events.AliasEvent:
            self._alias(event)
        elif kind is events.DocumentStartEvent and self.tree.forms:
            message = "a second document starts here without a `---` line before it"
            raise self._refuse("YAMLSyntax", event, message, "put a `---` line between the documents")

    def _scalar(self, event: Any) -> None:
        tree, style, text = self.tree, event.style or "", event.value
        start, end = event.start_mark.index, event.end_mark.index
        plain = event.implicit[0] and event.tag is None and not tree.written.startswith("!", start)
        number = self._add(("scalar", style, plain), event)
        quote = style in _QUOTES
        if tree.written[start + quote : end - quote] != text:
            tree.texts[number] = text
        self._register(number, event)

    def _start(self, kind: str, event: Any) -> None:
        if len(self.open) >= self.limits.depth:
            raise self._too_deep(event)
        before = self.nodes + self.aliased_nodes
        number = self._add((kind, "[" if event.flow_style else "", False), event)
        self._register(number, event)
        self.open.append((number, before, self.aliases, self.aliased))
        self.heights.append(0)

    def _end(self, event: Any) -> None:
        number, nodes, aliases, characters = self.open.pop()
        height, tree = self.heights.pop(), self.tree
        self.heights[-1] = max(self.heights[-1], height + 1)
        tree.after[number] = len(tree.forms)
        is_block = height and not _FORMS[tree.forms[number]][1]
        tree.ends[number] = tree.ends[self.last] if is_block else event.end_mark.index
        self.last = number
        if number in self.measures:
            nodes, aliases = self.nodes + self.aliased_nodes - nodes, self.aliases - aliases
            self.measures[number] = nodes, aliases, height, self.aliased - characters

    def _alias(self, event: Any) -> None:
        name = event.anchor
        target = self.anchors.get(name)
        if target is None:
            hint = f"put quotes around a value that begins with `*`, or define &{name} earlier in the same document"
            raise self._refuse("YAMLSyntax", event, f"the alias *{name} has no anchor &{name} before it", hint)
        if any(target == number for number, *_ in self.open):
            hint = "write the value out: it cannot refer to a mapping or list that it is part of"
            raise self._refuse("YAMLSyntax", event, f"the anchor &{name} contains itself", hint)
        nodes, aliases, height, characters = self.measures[target]
        if len(self.open) + height > self.limits.depth:
            raise self._too_deep(event)
        number = self._add(_ALIAS, event)
        self.tree.targets[number] = target
        self.tree.shared.append(number)
        self.heights[-1] = max(self.heights[-1], height + 1)
        limit = self.limits.alias_expansions
        self.aliases += aliases + 1
        self.aliased_nodes += nodes
        self.aliased += self.tree.ends[target] - self.tree.starts[target] + characters
        if self.aliased > self.limits.document_bytes:
            message = f"aliases expand to more than {self.limits.document_bytes:,} characters"
            hint = "give each a shorter value, or raise the limit (--max-document-bytes)"
            raise self._refuse("TooManyAliases", event, message, hint)
        if self.aliases > limit or self.aliased_nodes > limit * _NODES_PER_ALIAS:
            message = f"aliases expand to more than {limit:,} copies or {limit * _NODES_PER_ALIAS:,} values"
            hint = "write the repeated parts out, or raise the limit (--max-alias-expansions)"
            raise self._refuse("TooManyAliases", event, message, hint)

    def _add(self, form: tuple[str, str, bool], event: Any) -> int:
        """Note a node, and return its number."""
        tree = self.tree
        number = len(tree.forms)
        tree.forms.append(_NUMBER_OF_FORM[form])
        tree.starts.append(event.start_mark.index)
        tree.ends.append(event.end_mark.index)
        tree.after.append(number + 1)
        self.heights[-1] = self.heights[-1] or 1
        self.last = number
        return number

    def _register(self, number: int, event: Any) -> None:
        self.nodes += 1
        if self.nodes > self.most:
            message = f"the document has more than {self.most:,} keys and values"
            hint = "split it" + ", or raise the limit (--max-values)" * (self.most == self.limits.values)
            raise self._refuse("TooManyValues", event, message, hint)
        if event.anchor is not None:
            self.anchors[event.anchor] = number
            self.measures[number] = 1, 0, 0, 0
        if event.tag not in (None, "!"):
            self.tree.tags[number] = event.tag
        if number in self.measures or number in self.tree.tags:
            self.tree.shared.append(number)

    def _too_deep(self, event: Any) -> RefusedError:
        message = f"the document nests deeper than {self.limits.depth:,} levels"
        return self._refuse("TooDeep", event, message, "flatten it, or raise the limit (--max-depth)")

    def _refuse(self, code: str, event: Any, message: str, hint: str) -> RefusedError:
        return RefusedError(self.chunk.error(code, event.start_mark.index, message, hint))


# Converts nodes to a value and reports all problems with their positions.
# Follows go.yaml.in/yaml/v2 decode.go and sigs.k8s.io/yaml, but also rejects duplicate keys, keys with a fraction, and
# all tags but those of strings, lists and mappings.

_PREFIX = "tag:yaml.org,2002:"
_TAGS = {kind: ("!", f"{_PREFIX}{tag}") for kind, tag in (("scalar", "str"), ("mapping", "map"), ("sequence", "seq"))}
_SEPARATE = "put a `---` line before this line if it starts another document; otherwise keep one of the two"
_TAG_HINT = "remove the tag: a value without quotes is a number, boolean or null if it reads like one, and one in quotes is a string"
_MERGE_HINT = "give `<<` an alias of a mapping, as in `<<: *defaults`, or a list of them"


def is_merge(key: Node) -> bool:
    """Return whether a key is the merge key, either `<<` or by its tag."""
    return key.kind == "scalar" and key.text == MERGE and (key.plain or key.tag == _PREFIX + "merge")


def key_text(key: Node) -> str | None:
    """Return a key as the string that kubectl converts it to, or None for a list, null or a number with a fraction."""
    key = key.resolve()
    if key.kind != "scalar":
        return None
    if not key.plain:
        return key.text
    value = plain(key.text)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    whole = integer(key.text)
    return str(whole) if whole is not None and whole < 2**63 else None


class _Constructor:
    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.problems: list[Diagnostic] = []

    def value(self, node: Node) -> Any:
        node = node.resolve()
        self._check_tag(node)
        if node.kind == "scalar":
            return self._scalar(node)
        if node.kind == "sequence":
            return [self.value(node.at(number)) for number in node.numbers()]
        mapping: dict[str, Any] = {}
        self._fill(mapping, node)
        return mapping

    def _fill(self, mapping: dict[str, Any], node: Node) -> None:
        """Set the entries of `node` in order. A merge key overwrites the keys before it."""
        seen: dict[str, Node] = {}
        is_second = False
        for key, value in node.pairs():
            if is_merge(key):
                self._merge(mapping, value)
            elif (name := self._key(key)) is not None:
                if name in seen and not is_second:
                    self._duplicate(name, key, seen[name])
                    # The remaining keys belong to another document whose `---` is missing.
                    is_second = name == "apiVersion"
                seen.setdefault(name, key)
                mapping[intern(name)] = self.value(value)

    def _merge(self, mapping: dict[str, Any], value: Node) -> None:
        # A list of mappings must be inline: an alias may only refer to a mapping (decode.go merge).
        sources = value.children if value.kind == "sequence" else [value]
        for source in reversed(sources):
            if source.resolve().kind == "mapping":
                self._fill(mapping, source.resolve())
            else:
                message = "the merge key `<<` needs a mapping"
                self._report("YAMLSyntax", source, message, _MERGE_HINT)

    def _key(self, key: Node) -> str | None:
        scalar = key.resolve()
        if not self._check_tag(scalar):
            return None
        try:
            name = key_text(scalar)
        except NotFiniteError:
            name = None
        if name is None:
            shown = (scalar.text or "nothing") if scalar.kind == "scalar" else f"a {scalar.kind}"
            template = self.chunk.text.startswith("{{", key.index - 1)
            hint = TEMPLATE_HINT if template else "put the key in quotes: keys are strings"
            self._report("UnsupportedKey", key, f"{shown} cannot be a key", hint)
        return name

    def _scalar(self, node: Node) -> Scalar:
        try:
            return plain(node.text) if node.plain else node.text
        except NotFiniteError:
            hint = Hint("put quotes around it if it is a string: Kubernetes has finite numbers only", Fix("quote"))
            self._report("NonFiniteNumber", node, f"{node.text} is not a finite number", hint)
            return None

    def _duplicate(self, name: str, key: Node, first: Node) -> None:
        line = self.chunk.source(first.index).line
        message = f"the key {name!r} is already in this mapping, on line {line}"
        hint = "merge both into one, or remove one of them; kubectl would silently use the last alone"
        # Only top-level objects have an apiVersion, so a second one usually starts another document.
        self._report("DuplicateKey", key, message, _SEPARATE if name == "apiVersion" else hint)

    def _check_tag(self, node: Node) -> bool:
        """Return whether a node has no tag, or that of its kind; report any other."""
        if node.tag is None or node.tag in _TAGS[node.kind]:
            return True
        shown = f"!!{node.tag.removeprefix(_PREFIX)}" if node.tag.startswith(_PREFIX) else node.tag
        self._report("UnsupportedTag", node, f"the tag {shown} is not supported here", _TAG_HINT)
        return False

    def _report(self, code: str, node: Node, message: str, hint: str) -> None:
        self.problems.append(self.chunk.error(code, node.index, message, hint))


def read_strictly(chunk: Chunk, limits: Limits) -> tuple[Any, list[Diagnostic]]:
    """Return the value of the document in `chunk` (None if it is empty) and its problems."""
    try:
        root = compose(chunk, limits)
    except YAMLError as error:
        return None, [syntax_error(error, chunk)]
    except RefusedError as refused:
        return None, [refused.diagnostic]
    if root is None:
        return None, []
    constructor = _Constructor(chunk)
    value = constructor.value(root)  # It is meaningless if there are problems.
    return value, list(dict.fromkeys(constructor.problems))
