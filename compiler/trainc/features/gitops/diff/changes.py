"""Compare two manifests of one object and return the fields that differ.

Mappings are compared key by key. Lists are compared item by item if their items have an identity (`identities`), or if
both are lists of mappings of the same length; any other list counts as one value. Moves are not changes. They are
reported separately, because a cluster that compares whole lists may refuse them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from trainc.api.findings import Path
from trainc.api.kube import Json, Manifest, documents, quantity
from trainc.api.records import dataclass

Kind: TypeAlias = Literal["added", "removed", "changed"]


@dataclass(frozen=True, slots=True)
class Change:
    """A changed field: `before` is None if it was added, `after` if it was removed. Nulls do not occur.

    `path` identifies items by name. `old` and `new` are the paths by index in the two manifests; for an item that one
    of them lacks, the path of its list.
    """

    path: Path
    before: Any
    after: Any
    old: Path
    new: Path

    @property
    def kind(self) -> Kind:
        """Return whether the field was added, removed or changed."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


@dataclass(frozen=True, slots=True)
class Move:
    """A list whose common items changed their order: their names before and after."""

    path: Path
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Location:
    path: Path
    old: Path
    new: Path

    def key(self, key: str) -> _Location:
        path = (*self.path, key)
        # One for all that are equal: there may be very many.
        old = path if self.old == self.path else (*self.old, key)
        return _Location(path, old, old if self.new == self.old else (*self.new, key))

    def item(self, name: str | int, old: int | None, new: int | None) -> _Location:
        step = documents.Item(name) if isinstance(name, str) else name
        return _Location(
            (*self.path, step),
            self.old if old is None else (*self.old, old),
            self.new if new is None else (*self.new, new),
        )


def compare_manifests(before: Json, after: Json) -> tuple[tuple[Change, ...], tuple[Move, ...]]:
    """Changes and moves between two normalized manifests, in path order."""
    entries = [] if _same(before, after) else list(_compare(before, after, _Location((), (), ())))
    changes = tuple(entry for entry in entries if isinstance(entry, Change))
    return changes, tuple(entry for entry in entries if isinstance(entry, Move))


def _compare(old: Any, new: Any, location: _Location) -> Iterator[Change | Move]:
    """Yield what differs between two values that are not the same."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            left, right = old.get(key), new.get(key)
            if not _same(left, right):
                yield from _compare(left, right, location.key(key))
    elif isinstance(old, list) and isinstance(new, list):
        yield from _compare_lists(old, new, location)
    else:
        yield Change(location.path, old, new, location.old, location.new)


def _compare_lists(old: Sequence[Any], new: Sequence[Any], location: _Location) -> Iterator[Change | Move]:
    field = str(location.path[-1]) if location.path else ""
    old_names, new_names = identities(field, old), identities(field, new)
    if old_names is not None and new_names is not None:
        yield from _compare_items(
            dict(zip(old_names, old, strict=True)), dict(zip(new_names, new, strict=True)), location
        )
    elif len(old) == len(new) and all(isinstance(item, dict) for item in (*old, *new)):
        for i, (left, right) in enumerate(zip(old, new, strict=True)):
            if not _same(left, right):
                yield from _compare(left, right, location.item(i, i, i))
    else:
        yield Change(location.path, old, new, location.old, location.new)


def _compare_items(
    old: Mapping[documents.Item, Any], new: Mapping[documents.Item, Any], location: _Location
) -> Iterator[Change | Move]:
    old_positions, new_positions = {name: i for i, name in enumerate(old)}, {name: i for i, name in enumerate(new)}
    for name in dict.fromkeys((*old, *new)):
        left, right = old.get(name), new.get(name)
        if not _same(left, right):
            yield from _compare(left, right, location.item(name, old_positions.get(name), new_positions.get(name)))
    old_order, new_order = [name for name in old if name in new], [name for name in new if name in old]
    if old_order != new_order and not is_set(str(location.path[-1])):
        yield Move(location.path, tuple(map(str, old_order)), tuple(map(str, new_order)))


def _same(old: Any, new: Any) -> bool:
    """Equality as in JSON: 1 is not true. Keys are unordered, list items are ordered."""
    return bool(old == new) and _same_kinds(old, new)


def _same_kinds(old: Any, new: Any) -> bool:
    """Return whether equal values have truth values in the same places."""
    if isinstance(old, dict):
        return all(value.__class__ is str or _same_kinds(value, new[key]) for key, value in old.items())
    if isinstance(old, list):
        return all(map(_same_kinds, old, new))
    return isinstance(old, bool) == isinstance(new, bool)


# Lists whose items have an identity, so that an item is recognized at any position.
#
# The merge keys are those of patches (kube/strategic_merge.py) and of lists with listType=map; in set-like lists neither
# order nor duplicates matter.

_KEYS: Mapping[str, str] = {
    **documents.ITEM_KEYS,
    "rules": "name",
    # Volume items: one key may be written to two files, but not two keys to the same file.
    "items": "path",
}
_SETS = frozenset((
    "accessModes", "add", "drop", "finalizers", "onJobFailureReasons", "supplementalGroups", "targetReplicatedJobs",
    "tolerations",
))  # fmt: skip


def is_set(field: str) -> bool:
    """Return whether the order of the list under `field` is irrelevant."""
    return field in _SETS


def identities(field: str, items: Sequence[Any]) -> list[documents.Item] | None:
    """The identities of the items of the list under `field`, in order; None if they have none."""
    if is_set(field):
        names = [_text(item) for item in items]
    elif field in _KEYS and all(isinstance(item, Mapping) and _KEYS[field] in item for item in items):
        names = [_port(item) if field == "ports" else _text(item[_KEYS[field]]) for item in items]
    else:
        return None
    return [documents.Item(name) for name in names] if len(set(names)) == len(names) else None


def _port(port: Mapping[str, Any]) -> str:
    protocol = port.get("protocol", "TCP")
    return str(port["containerPort"]) if protocol == "TCP" else f"{port['containerPort']}/{protocol}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


# Normalize manifests for comparison, dropping what only records who wrote them and how.
#
# Fields that the API server and Argo CD add to a live object are removed, so that the output of `kubectl get -o yaml`
# can be compared with the output of trainc.

_SERVER_METADATA = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
_BOOKKEEPING = ("kubectl.kubernetes.io/last-applied-configuration", "argocd.argoproj.io/tracking-id")
# Go's encoder writes these for empty structs.
_PLACEHOLDERS = ("metadata", "resources", "status", "strategy")
_QUANTITY_MAPS = ("limits", "requests", "overhead", "minResources")
_QUANTITIES = ("sizeLimit", "divisor")
_CONTAINERS = (dict, list, tuple)


def strip_server_fields(manifest: Manifest) -> Manifest:
    """`manifest` as its author applied it: without status, server-side metadata, nulls and empty placeholders."""
    stripped: Manifest = _without_nulls({key: value for key, value in manifest.items() if key != "status"})
    metadata = {key: value for key, value in stripped.get("metadata", {}).items() if key not in _SERVER_METADATA}
    if isinstance(metadata.get("annotations"), dict):
        annotations = {key: value for key, value in metadata["annotations"].items() if key not in _BOOKKEEPING}
        metadata["annotations"] = annotations
        if not annotations:
            del metadata["annotations"]
    return {**stripped, "metadata": metadata}


def normalize(manifest: Manifest) -> Manifest:
    """A stripped manifest with quantities in canonical form, so that `1024Mi` equals `1Gi`."""
    return {key: _canonical(value) for key, value in manifest.items()}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        result = {}
        for key, inner in value.items():
            if isinstance(inner, _CONTAINERS):
                stripped = _without_nulls(inner)
                if stripped != {} or key not in _PLACEHOLDERS:
                    result[key] = stripped
            elif inner is not None:
                result[key] = inner
        return result
    return [_without_nulls(item) for item in value] if isinstance(value, list | tuple) else value


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _field(key, inner) if isinstance(inner, _CONTAINERS) or key in _QUANTITIES else inner
            for key, inner in value.items()
        }
    return [_canonical(item) for item in value] if isinstance(value, list) else value


def _field(key: str, value: Any) -> Any:
    if key in _QUANTITY_MAPS and isinstance(value, dict):
        return {name: _amount(amount) for name, amount in value.items()}
    return _amount(value) if key in _QUANTITIES else _canonical(value)


def _amount(value: Any) -> Any:
    """A quantity in canonical form; any other value unchanged."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return _canonical(value)
    try:
        return quantity.canonical(value)
    except ValueError:
        return value
