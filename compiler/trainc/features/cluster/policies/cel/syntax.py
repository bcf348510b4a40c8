"""Parse expressions into nodes. Macros are expanded, so that a tree has eight kinds of nodes.

Source: cel-go v0.26 parser/gen/CEL.g4, parser/parser.go, parser/macro.go, ext/comprehensions.go, ext/lists.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from trainc.api.records import dataclass, pattern
from trainc.features.cluster.policies.cel.functions import FUNCTIONS
from trainc.features.cluster.policies.cel.values import LARGEST, Uint

LONGEST = 100_000  # Characters, as for the API server.
# Nodes inside nodes, and brackets inside brackets. The API server takes more; whoever writes such a policy is told.
DEEPEST = 100
_MOST_BRACKETS = 50
_MOST_DIGITS = 100
# Minors of Kubernetes: with the library of these macros, which the next one allows in new policies, and with cel-go 0.29,
# which reads object.metadata.labels.`app.kubernetes.io/name`.
_TWO_VARIABLES_SINCE, _ESCAPED_FIELDS_SINCE = 32, 37

_TOKEN = pattern(
    r"""(?x)(?s)
    (?P<skip>[ \t\r\n\f]+|//[^\n]*)
    |(?P<bytes>[bB](?=[rR]?["']))?(?:
        [rR](?P<raw>\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\n\r]*"|'[^'\n\r]*')
        |(?P<text>\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^\\"\n\r])*"|'(?:\\.|[^\\'\n\r])*'))
    |(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<int>0x[0-9a-fA-F]+|[0-9]+)(?P<unsigned>[uU])?
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |`(?P<escaped>[A-Za-z0-9_.\-/\ ]+)`
    |(?P<mark>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,?:+*/%!-])"""
)
_ESCAPE = pattern(
    r"(?s)\\(?:[xX](?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})|(?P<o>[0-3][0-7]{2})|(?P<c>.))"
)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", **{c: c for c in "\"'\\?`"}}
_CONSTANTS = {"true": True, "false": False, "null": None}
_RESERVED = frozenset((
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop", "package",
    "namespace", "null", "return", "true", "var", "void", "while",
))  # fmt: skip
# How strongly an operator binds its operands.
_STRENGTH = {
    mark: strength
    for strength, marks in enumerate(("||", "&&", "< <= >= > == != in", "+ -", "* / %"), start=1)
    for mark in marks.split()
}
_CLOSING = {"(": ")", "[": "]", "{": "}"}
RESULT = "@result"
# What a selection is read as if it spells the name of a variable or type.
NAMES_WITH_DOTS = frozenset(
    ("authorizer.requestResource", "google.protobuf.Duration", "google.protobuf.Timestamp", "net.IP", "net.CIDR")
)


class InvalidExpressionError(Exception):
    """An expression that the API server refuses, and the policy with it; the message says why."""

    # What may be meant instead.
    hint = ""


class UnsupportedError(Exception):
    """An expression that the API server may accept, and that trainc does not evaluate; the message says why."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant. `at` is the offset of a node in the text; `depth` counts the nodes inside it."""

    at: int
    value: Any
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, or a name with dots that the environment defines."""

    at: int
    word: str
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Select:
    """`base.field`, `base.?field` if it is optional, or `has(base.field)` if it is a test."""

    at: int
    base: Node
    field: str
    optional: bool
    test: bool
    depth: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function or operator; `target` is what a method is called on."""

    at: int
    function: str
    target: Node | None
    arguments: tuple[Node, ...]
    depth: int


@dataclass(frozen=True, slots=True)
class List:
    """A list; `optional` are the indexes of its items with a `?`."""

    at: int
    items: tuple[Node, ...]
    optional: frozenset[int]
    depth: int


@dataclass(frozen=True, slots=True)
class Map:
    """A map of keys, values, and whether the entry has a `?`."""

    at: int
    entries: tuple[tuple[Node, Node, bool], ...]
    depth: int


@dataclass(frozen=True, slots=True)
class Comprehension:
    """A loop over `items`: `step` computes the next value of `result` as long as `condition` holds.

    `variables` are one or two names, for the items or keys of what is looped over, or its indexes or keys and items.
    """

    at: int
    items: Node
    variables: tuple[str, ...]
    result: str
    start: Node
    condition: Node
    step: Node
    end: Node
    depth: int


Node: TypeAlias = Literal | Name | Select | Call | List | Map | Comprehension


def _deep(*parts: Node | None) -> int:
    depth = 1 + max((part.depth for part in parts if part is not None), default=0)
    if depth > DEEPEST:
        raise UnsupportedError(f"it is nested more than {DEEPEST} levels deep")
    return depth


def call(at: int, function: str, *arguments: Node, target: Node | None = None) -> Call:
    """Build a call."""
    return Call(at, function, target, arguments, _deep(target, *arguments))


def select(at: int, base: Node, field: str, *, optional: bool = False, test: bool = False) -> Select:
    """Build a field selection."""
    return Select(at, base, field, optional, test, _deep(base))


def parse(text: str, minor: int = 99) -> Node:
    """Parse an expression for a minor of Kubernetes. Raises InvalidExpressionError or UnsupportedError."""
    if len(text) > LONGEST:
        raise InvalidExpressionError(f"longer than {LONGEST:,} characters")
    parser = _Parser(text, minor)
    node = parser.expression()
    if parser.kind != "end":
        raise parser.error()
    return node


def is_identifier(text: str) -> bool:
    """Return whether a text can be the name of a variable."""
    return text.isascii() and text.isidentifier() and text not in _RESERVED


def position_of(text: str, at: int) -> str:
    """The position of an offset in an expression, for messages."""
    return f"line {text.count(chr(10), 0, at) + 1}, column {at - text.rfind(chr(10), 0, at)}"


_Token: TypeAlias = tuple[str, Any, int]


def _tokens(text: str) -> Iterator[_Token]:
    """The kind, value and offset of each token; operators and punctuation are their own kind."""
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise InvalidExpressionError(f"syntax error at {position_of(text, at)}: {text[at : at + 12]!r}")
        groups = match.groupdict()
        quoted = groups["raw"] or groups["text"]
        if quoted is not None:
            size = 3 if quoted[:3] in ('"""', "'''") and len(quoted) >= 6 else 1
            body, is_bytes = quoted[size:-size], groups["bytes"] is not None
            if groups["raw"] is None:
                yield "value", _unescape(body, is_bytes=is_bytes), at
            else:
                yield "value", body.encode() if is_bytes else body, at
        elif groups["float"] is not None:
            yield "number", float(groups["float"]), at
        elif groups["int"] is not None:
            # No integer that fits has more digits, and Python refuses to read thousands of them.
            digits = groups["int"] if len(groups["int"]) <= _MOST_DIGITS else "9" * _MOST_DIGITS
            number = int(digits, 0 if digits.startswith("0x") else 10)
            yield ("value", _read_uint(number), at) if groups["unsigned"] else ("number", number, at)
        elif groups["word"] in _CONSTANTS:
            yield "value", _CONSTANTS[groups["word"]], at
        elif name := groups["word"] or groups["escaped"]:
            yield "escaped" if groups["escaped"] else "in" if name == "in" else "word", name, at
        elif groups["mark"] is not None:
            yield groups["mark"], None, at
        at = match.end()
    yield "end", None, at


def _read_uint(number: int) -> Uint:
    if number >= 2 * LARGEST:
        raise InvalidExpressionError("invalid uint literal")
    return Uint(number)


def _unescape(text: str, *, is_bytes: bool) -> str | bytes:
    """Replace the escapes in a text. In bytes, `\\x` and octal numbers are single bytes."""
    parts: list[str | int] = []
    at = 0
    for match in _ESCAPE.finditer(text):
        parts += (text[at : match.start()], _escape(match.groupdict(), is_bytes=is_bytes))
        at = match.end()
    parts.append(text[at:])
    if is_bytes:
        return b"".join(bytes((part,)) if isinstance(part, int) else part.encode() for part in parts)
    return "".join(chr(part) if isinstance(part, int) else part for part in parts)


def _escape(groups: dict[str, str | None], *, is_bytes: bool) -> str | int:
    """The number or character that an escape stands for."""
    if groups["c"] is not None:
        if groups["c"] not in _ESCAPED:
            raise InvalidExpressionError(f"syntax error: \\{groups['c']} is not an escape in CEL")
        return _ESCAPED[groups["c"]]
    digits = groups["x"] or groups["u"] or groups["U"]
    number = int(digits, 16) if digits else int(groups["o"] or "0", 8)
    if number > 0x10FFFF or 0xD800 <= number < 0xE000 or (is_bytes and number > 0xFF):
        raise InvalidExpressionError(f"syntax error: no character has the code {digits}")
    return number


class _Parser:
    """A recursive descent over the tokens, whose depth is counted."""

    def __init__(self, text: str, minor: int) -> None:
        self.text, self._minor = text, minor
        self._tokens = _tokens(text)
        self._depth = 0
        self._ahead: list[_Token] = []
        self.kind, self.value, self.at = next(self._tokens)

    def _advance(self) -> tuple[Any, int]:
        """Move to the next token; return the value and offset of the one before."""
        before = self.value, self.at
        self.kind, self.value, self.at = self._ahead.pop() if self._ahead else next(self._tokens)
        return before

    def error(self, message: str = "") -> InvalidExpressionError:
        """A syntax error at the current token, with the bracket that is open or not, if that is the reason."""
        error = InvalidExpressionError(f"{message or 'syntax error'} at {position_of(self.text, self.at)}")
        opened: list[tuple[str, int, str]] = []
        before = "", 0
        for kind, value, at in _tokens(self.text[: self.at]):
            if kind in _CLOSING:
                name, start = before if before[1] + len(before[0]) == at else ("", at)
                opened.append((kind, start, name))
            elif opened and kind == _CLOSING[opened[-1][0]]:
                opened.pop()
            before = (value, at) if kind == "word" else ("", at)
        if self.kind in ("end", *_CLOSING.values()) and opened and self.kind != _CLOSING[opened[-1][0]]:
            bracket, start, name = opened[-1]
            where = "at the end" if self.kind == "end" else f"before this {self.kind}"
            is_open = f"{name}{bracket} at {position_of(self.text, start)} is still open"
            error.hint = f"write {_CLOSING[bracket]} {where}: {is_open}"
        elif self.kind in _CLOSING.values() and not opened:
            error.hint = f"remove this {self.kind}, or open one before it: none is open"
        return error

    def _takes(self, kind: str) -> bool:
        if self.kind != kind:
            return False
        self._advance()
        return True

    def _expect(self, kind: str) -> tuple[Any, int]:
        if self.kind != kind:
            raise self.error()
        return self._advance()

    def expression(self) -> Node:
        """An expression with `? :`, which binds least."""
        self._depth += 1
        if self._depth > _MOST_BRACKETS:
            raise UnsupportedError(f"it is nested more than {_MOST_BRACKETS} levels deep")
        node, at = self._operation(0), self.at
        if self._takes("?"):
            then = self._operation(0)
            self._expect(":")
            node = call(at, "_?_:_", node, then, self.expression())
        self._depth -= 1
        return node

    def _operation(self, least: int) -> Node:
        """Operands and the operators between them that bind tighter than `least`."""
        left = self._unary()
        while (strength := _STRENGTH.get(self.kind, 0)) > least:
            mark, at, operands = self.kind, self.at, [left]
            while self.kind == mark and (len(operands) == 1 or mark in ("&&", "||")):
                self._advance()
                operands.append(self._operation(strength))
            left = call(at, "@in" if mark == "in" else f"_{mark}_", *operands)
        return left

    def _unary(self) -> Node:
        mark, at, count = self.kind, self.at, 0
        while mark in ("!", "-") and self._takes(mark):
            count += 1
        if mark == "-" and self.kind == "number":
            # The grammar reads the last sign as part of the number, which the smallest integer needs.
            self.value, count = -self.value, count - 1
        node = self._member()
        return node if count % 2 == 0 else call(at, f"{mark}_", node)

    def _member(self) -> Node:
        node = self._primary()
        while self.kind in (".", "["):
            at = self.at
            if self._takes("["):
                function = "_[?_]" if self._takes("?") else "_[_]"
                node = call(at, function, node, self.expression())
                self._expect("]")
                continue
            self._advance()
            optional = self._takes("?")
            if self.kind == "escaped" and self._minor >= _ESCAPED_FIELDS_SINCE:
                node = select(at, node, self._advance()[0], optional=optional)
                continue
            field = self._expect("word")[0]
            if self.kind == "(" and not optional:
                node = self._call(self.at, field, node)
            else:
                node = select(at, node, field, optional=optional)
                word = _dotted_name(node)
                node = Name(at, word) if word in NAMES_WITH_DOTS else node
        return node

    def _primary(self) -> Node:
        value, at = self.value, self.at
        match self.kind:
            case "number":
                self._advance()
                if isinstance(value, int) and not -LARGEST <= value < LARGEST:
                    raise InvalidExpressionError("invalid int literal")
                return Literal(at, value)
            case "value":
                self._advance()
                return Literal(at, value)
            case "(":
                self._advance()
                node = self.expression()
                self._expect(")")
                return node
            case "[":
                return self._list()
            case "{":
                return self._map()
            case "." | "word":
                self._takes(".")
                return self._identifier(*self._expect("word"))
        raise self.error()

    def _identifier(self, word: str, at: int) -> Node:
        if word in _RESERVED:
            raise InvalidExpressionError(f"reserved identifier: {word}")
        if self.kind == "(":
            return self._call(self.at, word, None)
        if self.kind == "{" or (self.kind == "." and self._is_message()):
            raise UnsupportedError("it builds a message with `Name{...}`")
        return Name(at, word)

    def _is_message(self) -> bool:
        """Return whether names and dots up to a `{` follow."""
        tokens = [(self.kind, self.value, self.at)]
        while tokens[-1][0] in (".", "word") and tokens[-1][0] != (tokens[-2][0] if len(tokens) > 1 else "word"):
            tokens.append(self._ahead.pop() if self._ahead else next(self._tokens))
        self._ahead += reversed(tokens[1:])
        return tokens[-1][0] == "{" and len(tokens) > 1

    def _items(self, end: str) -> Iterator[bool]:
        """Before each of the items up to `end`: whether it has a `?`. A last comma is allowed."""
        while self.kind != end:
            yield self._takes("?")
            if not self._takes(","):
                break
        self._expect(end)

    def _list(self) -> Node:
        _, at = self._advance()
        items: list[Node] = []
        optional: set[int] = set()
        for is_optional in self._items("]"):
            optional |= {len(items)} if is_optional else set()
            items.append(self.expression())
        return List(at, tuple(items), frozenset(optional), _deep(*items))

    def _map(self) -> Node:
        _, at = self._advance()
        entries = []
        for is_optional in self._items("}"):
            key = self.expression()
            self._expect(":")
            entries.append((key, self.expression(), is_optional))
        return Map(at, tuple(entries), _deep(*(part for entry in entries for part in entry[:2])))

    def _call(self, at: int, word: str, target: Node | None) -> Node:
        self._advance()
        arguments: list[Node] = []
        while self.kind != ")":
            arguments.append(self.expression())
            if self.kind != ")":
                self._expect(",")
                if self.kind == ")":
                    raise self.error()
        self._advance()
        if target is None:
            if word != "has" or len(arguments) != 1:
                return call(at, word, *arguments)
            field = arguments[0]
            if not isinstance(field, Select) or field.optional or field.test:
                raise InvalidExpressionError("has() takes one field, such as has(object.metadata.labels)")
            return select(at, field.base, field.field, test=True)
        if f"{_dotted_name(target)}.{word}" in FUNCTIONS:
            return call(at, f"{_dotted_name(target)}.{word}", *arguments)
        if (word, len(arguments)) not in MACROS:
            return call(at, word, *arguments, target=target)
        build, variables = MACROS[word, len(arguments)]
        if variables == 2 and self._minor <= _TWO_VARIABLES_SINCE:
            raise UnsupportedError(
                f"{word}() with two variables can be used from Kubernetes 1.{_TWO_VARIABLES_SINCE + 1} on, and policies "
                f"are evaluated for 1.{self._minor}"
            )
        return build(at, target, _names(arguments[:variables]), Name(at, RESULT), *arguments[variables:])


def _dotted_name(node: Node) -> str:
    """`a.b` for names and plain selections, and an empty text for all other nodes."""
    parts = []
    while isinstance(node, Select) and not node.optional and not node.test:
        parts.append(node.field)
        node = node.base
    return ".".join([node.word, *reversed(parts)]) if isinstance(node, Name) else ""


# What gets (at, items, names, result, *other arguments), and how many of a macro's arguments are variables.
Macro: TypeAlias = tuple[Callable[..., Node], int]


def _names(arguments: Sequence[Node]) -> tuple[str, ...]:
    words = [argument.word if isinstance(argument, Name) else None for argument in arguments]
    if None in words:
        raise InvalidExpressionError("the first argument of a macro must be a simple name")
    if len(set(words)) < len(words):
        raise InvalidExpressionError(f"duplicate variable name: {words[0]}")
    return tuple(word for word in words if word is not None)


def loop(at: int, items: Node, variables: tuple[str, ...], start: Node, step: Node, condition: Node | None = None, end: Node | None = None) -> Node:  # noqa: PLR0913, PLR0917 # fmt: skip
    """Build a comprehension over the variable `@result`, which is its value unless `end` says otherwise."""
    condition, end = condition or Literal(at, True), end or Name(at, RESULT)
    return Comprehension(
        at, items, variables, RESULT, start, condition, step, end, _deep(items, start, condition, step, end)
    )


def _all(at: int, items: Node, names: tuple[str, ...], result: Node, test: Node) -> Node:
    go_on = call(at, "@not_strictly_false", result)
    return loop(at, items, names, Literal(at, True), call(at, "_&&_", result, test), go_on)


def _exists(at: int, items: Node, names: tuple[str, ...], result: Node, test: Node) -> Node:
    go_on = call(at, "@not_strictly_false", call(at, "!_", result))
    return loop(at, items, names, Literal(at, False), call(at, "_||_", result, test), go_on)


def _exists_one(at: int, items: Node, names: tuple[str, ...], result: Node, test: Node) -> Node:
    counted = call(at, "_?_:_", test, call(at, "_+_", result, Literal(at, 1)), result)
    return loop(at, items, names, Literal(at, 0), counted, end=call(at, "_==_", result, Literal(at, 1)))


def _collect(start: Callable[[int], Node], add: str, *, keyed: bool = False) -> Callable[..., Node]:
    """A macro that adds values to a list or map; with two further arguments, the first one is a filter."""

    def build(at: int, items: Node, names: tuple[str, ...], result: Node, *terms: Node) -> Node:
        value = [Name(at, names[0]), terms[-1]] if keyed else [terms[-1]]
        step: Node = call(at, add, result, *value)
        if len(terms) == 2:
            step = call(at, "_?_:_", terms[0], step, result)
        return loop(at, items, names, start(at), step)

    return build


def _empty_list(at: int) -> Node:
    return List(at, (), frozenset(), 1)


def _filter(at: int, items: Node, names: tuple[str, ...], result: Node, test: Node) -> Node:
    return _append(at, items, names, result, test, Name(at, names[0]))


def _bind(at: int, name: str, value: Node, body: Node) -> Node:
    """`body` with a variable: a comprehension over nothing."""
    end = body
    depth = _deep(value, end)
    return Comprehension(at, _empty_list(at), ("#unused",), name, value, Literal(at, False), Name(at, name), end, depth)


def _opt_map(at: int, target: Node, names: tuple[str, ...], _: Node, body: Node, *, flat: bool = False) -> Node:
    optional = Name(at, "@optional")  # Not `target` itself, or a chain of these would double with each.
    value = _bind(at, names[0], call(at, "value", target=optional), body)
    then = value if flat else call(at, "optional.of", value)
    has_value = call(at, "hasValue", target=optional)
    return _bind(at, "@optional", target, call(at, "_?_:_", has_value, then, call(at, "optional.none")))


def _sort_by(at: int, items: Node, names: tuple[str, ...], _: Node, key: Node) -> Node:
    source = Name(at, "@items")
    keys = _collect(_empty_list, "@append")(at, source, names, Name(at, RESULT), key)
    return _bind(at, "@items", items, call(at, "@sortByAssociatedKeys", keys, target=source))


_append = _collect(_empty_list, "@append")
_insert = _collect(lambda at: Map(at, (), 1), "@insert", keyed=True)
_merge = _collect(lambda at: Map(at, (), 1), "@insert")
# Name -> what builds it, and for each number of arguments how many of them are variables.
_BUILDERS: Mapping[str, tuple[Callable[..., Node], Mapping[int, int]]] = {
    "all": (_all, {2: 1, 3: 2}),
    "exists": (_exists, {2: 1, 3: 2}),
    "exists_one": (_exists_one, {2: 1, 3: 2}),
    "existsOne": (_exists_one, {3: 2}),
    "map": (_append, {2: 1, 3: 1}),
    "filter": (_filter, {2: 1}),
    "transformList": (_append, {3: 2, 4: 2}),
    "transformMap": (_insert, {3: 2, 4: 2}),
    "transformMapEntry": (_merge, {3: 2, 4: 2}),
    "optMap": (_opt_map, {2: 1}),
    "optFlatMap": (partial(_opt_map, flat=True), {2: 1}),
    "sortBy": (_sort_by, {2: 1}),
}
MACROS: dict[tuple[str, int], Macro] = {
    (name, count): (build, variables)
    for name, (build, counts) in _BUILDERS.items()
    for count, variables in counts.items()
}
