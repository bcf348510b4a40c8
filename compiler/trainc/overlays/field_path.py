"""Field paths that survive edits: an item of a list is known by its merge key, wherever in the list it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from trainc.api.strategic_merge import MERGE_KEYS
from trainc.diagnostics import Path
from trainc.startup.records import dataclass

# Kubernetes' merge keys, and the one that is Trainer's own (listMapKey of TrainJobSpec.runtimePatches v2.2.1).
KEYS: Mapping[str, str] = {**MERGE_KEYS, "runtimePatches": "manager"}


@dataclass(frozen=True, slots=True)
class Item:
    """A step to the item of a list whose field `key` is `value`."""

    key: str
    value: Any


FieldPath: TypeAlias = tuple[str | int | Item, ...]


def lasting(path: Path, data: Any) -> FieldPath:
    """The path through `data` with the indexes of keyed lists replaced by their items' keys."""
    steps: list[str | int | Item] = []
    for step in path:
        key = KEYS.get(str(steps[-1])) if steps and isinstance(steps[-1], str) else None
        data = _child(data, step)
        named = key is not None and isinstance(step, int) and isinstance(data, Mapping) and _is_name(data.get(key))
        steps.append(Item(str(key), data[str(key)]) if named else step)
    return tuple(steps)


def located(path: FieldPath, data: Any) -> Path:
    """Where the path leads in `data`, with plain indexes; it ends where `data` goes no further."""
    steps: list[str | int] = []
    for step in path:
        plain = _index(step, data) if isinstance(step, Item) else step
        data = None if plain is None else _child(data, plain)
        if plain is None:
            break
        steps.append(plain)
    return tuple(steps)


def _index(item: Item, data: Any) -> int | None:
    if not isinstance(data, Sequence):
        return None
    found = (i for i, member in enumerate(data) if isinstance(member, Mapping) and member.get(item.key) == item.value)
    return next(found, None)


def _child(data: Any, step: str | int) -> Any:
    if isinstance(step, str):
        return data.get(step) if isinstance(data, Mapping) else None
    return data[step] if isinstance(data, list) and -len(data) <= step < len(data) else None


def _is_name(value: Any) -> bool:
    return isinstance(value, str | int)
