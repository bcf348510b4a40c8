"""Walks a document along with its schema, to explain why it was rejected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from trainc.api.schema.scalars import Refused, as_integer
from trainc.api.schema.shapes import ListOf, MapOf, Scalar, Shape, Struct, definition
from trainc.diagnostics import Path
from trainc.startup.records import dataclass

Ancestors: TypeAlias = tuple[tuple[Path, str], ...]

_SINGLE = str | int | float


@dataclass(frozen=True, slots=True)
class Node:
    """A value that the schema covers: `key` is its "group.Definition.field", `structs` are the enclosing structs."""

    value: Any
    shape: Shape
    path: Path
    key: str
    structs: Ancestors = ()


def nodes(node: Node, release: str) -> Iterator[Node]:
    """Yield `node` and everything below it, as far as the types match the schema."""
    yield node
    match node.shape, node.value:
        case Struct(name), dict():
            structs = (*node.structs, (node.path, name))
            for field, shape in definition(release, name).fields.items():
                if field in node.value:
                    child = Node(node.value[field], shape, (*node.path, field), f"{name}.{field}", structs)
                    yield from nodes(child, release)
        case ListOf(item), list():
            for index, value in enumerate(node.value):
                yield from nodes(Node(value, item, (*node.path, index), f"{node.key}[]", node.structs), release)
        case MapOf(shape), dict():
            for name, value in node.value.items():
                yield from nodes(Node(value, shape, (*node.path, str(name)), f"{node.key}{{}}", node.structs), release)


def without_nulls(value: Any, shape: Shape, release: str) -> Any:
    """Return a copy without null entries in mappings, which the API server prunes.

    Only recurses as far as the schema. Where the schema has neither a mapping nor a list, only scalars of the value are
    kept: the rest does not matter, and could be nested too deeply for recursion.
    """
    match shape, value:
        case Struct(name), dict():
            fields = definition(release, name).fields
            kept = {n: item for n, item in value.items() if item is not None}
            return {n: without_nulls(item, fields[n], release) if n in fields else item for n, item in kept.items()}
        case ListOf(inner), list():
            return [without_nulls(item, inner, release) for item in value]
        case MapOf(inner), dict():
            return {n: without_nulls(item, inner, release) for n, item in value.items() if item is not None}
        case Scalar("any"), _:
            return value
    if isinstance(value, dict):
        return {name: item for name, item in value.items() if isinstance(item, _SINGLE)}
    return [item for item in value if isinstance(item, _SINGLE)] if isinstance(value, list) else value


def without_unknown(value: Any, shape: Shape, release: str) -> Any:
    """Return a copy without unknown fields."""
    match shape, value:
        case Struct(name), dict():
            fields = definition(release, name).fields
            return {n: without_unknown(item, fields[n], release) for n, item in value.items() if n in fields}
        case ListOf(item), list():
            return [without_unknown(v, item, release) for v in value]
        case MapOf(shape), dict():
            return {n: without_unknown(v, shape, release) for n, v in value.items()}
    return value


def well_typed(value: Any, shape: Shape, release: str) -> Any:
    """Return a copy without values of the wrong type; a list with a wrong item is dropped entirely."""
    match shape, value:
        case Struct(name), dict():
            fields = definition(release, name).fields
            known = {n: well_typed(value[n], s, release) for n, s in fields.items() if n in value}
            return {n: item for n, item in known.items() if item is not None}
        case ListOf(item), list():
            items = [well_typed(v, item, release) for v in value]
            return None if any(v is None for v in items) else items
        case MapOf(shape), dict():
            entries = {n: well_typed(v, shape, release) for n, v in value.items() if isinstance(n, str)}
            return {n: item for n, item in entries.items() if item is not None}
        case Scalar(kind), _:
            return value if _has_type(value, kind) else None
    return None


def mistyped(value: Any, name: str, release: str) -> Path | None:
    """Return the first path with a wrong type in a value of the definition `name`, or None.

    As for the API server, a null field counts as missing, but null is not a valid list item.
    """
    for node in nodes(Node(value, Struct(name), (), name), release):
        missing = node.value is None and node.path and isinstance(node.path[-1], str)
        if not missing and not _is_of(node.shape, node.value):
            return node.path
    return None


def _is_of(shape: Shape, value: Any) -> bool:
    """Return whether the value itself, apart from its contents, has the type of a shape."""
    match shape:
        case Scalar(kind):
            return _has_type(value, kind)
        case ListOf():
            return isinstance(value, list)
        case _:
            return isinstance(value, dict) and all(isinstance(key, str) for key in value)


def _has_type(value: Any, kind: str) -> bool:
    match kind:
        case "any":
            return True
        case "boolean":
            return isinstance(value, bool)
        case "string" | "time":
            return isinstance(value, str)
        case "integer":
            return _is_integer(value)
        case _:
            return isinstance(value, str) or _is_integer(value)


def _is_integer(value: Any) -> bool:
    try:
        as_integer(value)
    except Refused:
        return False
    return True
