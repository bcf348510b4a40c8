"""Which lists have items with an identity, so that an item is the same one wherever it stands.

Merge keys are those of patches (ir.strategic_merge) and of the lists that the API treats as maps; set-like lists are
those in which neither order nor repetition means anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from trainc.api.field_path import KEYS, Item

_KEYS: Mapping[str, str] = {
    **KEYS,
    "rules": "name",
    # Of a volume: one key may be written to two files, but not two keys to one.
    "items": "path",
}
_SETS = frozenset(
    {
        "accessModes",
        "add",
        "drop",
        "finalizers",
        "onJobFailureReasons",
        "supplementalGroups",
        "targetReplicatedJobs",
        "tolerations",
    }
)


def is_set(field: str) -> bool:
    """Whether the order of the list under `field` means nothing."""
    return field in _SETS


def identities(field: str, items: Sequence[Any]) -> list[Item] | None:
    """What the items of the list under `field` are called, in order; None where they have no identity of their own."""
    if is_set(field):
        names = [_text(item) for item in items]
    elif field in _KEYS and all(isinstance(item, Mapping) and _KEYS[field] in item for item in items):
        names = [_port(item) if field == "ports" else _text(item[_KEYS[field]]) for item in items]
    else:
        return None
    return [Item(name) for name in names] if len(set(names)) == len(names) else None


def _port(port: Mapping[str, Any]) -> str:
    protocol = port.get("protocol", "TCP")
    return str(port["containerPort"]) if protocol == "TCP" else f"{port['containerPort']}/{protocol}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
