"""Human-readable field paths, which refer to list items by name if the API gives them one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self, TypeAlias

from trainc.api.merge_keys import ITEM_KEYS
from trainc.diagnostics import Path, format_key
from trainc.startup.records import dataclass


class Item(str):
    """A step into a list: the value of the item's merge key. `key` is the name of that key, or empty if unimportant."""

    __slots__ = ("key",)
    key: str

    def __new__(cls, value: object, key: str = "") -> Self:
        """Create a step to the item whose `key` has the value `value`."""
        item = super().__new__(cls, value)
        item.key = key
        return item


FieldPath: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar or an empty mapping or list. `path` refers to list items by name if possible, `index` by index."""

    path: FieldPath
    index: Path
    value: Any


Leaves: TypeAlias = dict[FieldPath, Leaf]


def leaves(tree: Any) -> Leaves:
    """Return every leaf of a document by its path, in document order."""
    return {leaf.path: leaf for leaf in _walk(tree, (), ())}


def _walk(value: Any, path: FieldPath, index: Path) -> Iterator[Leaf]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _walk(inner, (*path, key), (*index, key))
    elif isinstance(value, list | tuple) and value:
        for i, (step, inner) in enumerate(zip(_items(path, value), value, strict=True)):
            yield from _walk(inner, (*path, step), (*index, i))
    else:
        yield Leaf(path, index, value)


def _items(path: FieldPath, values: list[Any] | tuple[Any, ...]) -> list[str | int]:
    """Return the steps to the items of a list: by merge key if every item has a unique one, and by index otherwise."""
    key = ITEM_KEYS.get(str(path[-1])) if path else None
    if key is not None and all(isinstance(value, Mapping) and key in value for value in values):
        names = [Item(value[key]) for value in values]
        if len(set(names)) == len(names):
            return list(names)
    return list(range(len(values)))


def is_item_name(path: FieldPath) -> bool:
    """Return whether a leaf is the merge key that its list item is named after."""
    return len(path) > 2 and isinstance(path[-2], Item) and ITEM_KEYS.get(str(path[-3])) == path[-1]


def value_at_index(tree: Any, index: Path) -> Any:
    """Return the value at a path of keys and indexes, or None if it does not exist."""
    for step in index:
        try:
            tree = tree[step]
        except (KeyError, IndexError, TypeError):
            return None
    return tree


def path_exists(tree: Any, index: Path) -> bool:
    """Return whether a path exists in a document, even if its value is null."""
    parent = value_at_index(tree, index[:-1])
    if isinstance(parent, Mapping):
        return not index or index[-1] in parent
    return isinstance(parent, list) and isinstance(index[-1], int) and 0 <= index[-1] < len(parent)


def with_item_names(tree: Any, index: Path) -> FieldPath:
    """Replace list indexes by item names, as far as `tree` has names for them."""
    path: FieldPath = ()
    for step in index:
        if isinstance(step, int) and isinstance(tree, list) and step < len(tree):
            path = (*path, _items(path, tree)[step])
        else:
            path = (*path, step)
        tree = value_at_index(tree, (step,))
    return path


def stable_path(path: Path, data: Any) -> FieldPath:
    """Replace the indexes of keyed lists by item keys, so that the path still holds after items are moved or added."""
    steps: FieldPath = ()
    for step in path:
        key = ITEM_KEYS.get(str(steps[-1])) if steps and not isinstance(steps[-1], int | Item) else None
        data = value_at_index(data, (step,))
        name = data.get(key) if key and isinstance(step, int) and isinstance(data, Mapping) else None
        steps = (*steps, Item(name, key or "") if isinstance(name, str | int) else step)
    return steps


def resolve_path(path: FieldPath, data: Any) -> Path:
    """Resolve a path from `stable_path` to plain indexes in `data`; stops at the last step that exists."""
    steps: Path = ()
    for step in path:
        plain = _index(step, data) if isinstance(step, Item) else step
        if plain is None:
            break
        data = value_at_index(data, (plain,))
        steps = (*steps, plain)
    return steps


def _index(item: Item, data: Any) -> int | None:
    if not isinstance(data, list):
        return None
    found = (i for i, member in enumerate(data) if isinstance(member, Mapping) and str(member.get(item.key)) == item)
    return next(found, None)


def format_field(path: FieldPath) -> str:
    """Format a path: `spec.replicatedJobs[node].template`. Other keys are quoted: `labels["a.b/c"]`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int | Item) else format_key(step, leads=not text)
    return text
