"""Strategic merge patches, with Kubernetes' merge keys and element order; null deletes, `$patch` is a directive.

Source: kubernetes/apimachinery pkg/util/strategicpatch.
"""

from __future__ import annotations

from collections.abc import Mapping

from trainc.findings import Path
from trainc.kube.documents import MERGE_KEYS, MERGED_SETS, OVERLAY_KEYS, FieldPath, Item
from trainc.startup.typing import Any

# Copy-on-write for patches: whatever many patches change in one document is copied only once.

# Lists longer than anyone writes by hand count against a budget of items that a document's patches may merge into.
_LONG, _MOST_ITEMS = 100, 1_000_000


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


_DIRECTIVE, _REPLACES = "$patch", {"$patch": "replace"}


class PatchFailedError(Exception):
    """The patch cannot be applied; `path` is the location of the problem in the patch."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.path = path

    def at(self, path: Path) -> PatchFailedError:
        """Return the same error with another `path`, for a patch that is part of a larger document."""
        return PatchFailedError(str(self), path)


def strategic_merge(base: Mapping[str, Any], patch: Mapping[str, Any], copies: Copies | None = None) -> dict[str, Any]:
    """Return `base` with `patch` merged in, without changing either, but for what `copies` owns of `base`.

    Neither may contain nulls or directives. Raises PatchFailedError if an item of a keyed list lacks its key.
    """
    merged: dict[str, Any] = _Merge(MERGE_KEYS, copies or Copies(), keyed_base=True).mapping(base, patch, (), ())
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
    merge = _Merge(OVERLAY_KEYS, copies or Copies())
    return merge.mapping(base, patch, (), ()), merge.written


class _Merge:
    """One merge. `path` is the path of a field in the result, `patch_path` its path in the patch.

    `written` collects (path, patch_path) of the fields that were set. Items of keyed lists in the patch must have their
    key; with `keyed_base`, those in the base must have it too.
    """

    def __init__(self, keys: Mapping[str, str], copies: Copies, *, keyed_base: bool = False) -> None:
        self.keys = keys
        self.copies = copies
        self.keyed_base = keyed_base
        self.written: list[tuple[FieldPath, Path]] = []

    def mapping(self, before: Mapping[str, Any], change: Mapping[str, Any], path: FieldPath, patch_path: Path) -> Any:
        if _directive(change, patch_path) == "replace":
            return self._overwrite(before, change, path, patch_path)
        merged = self.copies.of(before)
        for name, value in change.items():
            inner, inner_patch_path = (*path, name), (*patch_path, name)
            if name == _DIRECTIVE:
                continue
            if value is None or _directive(value, inner_patch_path) == "delete":
                merged.pop(name, None)
            elif name in merged:
                merged[name] = self._value(merged[name], value, inner, inner_patch_path)
            else:
                merged[name] = self._overwrite(None, value, inner, inner_patch_path)
        return merged

    def _value(self, before: Any, change: Any, path: FieldPath, patch_path: Path) -> Any:
        if isinstance(before, Mapping) and isinstance(change, Mapping):
            return self.mapping(before, change, path, patch_path)
        if isinstance(before, list) and isinstance(change, list):
            return self._list(before, change, path, patch_path)
        return self._overwrite(before, change, path, patch_path)

    def _overwrite(self, before: Any, value: Any, path: FieldPath, patch_path: Path) -> Any:
        if before != value or type(before) is not type(value):
            self.written.append((path, patch_path))
        return _clean(value, patch_path)

    def _list(self, before: list[Any], change: list[Any], path: FieldPath, patch_path: Path) -> Any:
        field = str(patch_path[-1])
        if field in MERGED_SETS and all(isinstance(item, str) for item in (*before, *change)):
            theirs = {*change}
            union = in_merge_order(change, [item for item in before if item not in theirs], before)
            return self._overwrite(before, union, path, patch_path)
        key = self.keys.get(field)
        if key is None or any(isinstance(item, Mapping) and item.get(_DIRECTIVE) == "replace" for item in change):
            items = [item for item in change if not (isinstance(item, Mapping) and _DIRECTIVE in item)]
            return self._overwrite(before, items, path, patch_path)
        if not self.copies.may_merge(before):
            raise PatchFailedError("too many patches merge into this list; write its items into one", patch_path)
        return self._keyed_list(before, change, key, path, patch_path)

    def _keyed_list(
        self, before: list[Any], change: list[Any], key: str, path: FieldPath, patch_path: Path
    ) -> list[Any]:
        by_name: dict[Any, Any] = {name: item for item in before if (name := _name(item, key)) is not None}
        merged: dict[Any, Any] = {}
        deleted: set[Any] = set()
        for index, item in enumerate(change):
            name, inner = _name(item, key), (*patch_path, index)
            if name is None:
                raise PatchFailedError(f"an item of this list has no {key!r}, which identifies it", inner)
            item_path = (*path, Item(name, key))
            if _directive(item, inner) == "delete":
                deleted.add(name)
            elif name in by_name or name in merged:
                merged[name] = self._value(merged.get(name, by_name.get(name)), item, item_path, inner)
            else:
                merged[name] = self._overwrite(None, item, item_path, inner)
        nameless = [item for item in before if _name(item, key) is None]
        if self.keyed_base and nameless:
            raise PatchFailedError(f"an item of the runtime's {patch_path[-1]} has no {key!r}", patch_path)
        changed = {None, *merged, *deleted}
        untouched = [item for item in before if _name(item, key) not in changed]
        order = in_merge_order(list(merged), [_name(item, key) for item in untouched], list(by_name))
        remaining = iter(untouched)
        return [merged[name] if name in merged else next(remaining) for name in order] + nameless


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


def _directive(value: Any, patch_path: Path) -> str | None:
    """Return the `$patch` directive of a mapping, or None. Raises PatchFailedError for unknown directives."""
    if not isinstance(value, Mapping):
        return None
    for name in value:
        if isinstance(name, str) and name.startswith("$") and name != _DIRECTIVE:
            raise PatchFailedError(f"the directive {name!r} is not supported", (*patch_path, name))
    directive = value.get(_DIRECTIVE)
    if directive not in (None, "merge", "replace", "delete"):
        raise PatchFailedError(f"$patch is {directive!r}; it is merge, replace or delete", (*patch_path, _DIRECTIVE))
    return None if directive is None else str(directive)


def _clean(value: Any, patch_path: Path) -> Any:
    """Return a value that is new in the document, without nulls in its mappings and without directives."""
    if isinstance(value, list):
        items = [_clean(item, (*patch_path, i)) for i, item in enumerate(value)]
        return [new for new, old in zip(items, value, strict=True) if not (_is_deleted(old) or old == _REPLACES)]
    if not isinstance(value, Mapping) or not value:
        return value
    _directive(value, patch_path)
    fields = {k: v for k, v in value.items() if v is not None and k != _DIRECTIVE and not _is_deleted(v)}
    return {name: _clean(item, (*patch_path, name)) for name, item in fields.items()}


def _is_deleted(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get(_DIRECTIVE) == "delete"
