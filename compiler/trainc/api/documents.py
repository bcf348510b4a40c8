"""The types of documents, and functions to read, remove and set values by path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from trainc.diagnostics import Path

# `Json` is read-only, `Manifest` is an object under construction. Neither may be modified after it has been passed on.
Json: TypeAlias = Mapping[str, Any]
Manifest: TypeAlias = dict[str, Any]

_NOTHING: Json = {}


def value_at(document: Any, path: Path) -> Any:
    """Return the value at `path`, or None if any key on the way is missing."""
    for step in path:
        document = document.get(step) if isinstance(document, dict) else None
    return document


def without_path(document: Json, path: Path) -> dict[str, Any]:
    """Return a copy of `document` without `path`, which must exist."""
    key = str(path[0])
    rest = {name: value for name, value in document.items() if name != key}
    return rest if len(path) == 1 else {**document, key: without_path(document[key], path[1:])}


def with_value(document: Json, path: Path, value: Any) -> dict[str, Any]:
    """Return a copy of `document` with `value` at `path`, creating mappings as needed."""
    key = str(path[0])
    if len(path) == 1:
        return {**document, key: value}
    inner = document.get(key)
    return {**document, key: with_value(inner if isinstance(inner, Mapping) else {}, path[1:], value)}


def mapping(value: object) -> Json:
    """Return `value` if it is a mapping, else an empty mapping."""
    return value if isinstance(value, dict) else _NOTHING


def items(value: object) -> list[Any]:
    """Return `value` if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def objects(value: object) -> list[Json]:
    """Return the items of `value` with non-mappings replaced by empty mappings, or [] if it is not a list."""
    return [mapping(item) for item in value] if isinstance(value, list) else []
