"""Expands `List` kinds to one document per item, like kubectl."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.diagnostics import Path


def items(value: Any) -> Iterator[tuple[Path, Any]]:
    """Yield each object in `value` with its path. Nested lists are expanded too."""
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(value.get("items"), list):
        yield (), value
        return
    for index, item in enumerate(value["items"]):
        for path, inner in items(_named(item, value)):
            yield ("items", index, *path), inner


def _named(item: Any, parent: dict[str, Any]) -> Any:
    """Add the kind to an item of a typed list such as `TrainJobList`; items of a plain `List` have their own."""
    kind = parent["kind"].removesuffix("List")
    if not kind or not isinstance(item, dict) or item.get("kind"):
        return item
    return {**item, "apiVersion": parent.get("apiVersion"), "kind": kind}
