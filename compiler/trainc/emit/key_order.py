"""The order of a manifest's keys, whichever order its input had.

- at the top: apiVersion, kind, metadata;
- in `metadata`: name, namespace, labels, annotations;
- anywhere else: name;

each of them first, and then all others by code point.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

TOP = ("apiVersion", "kind", "metadata")
_METADATA = ("name", "namespace", "labels", "annotations")
ELSEWHERE = ("name",)


def leading(key: str) -> tuple[str, ...]:
    """The keys that come first in the mapping that stands under `key`."""
    return _METADATA if key == "metadata" else ELSEWHERE


@lru_cache(maxsize=4096)  # The mappings of one job have the keys of those of the next.
def in_order(keys: tuple[str, ...], first: tuple[str, ...]) -> tuple[str, ...]:
    """The keys of a mapping, those of `first` in front. ValueError if one is no string."""
    if not all(isinstance(key, str) for key in keys):
        raise ValueError("a manifest's keys are all strings")
    return (*(key for key in first if key in keys), *sorted(key for key in keys if key not in first))


def ordered(value: Any, first: tuple[str, ...] = ELSEWHERE) -> Any:
    """A copy of `value` with the keys of every mapping in order. ValueError as in `in_order`."""
    if isinstance(value, dict):
        return {key: ordered(value[key], leading(key)) for key in in_order(tuple(value), first)}
    return [ordered(item) for item in value] if isinstance(value, list | tuple) else value
