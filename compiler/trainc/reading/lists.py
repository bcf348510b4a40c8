"""`List` kinds taken apart, as kubectl does: one document per item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.diagnostics import Path


def items(value: Any) -> Iterator[tuple[Path, Any]]:
    """The objects that `value` is or lists, each with its path inside `value`. Lists inside lists are opened, too."""
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(value.get("items"), list):
        yield (), value
        return
    for index, item in enumerate(value["items"]):
        for path, inner in items(_named(item, value)):
            yield ("items", index, *path), inner


def _named(item: Any, parent: dict[str, Any]) -> Any:
    """An item of a `TrainJobList` is a TrainJob even if it does not say so; one of a plain `List` says so itself."""
    kind = parent["kind"].removesuffix("List")
    if not kind or not isinstance(item, dict) or item.get("kind"):
        return item
    return {**item, "apiVersion": parent.get("apiVersion"), "kind": kind}
