"""Parse CEL expressions with cel-python's grammar into small tuples, and check them for undefined names.

A node is a tuple of its operation and operands. cel-python's own evaluator is not used: it lacks the optional syntax of
Kubernetes (`a.?b`, `a[?b]`) and a cost limit, and its `has()` suppresses every error, unlike Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeAlias

from trainc.startup.patterns import pattern

Node: TypeAlias = tuple[Any, ...]

_OPTIONAL = """
%extend member : member_maybe_dot | member_maybe_index
member_maybe_dot : member "." "?" IDENT
member_maybe_index : member "[" "?" expr "]"
"""
# name -> possible numbers of arguments: variables, then expressions in which they are defined.
MACROS = {
    "all": (2, 3),
    "exists": (2, 3),
    "exists_one": (2, 3),
    "existsOne": (2, 3),
    "map": (2, 3),
    "filter": (2,),
    "optMap": (2,),
    "optFlatMap": (2,),
}
_TWO_VARIABLES = ("all", "exists", "exists_one", "existsOne")
_SYMBOLS = {
    "relation_lt": "<",
    "relation_le": "<=",
    "relation_gt": ">",
    "relation_ge": ">=",
    "relation_eq": "==",
    "relation_ne": "!=",
    "relation_in": "in",
    "addition_add": "+",
    "addition_sub": "-",
    "multiplication_mul": "*",
    "multiplication_div": "/",
    "multiplication_mod": "%",
}
# The grammar also accepts these where a name may appear.
_CONSTANTS = {"true": True, "false": False, "null": None}
_LONGEST = 20_000  # Characters. Kubernetes limits the cost of an expression, which is at least its length.
_ESCAPE = pattern(
    r"\\(?:x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})|(?P<o>[0-3][0-7]{2})|(?P<c>.))"
)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class InvalidExpressionError(Exception):
    """An expression that the API server would refuse along with the policy; the message says why."""


@lru_cache(maxsize=1)
def _parser() -> Any:
    """Return the parser. Raises ModuleNotFoundError if the extra `policy` is not installed."""
    from importlib.resources import files

    import celpy  # noqa: F401 - the grammar is its own
    import lark

    grammar = files("celpy").joinpath("cel.lark").read_text(encoding="utf-8")
    return lark.Lark(grammar + _OPTIONAL, parser="lalr", start="expr", maybe_placeholders=False)


def parse(text: str) -> Node:
    """Parse an expression into a node. Raises InvalidExpressionError if it is malformed."""
    from lark.exceptions import LarkError

    if len(text) > _LONGEST:
        raise InvalidExpressionError(f"longer than {_LONGEST:,} characters")
    try:
        return _node(_parser().parse(text))
    except RecursionError:
        raise InvalidExpressionError("nested too deeply") from None
    except LarkError as error:
        line, column = getattr(error, "line", -1), getattr(error, "column", -1)
        where = f" at line {line}, column {column}" if isinstance(line, int) and line > 0 else ""
        raise InvalidExpressionError(f"syntax error{where}") from None


def _node(tree: Any) -> Node:  # noqa: C901 - one case for each rule of the grammar
    """Convert a parse tree, skipping precedence levels without an operator."""
    children = tree.children
    while len(children) == 1 and tree.data in _LEVELS:
        tree = children[0]
        children = tree.children
    match tree.data:
        case "expr":
            return ("if", *map(_node, children))
        case "conditionalor":
            return ("or", *map(_node, children))
        case "conditionaland":
            return ("and", *map(_node, children))
        case "relation" | "addition" | "multiplication":
            operation, right = children
            return ("op", _SYMBOLS[operation.data], _node(operation.children[0]), _node(right))
        case "unary":
            return ("not" if children[0].data == "unary_not" else "neg", _node(children[1]))
        case "literal":
            return ("value", _literal(children[0]))
        case "ident" | "dot_ident":
            word = str(children[0])
            return ("value", _CONSTANTS[word]) if word in _CONSTANTS else ("name", word)
        case "ident_arg" | "dot_ident_arg":
            return _call(str(children[0]), _arguments(children[1:]))
        case "list_lit":
            return ("list", _arguments(children))
        case "map_lit":
            items = [_node(child) for child in children[0].children] if children else []
            return ("map", tuple(zip(items[::2], items[1::2], strict=True)))
        case _:
            return _member(tree)


_LEVELS = frozenset(
    (
        "expr",
        "conditionalor",
        "conditionaland",
        "relation",
        "addition",
        "multiplication",
        "unary",
        "member",
        "primary",
        "paren_expr",
    )
)


def _member(tree: Any) -> Node:
    base, *rest = tree.children
    match tree.data:
        case "member_dot" | "member_maybe_dot":
            return ("maybe" if "maybe" in tree.data else "get", _node(base), ("value", str(rest[0])))
        case "member_index":
            return ("index", _node(base), _node(rest[0]))
        case "member_maybe_index":
            return ("maybe", _node(base), _node(rest[0]))
        case "member_dot_arg":
            return ("call", str(rest[0]), _node(base), _arguments(rest[1:]))
    raise InvalidExpressionError("`Object{...}` cannot be used in a validation")


def _call(word: str, arguments: tuple[Node, ...]) -> Node:
    if word == "has" and (len(arguments) != 1 or arguments[0][0] not in ("get", "maybe")):
        raise InvalidExpressionError("has() takes one field, such as has(object.metadata.labels)")
    return ("call", word, None, arguments)


def _arguments(children: list[Any]) -> tuple[Node, ...]:
    return tuple(map(_node, children[0].children)) if children else ()


def _literal(token: Any) -> Any:
    text = str(token)
    match token.type:
        case "INT_LIT":
            return int(text, 16 if "0x" in text else 10)
        case "UINT_LIT":
            return int(text[:-1], 16 if "0x" in text else 10)
        case "FLOAT_LIT":
            return float(text)
        case "BOOL_LIT":
            return text == "true"
        case "NULL_LIT":
            return None
        case "BYTES_LIT":
            return _unquoted(text[1:]).encode()
        case _:
            return _unquoted(text)


def _unquoted(text: str) -> str:
    raw = text[0] in "rR"
    text = text[1:] if raw else text
    quotes = 3 if text[:3] in ('"""', "'''") and len(text) >= 6 else 1
    text = text[quotes:-quotes]
    return text if raw else _ESCAPE.sub(_unescaped, text)


def _unescaped(match: Any) -> str:
    found = match.groupdict()
    code = found["x"] or found["u"] or found["U"]
    if code or found["o"]:
        number = int(code, 16) if code else int(found["o"], 8)
        if number > 0x10FFFF:
            raise InvalidExpressionError(f"no character has the code {code}")
        return chr(number)
    return _ESCAPED.get(found["c"], str(found["c"]))


def uses(  # noqa: C901 - one case for each way to take something
    node: Node, known: frozenset[str] = frozenset()
) -> Iterator[tuple[str, str]]:
    """The external names in an expression, as (kind, word): `name`, `function`, `method`, or `field` (`name.field`).

    `known` are the macro variables in scope.
    """
    match node:
        case ("name", word):
            if word not in known:
                yield "name", word
        case ("get", ("name", base), ("value", field)) if base not in known:
            yield "field", f"{base}.{field}"
            yield "name", base
        case ("call", word, target, arguments) if target is not None and is_macro(word, arguments):
            yield from uses(target, known)
            variables, bodies = split_macro(word, arguments)
            for body in bodies:
                yield from uses(body, known | frozenset(variables))
        case ("call", word, target, arguments):
            if target is not None and target[0] == "name" and target[1] in ("optional", "sets", "ip"):
                yield "function", f"{target[1]}.{word}"
            else:
                yield "function" if target is None else "method", word
                if target is not None:
                    yield from uses(target, known)
            for argument in arguments:
                yield from uses(argument, known)
        case (_, *operands):
            for operand in _nodes(operands):
                yield from uses(operand, known)


def _nodes(operands: Any) -> Iterator[Node]:
    for operand in operands:
        if isinstance(operand, tuple) and operand:
            if isinstance(operand[0], str) and operand[0] in _OPERATIONS:
                yield operand
            else:
                yield from _nodes(operand)


_OPERATIONS = frozenset(
    ("if", "or", "and", "op", "not", "neg", "value", "name", "call", "list", "map", "get", "maybe", "index")
)


def is_macro(word: str, arguments: tuple[Node, ...]) -> bool:
    """Whether a method call is a macro: it has the name and argument count of one, and starts with a variable."""
    return word in MACROS and len(arguments) in MACROS[word] and arguments[0][0] == "name"


def split_macro(word: str, arguments: tuple[Node, ...]) -> tuple[tuple[str, ...], tuple[Node, ...]]:
    """Split macro arguments into variables and expressions: `all(i, v, e)` has two variables, `map(v, f, e)` one."""
    count = 2 if word in _TWO_VARIABLES and len(arguments) == 3 else 1
    if any(argument[0] != "name" for argument in arguments[:count]):
        raise InvalidExpressionError(f"the first arguments of {word}() must be names")
    return tuple(argument[1] for argument in arguments[:count]), arguments[count:]
