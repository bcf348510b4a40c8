"""Where two objects differ as Go's `equality.Semantic` sees it, which is how JobSet's webhook compares.

Absent and empty maps and lists are equal, and so are quantities of one amount. Pointers to zero values are not absent;
the schema stage has already dropped the zero values of fields that are no pointers.
Source: kubernetes/apimachinery pkg/api/equality/semantic.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.api.quantity import parse_quantity
from trainc.diagnostics import Path

_QUANTITY_MAPS = ("limits", "requests", "overhead")
_QUANTITIES = ("sizeLimit", "divisor")
# What an absent value equals: an empty object for structs that are no pointers and for maps, a quantity of nothing.
# Any other empty object is behind a pointer, and differs from an absent one.
_STRUCTS = ("metadata", "resources", "spec", "template", "status")
_MAPS = ("annotations", "labels", "matchLabels", "nodeSelector", "volumeAttributes", *_QUANTITY_MAPS)
_WHEN_ABSENT: dict[str, Any] = {**{key: {} for key in (*_STRUCTS, *_MAPS)}, "divisor": "0"}


def differences(old: Any, new: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of the values that differ, the smallest ones; a list whose length differs is one value."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            left, right = old.get(key), new.get(key)
            absent = _WHEN_ABSENT.get(key)
            left, right = absent if left is None else left, absent if right is None else right
            yield from differences(left, right, (*path, key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (left, right) in enumerate(zip(old, new, strict=True)):
            yield from differences(left, right, (*path, i))
    elif not _equal(old, new, path):
        yield path


def _equal(old: Any, new: Any, path: Path) -> bool:
    if type(old) is not type(new):
        return old in ([], None) and new in ([], None)
    return bool(old == new) or (isinstance(old, str) and _is_quantity(path) and _same_amount(old, new))


def _is_quantity(path: Path) -> bool:
    return path[-1] in _QUANTITIES or (len(path) > 1 and path[-2] in _QUANTITY_MAPS)


def _same_amount(old: str, new: str) -> bool:
    try:
        return parse_quantity(old).nanos == parse_quantity(new).nanos
    except ValueError:
        return False
