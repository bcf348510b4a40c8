"""Strategic merge patches, with Kubernetes' merge keys and element order; null deletes, `$patch` is a directive.

Source: kubernetes/apimachinery pkg/util/strategicpatch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainc.findings import Path
from trainc.kube.documents import MERGE_KEYS, MERGED_SETS, OVERLAY_KEYS, FieldPath, Item

# Copy-on-write for patches: whatever many patches change in one document is copied only once.


# Lists longer than anyone writes by hand count against a budget of items that a document's patches may merge into.
_LONG, _MOST_ITEMS = 1_000, 5_000_000


class Copies:
    """The mappings and lists that were copied for one document and can be changed in place.

    All other containers are shared. A patch therefore costs time in proportion to what it changes, regardless of the
    size of the document and the number of patches.
    """

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}  # Holds the copies so that their ids are not reused.
        self._items = _MOST_ITEMS

    def of(self, container: Any) -> Any:
        """Return `container` itself if it is already a copy, and otherwise a copy of it."""
        if id(container) in self._made:
            return container
        copy = dict(container) if isinstance(container, Mapping) else list(container)
        self._made[id(copy)] = copy
        return copy

    def may_merge(self, items: list[Any]) -> bool:
        """Return whether another patch may merge into `items`; merging takes linear time, so long lists are limited."""
        self._items -= len(items) if len(items) > _LONG else 0
        return self._items >= 0


_DIRECTIVE = "$patch"


class PatchFailedError(Exception):
    """The patch cannot be applied; `path` is the location of the problem in the patch."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.path = path

    def at(self, path: Path) -> PatchFailedError:
        """Return the same error with another `path`, for a patch that is part of a larger document."""
        return PatchFailedError(str(self), path)


def strategic_merge(base: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with `patch` merged in, without changing either.

    Neither may contain nulls or directives. Raises PatchFailedError if an item of a keyed list lacks its key.
    """
    merged: dict[str, Any] = _Merge(MERGE_KEYS, Copies(), all_named=True).mapping(base, patch, (), ())
    return merged


def merge_overlay(
    base: Mapping[str, Any], patch: Mapping[str, Any], copies: Copies | None = None
) -> tuple[dict[str, Any] | None, list[tuple[FieldPath, Path]]]:
    """Merge an overlay's `patch` into `base`; return the result and (path, path in the patch) of each field written.

    The result is None if the patch deletes the document. Containers of `base` that `copies` owns are changed in place,
    and all others are copied first. Raises PatchFailedError if the patch is invalid.
    """
    if patch.get(_DIRECTIVE) == "delete":
        return None, []
    merge = _Merge(OVERLAY_KEYS, copies or Copies(), names_items=True)
    return merge.mapping(base, patch, (), ()), merge.written


class _Merge:
    """One merge. `at` is the path of a field in the result, `place` its path in the patch.

    `written` collects (at, place) of the fields that were set. With `names_items`, items of keyed lists in the patch
    must have their key; with `all_named`, items in the base must have it too.
    """

    def __init__(
        self, keys: Mapping[str, str], copies: Copies, *, names_items: bool = False, all_named: bool = False
    ) -> None:
        self.keys = keys
        self.copies = copies
        self.names_items = names_items or all_named
        self.all_named = all_named
        self.written: list[tuple[FieldPath, Path]] = []

    def mapping(self, before: Mapping[str, Any], change: Mapping[str, Any], at: FieldPath, place: Path) -> Any:
        if _directive(change, place) == "replace":
            return self._set(before, change, at, place)
        merged = self.copies.of(before)
        for name, value in change.items():
            inner, inner_place = (*at, name), (*place, name)
            if name == _DIRECTIVE:
                continue
            if value is None or _directive(value, inner_place) == "delete":
                merged.pop(name, None)
            elif name in merged:
                merged[name] = self._value(merged[name], value, inner, inner_place)
            else:
                merged[name] = self._set(None, value, inner, inner_place)
        return merged

    def _value(self, before: Any, change: Any, at: FieldPath, place: Path) -> Any:
        if isinstance(before, Mapping) and isinstance(change, Mapping):
            return self.mapping(before, change, at, place)
        if isinstance(before, list) and isinstance(change, list):
            return self._list(before, change, at, place)
        return self._set(before, change, at, place)

    def _set(self, before: Any, value: Any, at: FieldPath, place: Path) -> Any:
        if before != value or type(before) is not type(value):
            self.written.append((at, place))
        return _clean(value, place)

    def _list(self, before: list[Any], change: list[Any], at: FieldPath, place: Path) -> Any:
        field = str(place[-1])
        if field in MERGED_SETS and all(isinstance(item, str) for item in (*before, *change)):
            union = in_merge_order(change, [item for item in before if item not in change], before)
            return self._set(before, union, at, place)
        key = self.keys.get(field)
        if key is None or any(isinstance(item, Mapping) and item.get(_DIRECTIVE) == "replace" for item in change):
            kept = [item for item in change if not (isinstance(item, Mapping) and _DIRECTIVE in item)]
            return self._set(before, kept, at, place)
        if not self.copies.may_merge(before):
            raise PatchFailedError("too many patches merge into this list; write its items into one", place)
        return self._keyed_list(before, change, key, at, place)

    def _keyed_list(self, before: list[Any], change: list[Any], key: str, at: FieldPath, place: Path) -> list[Any]:
        by_name: dict[Any, Any] = {name: item for item in before if (name := _name(item, key)) is not None}
        merged: dict[Any, Any] = {}
        deleted: set[Any] = set()
        for index, item in enumerate(change):
            name, inner = _name(item, key), (*place, index)
            if name is None and self.names_items:
                raise PatchFailedError(f"an item of this list has no {key!r}, which identifies it", inner)
            item_at = (*at, Item(name, key))
            if _directive(item, inner) == "delete":
                deleted.add(name)
            elif name in by_name or name in merged:
                merged[name] = self._value(merged.get(name, by_name.get(name)), item, item_at, inner)
            else:
                merged[name] = self._set(None, item, item_at, inner)
        if self.all_named and any(_name(item, key) is None for item in before):
            raise PatchFailedError(f"an item of the runtime's {place[-1]} has no {key!r}", place)
        untouched = [item for item in before if _name(item, key) not in {None, *merged, *deleted}]
        nameless = [item for item in before if _name(item, key) is None and None not in merged]
        order = in_merge_order(list(merged), [_name(item, key) for item in untouched], list(by_name))
        rest = iter(untouched)
        return [merged[name] if name in merged else next(rest) for name in order] + nameless


def in_merge_order(patched: list[Any], untouched: list[Any], before: list[Any]) -> list[Any]:
    """Interleave patched and untouched items like upstream's normalizeElementOrder.

    Patched items keep the order of the patch. An untouched item only goes before a patched one that came after it in
    the base. New items therefore go before the remaining untouched ones.
    """
    position = {item: i for i, item in enumerate(before)}
    result: list[Any] = []
    left, right = 0, 0
    while left < len(patched) and right < len(untouched):
        if position.get(patched[left], -1) > position[untouched[right]]:
            result.append(untouched[right])
            right += 1
        else:
            result.append(patched[left])
            left += 1
    return result + patched[left:] + untouched[right:]


def _name(item: Any, key: str) -> str | int | None:
    """Return the key of an item in a keyed list, or None if it has none."""
    name = item.get(key) if isinstance(item, Mapping) else None
    return name if isinstance(name, str | int) else None


def _directive(value: Any, place: Path) -> str | None:
    """Return the `$patch` directive of a mapping, or None. Raises PatchFailedError for unknown directives."""
    if not isinstance(value, Mapping):
        return None
    for name in value:
        if isinstance(name, str) and name.startswith("$") and name != _DIRECTIVE:
            raise PatchFailedError(f"the directive {name!r} is not supported", (*place, name))
    directive = value.get(_DIRECTIVE)
    if directive not in (None, "merge", "replace", "delete"):
        raise PatchFailedError(f"$patch is {directive!r}; it is merge, replace or delete", (*place, _DIRECTIVE))
    return None if directive is None else str(directive)


def _clean(value: Any, place: Path) -> Any:
    """Return a value that is new in the document, without nulls in its mappings and without directives."""
    if isinstance(value, list):
        items = [_clean(item, (*place, i)) for i, item in enumerate(value)]
        return [new for new, old in zip(items, value, strict=True) if not _is_deleted(old)]
    if not isinstance(value, Mapping):
        return value
    _directive(value, place)
    kept = {k: v for k, v in value.items() if v is not None and k != _DIRECTIVE and not _is_deleted(v)}
    return {name: _clean(item, (*place, name)) for name, item in kept.items()}


def _is_deleted(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get(_DIRECTIVE) == "delete"
