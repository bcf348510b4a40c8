"""Closures of the fast check for lists, maps and sized objects; see acceptance.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from trainc.api.schema.limits import limits
from trainc.api.schema.list_keys import LIST_MAP_KEYS, SETS
from trainc.api.schema.scalars import Refused, as_text

# A value as the API server stores it and Go marshals it; None when the field disappears.
Accept: TypeAlias = Callable[[Any], Any]


def accept_list(accept_item: Accept, key: str, release: str, keeps_empty: bool) -> Accept:
    """The check of the list at the field `key`, whose items are checked by `accept_item`."""
    bounds = limits(release)
    fewest, most = bounds.min_items.get(key, 0), bounds.max_items.get(key)
    has_duplicates = _duplicates(key)

    def accept(value: Any) -> list[Any] | None:
        if not isinstance(value, list) or len(value) < fewest or (most is not None and len(value) > most):
            raise Refused
        items = list(map(accept_item, value))
        if len(items) > 1 and has_duplicates is not None and has_duplicates(items):
            raise Refused
        return items if items or keeps_empty else None

    return accept


def _duplicates(key: str) -> Callable[[list[Any]], bool] | None:
    if key in SETS:
        return lambda items: len(set(items)) < len(items)
    names = LIST_MAP_KEYS.get(key)
    if names is None:
        return None
    if len(names) == 1:
        (name,) = names
        return lambda items: len({item.get(name) for item in items}) < len(items)
    return lambda items: len({tuple(item.get(name) for name in names) for item in items}) < len(items)


def accept_map(accept_value: Accept, keeps_empty: bool) -> Accept:
    """The check of an object with free keys, whose values are checked by `accept_value`."""

    def accept(value: Any) -> dict[str, Any] | None:
        if not isinstance(value, dict):
            raise Refused
        entries = {
            name if type(name) is str else as_text(name): accept_value(item)
            for name, item in value.items()
            if item is not None
        }
        return entries if entries or keeps_empty else None

    return accept


def accept_sized(accept_struct: Accept, fewest: int) -> Accept:
    """`accept_struct`, and at least `fewest` fields that are not null."""

    def accept(value: Any) -> Any:
        if isinstance(value, dict) and sum(item is not None for item in value.values()) < fewest:
            raise Refused
        return accept_struct(value)

    return accept


def omit_if_empty(accept_struct: Accept) -> Accept:
    """`accept_struct`, with None instead of an empty result."""
    return lambda value: accept_struct(value) or None
