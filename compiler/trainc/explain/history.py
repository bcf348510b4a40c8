"""The history of an object's leaves: every step that wrote a leaf is recorded, even if the value stayed the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from trainc.api.field_path import FieldPath, Item, Leaf, Leaves
from trainc.api.merge_keys import ITEM_KEYS
from trainc.explain.model import ExplainedField, Origin

Attribute: TypeAlias = Callable[[Leaf], Origin]
# Identifies an object across renames: its apiVersion, its kind, and its ordinal among objects of that kind.
Key: TypeAlias = tuple[str, str, int]

_OF_TEMPLATE = ("runtime", "overlay", "patch", "default")
# Plugins replace items of these lists as a whole, so the plugin that sets a part of an item also sets its name.
_REPLACED_WHOLE = ("env", "volumes", "volumeMounts", "ports")


class History:
    """The origins of every leaf of one object, step by step."""

    def __init__(self) -> None:
        self._leaves: Leaves = {}
        self._origins: dict[FieldPath, list[Origin]] = {}

    @property
    def leaves(self) -> Leaves:
        """The leaves after the latest step."""
        return self._leaves

    def origin(self, path: FieldPath) -> Origin | None:
        """The most recent origin of a leaf; None if there is no such leaf."""
        return self._origins[path][-1] if path in self._leaves else None

    def template_origin(self, path: FieldPath) -> Origin | None:
        """The most recent origin before the TrainJob's settings were merged; None if the leaf did not exist."""
        origins = (origin for origin in reversed(self._origins.get(path, ())) if origin.kind in _OF_TEMPLATE)
        return next(origins, None)

    def step(
        self,
        after: Leaves,
        attribute: Attribute,
        overwritten: Iterable[FieldPath] = (),
        *,
        whole_items: bool = False,
    ) -> None:
        """Record a step, attributing to it the leaves that changed and those that it rewrote with the same value.

        `whole_items` means that the step replaces list items including their names. All leaves are attributed before
        any is recorded, so that `attribute` can look up the previous origins of the others.
        """
        changed = {
            path: None
            for path, leaf in after.items()
            if path not in self._leaves or self._leaves[path].value != leaf.value
        }
        written = {**changed, **dict.fromkeys(path for path in overwritten if path in after)}
        if whole_items:
            touched = (*written, *(path for path in self._leaves if path not in after))
            written |= dict.fromkeys(key for path in touched for key in _item_keys(path) if key in after)
        found = [(path, attribute(after[path])) for path in written]
        for path, origin in found:
            self._origins.setdefault(path, []).append(origin)
        self._leaves = after

    def fields(self) -> tuple[ExplainedField, ...]:
        """Every leaf with its origins, most recent first."""
        return tuple(
            ExplainedField(leaf.path, leaf.index, leaf.value, tuple(reversed(self._origins[path])))
            for path, leaf in self._leaves.items()
        )


def _item_keys(path: FieldPath) -> Iterable[FieldPath]:
    for i, step in enumerate(path[1:], start=1):
        if isinstance(step, Item) and path[i - 1] in _REPLACED_WHOLE:
            yield (*path[: i + 1], ITEM_KEYS[str(path[i - 1])])


def keyed(manifests: Sequence[dict[str, Any]]) -> Iterator[tuple[Key, dict[str, Any]]]:
    """Each object with the key under which its history is stored."""
    seen: dict[tuple[str, str], int] = {}
    for manifest in manifests:
        kind = (manifest["apiVersion"], manifest["kind"])
        yield (*kind, seen.get(kind, 0)), manifest
        seen[kind] = seen.get(kind, 0) + 1
