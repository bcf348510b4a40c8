"""Documents as data: the types of their values, and values read, left out and put in by path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from trainc.diagnostics import Path

# What is only read, and an object that is being built. Neither is changed once it has been handed on.
Json: TypeAlias = Mapping[str, Any]
Manifest: TypeAlias = dict[str, Any]

_NOTHING: Json = {}


def value_at(document: Any, path: Path) -> Any:
    """The value at `path`; None where a mapping on the way, or the last key, is missing."""
    for step in path:
        document = document.get(step) if isinstance(document, dict) else None
    return document


def without_path(document: Json, path: Path) -> dict[str, Any]:
    """`document` without what is at `path`, which exists."""
    key = str(path[0])
    rest = {name: value for name, value in document.items() if name != key}
    return rest if len(path) == 1 else {**document, key: without_path(document[key], path[1:])}


def with_value(document: Json, path: Path, value: Any) -> dict[str, Any]:
    """`document` with `value` at `path`, which need not exist."""
    key = str(path[0])
    if len(path) == 1:
        return {**document, key: value}
    inner = document.get(key)
    return {**document, key: with_value(inner if isinstance(inner, Mapping) else {}, path[1:], value)}


def mapping(value: object) -> Json:
    """`value` where it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else _NOTHING


def items(value: object) -> list[Any]:
    """`value` where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def objects(value: object) -> list[Json]:
    """The items of `value` where it is a list of mappings; what is none of these reads as empty."""
    return [mapping(item) for item in value] if isinstance(value, list) else []
