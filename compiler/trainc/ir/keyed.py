"""Lists whose items have an identity: replace in place where the identity is met, else append.

Go's counterpart is `Upsert*` in kubeflow/trainer pkg/apply/apply.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

Item: TypeAlias = Mapping[str, Any]
Same: TypeAlias = Callable[[Item, Item], bool]


def upsert(items: Sequence[Item], updates: Iterable[Item], key: str) -> list[Item]:
    """`items` with each update in the place of the item of equal `key`, or at the end."""
    result = list(items)
    index: dict[Any, int] = {}
    for i, item in enumerate(items):
        index.setdefault(item.get(key), i)
    for update in updates:
        identity = update.get(key)
        if identity in index:
            result[index[identity]] = update
        else:
            index[identity] = len(result)
            result.append(update)
    return result


def upsert_where(items: Sequence[Item], updates: Iterable[Item], same: Same) -> list[Item]:
    """As `upsert`, for identities that are a relation rather than a key."""
    result = list(items)
    for update in updates:
        for i, item in enumerate(result):
            if same(item, update):
                result[i] = update
                break
        else:
            result.append(update)
    return result


def controller_port_match(left: Item, right: Item) -> bool:
    """The controller's notion of one port: equal number or equal name, where two unnamed ports have equal names."""
    return left.get("containerPort") == right.get("containerPort") or left.get("name") == right.get("name")


def port_match(left: Item, right: Item) -> bool:
    """One port as the API's list keys have it: equal number and protocol."""
    return (left.get("containerPort"), left.get("protocol", "TCP")) == (
        right.get("containerPort"),
        right.get("protocol", "TCP"),
    )
