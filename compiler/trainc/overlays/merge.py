"""Strategic merge of a patch into a document as written: Kubernetes' merge keys, null deletes, `$patch` directs.

Source: kubernetes/apimachinery pkg/util/strategicpatch. deepmerge walks; the strategies here decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainc.api.strategic_merge import MERGED_SETS, in_merge_order
from trainc.diagnostics import Path
from trainc.overlays.field_path import KEYS, FieldPath, Item

_DIRECTIVE = "$patch"
# deepmerge hands this down: one pair per step, in the result and in the patch.
_Steps = list[tuple[str | int | Item, str | int]]


class PatchFailedError(Exception):
    """The patch cannot be applied; `path` is where in it."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.path = path


def merge(
    base: Mapping[str, Any], patch: Mapping[str, Any]
) -> tuple[dict[str, Any] | None, list[tuple[FieldPath, Path]]]:
    """`base` with `patch` merged in, None where the patch deletes it; and each field it wrote, with its place in it.

    Neither is changed. PatchFailedError for a patch that says nothing sensible.
    """
    from deepmerge import Merger

    if patch.get(_DIRECTIVE) == "delete":
        return None, []
    written: list[tuple[FieldPath, Path]] = []

    def override(config: Any, steps: _Steps, before: Any, value: Any) -> Any:
        if before != value or type(before) is not type(value):
            written.append(_split(steps))
        return _clean(value, steps)

    def mappings(config: Any, steps: _Steps, before: Any, change: Any) -> Any:
        return _merge_mappings(config, steps, before, change, override)

    def lists(config: Any, steps: _Steps, before: Any, change: Any) -> Any:
        return _merge_lists(config, steps, before, change, override)

    merger = Merger([(list, [lists]), (dict, [mappings])], [override], [override])
    return merger.value_strategy([], dict(base), dict(patch)), written


def _merge_mappings(config: Any, steps: _Steps, before: dict[str, Any], change: dict[str, Any], override: Any) -> Any:
    if _directive(change, steps) == "replace":
        return override(config, steps, before, change)
    merged = dict(before)
    for name, value in change.items():
        at = [*steps, (name, name)]
        if name == _DIRECTIVE:
            continue
        if value is None or _directive(value, at) == "delete":
            merged.pop(name, None)
        else:
            merged[name] = (
                config.value_strategy(at, merged[name], value) if name in merged else override(None, at, None, value)
            )
    return merged


def _merge_lists(config: Any, steps: _Steps, before: list[Any], change: list[Any], override: Any) -> Any:
    field = str(steps[-1][1]) if steps else ""
    if field in MERGED_SETS and all(isinstance(item, str) for item in (*before, *change)):
        return override(config, steps, before, in_merge_order(change, [i for i in before if i not in change], before))
    key = KEYS.get(field)
    if key is None or any(isinstance(item, Mapping) and item.get(_DIRECTIVE) == "replace" for item in change):
        kept = [item for item in change if not (isinstance(item, Mapping) and _DIRECTIVE in item)]
        return override(config, steps, before, kept)
    known = {item[key]: item for item in before if _is_named(item, key)}
    merged: dict[Any, Any] = {}
    deleted: set[Any] = set()
    for index, item in enumerate(change):
        name = _name(item, key, steps, index)
        at: _Steps = [*steps, (Item(key, name), index)]
        if _directive(item, at) == "delete":
            deleted.add(name)
        elif name in known or name in merged:
            merged[name] = config.value_strategy(at, merged.get(name, known.get(name)), item)
        else:
            merged[name] = override(config, at, None, item)
    untouched = [name for name in known if name not in merged and name not in deleted]
    ordered = in_merge_order(list(merged), untouched, list(known))
    nameless = [item for item in before if not _is_named(item, key)]
    return [merged[name] if name in merged else known[name] for name in ordered] + nameless


def _name(item: Any, key: str, steps: _Steps, index: int) -> Any:
    if not _is_named(item, key):
        raise PatchFailedError(
            f"an item of this list has no {key!r}, which says which one is meant", (*_split(steps)[1], index)
        )
    return item[key]


def _is_named(item: Any, key: str) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get(key), str | int)


def _directive(value: Any, steps: _Steps) -> str | None:
    if not isinstance(value, Mapping):
        return None
    for name in value:
        if isinstance(name, str) and name.startswith("$") and name != _DIRECTIVE:
            raise PatchFailedError(f"the directive {name!r} is not supported", (*_split(steps)[1], name))
    directive = value.get(_DIRECTIVE)
    if directive not in (None, "merge", "replace", "delete"):
        raise PatchFailedError(
            f"$patch is {directive!r}; it is merge, replace or delete", (*_split(steps)[1], _DIRECTIVE)
        )
    return None if directive is None else str(directive)


def _clean(value: Any, steps: _Steps) -> Any:
    """A value that is new in the document: without nulls in its mappings, and without directives."""
    if isinstance(value, list):
        items = [_clean(item, [*steps, (i, i)]) for i, item in enumerate(value)]
        return [new for new, old in zip(items, value, strict=True) if not _deleted(old)]
    if not isinstance(value, dict):
        return value
    _directive(value, steps)
    kept = {k: v for k, v in value.items() if v is not None and k != _DIRECTIVE and not _deleted(v)}
    return {name: _clean(item, [*steps, (name, name)]) for name, item in kept.items()}


def _deleted(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get(_DIRECTIVE) == "delete"


def _split(steps: _Steps) -> tuple[FieldPath, Path]:
    return tuple(step for step, _ in steps), tuple(place for _, place in steps)
