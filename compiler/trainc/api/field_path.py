"""Field paths as people write them: list items by their name where the API gives them one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self, TypeAlias

from trainc.api.merge_keys import ITEM_KEYS
from trainc.diagnostics import Path, format_key
from trainc.startup.records import dataclass


class Item(str):
    """A step into a list: the value of the item's `key`, whose name is empty where it does not matter."""

    __slots__ = ("key",)
    key: str

    def __new__(cls, value: object, key: str = "") -> Self:
        """The item of a list whose `key` is `value`."""
        item = super().__new__(cls, value)
        item.key = key
        return item


FieldPath: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value that holds no others, empty mappings and lists included; `index` is its path with list indexes."""

    path: FieldPath
    index: Path
    value: Any


Leaves: TypeAlias = dict[FieldPath, Leaf]


def leaves(tree: Any) -> Leaves:
    """Every leaf of a document by its path, in document order."""
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
    """What the items of a list are called: by merge key where every item has one of its own, else by index."""
    key = ITEM_KEYS.get(str(path[-1])) if path else None
    if key is not None and all(isinstance(value, Mapping) and key in value for value in values):
        names = [Item(value[key]) for value in values]
        if len(set(names)) == len(names):
            return list(names)
    return list(range(len(values)))


def is_item_name(path: FieldPath) -> bool:
    """Whether a leaf is the merge key that its list item is called by."""
    return len(path) > 2 and isinstance(path[-2], Item) and ITEM_KEYS.get(str(path[-3])) == path[-1]


def value_at_index(tree: Any, index: Path) -> Any:
    """The value at a path of indexes; None where there is none."""
    for step in index:
        try:
            tree = tree[step]
        except (KeyError, IndexError, TypeError):
            return None
    return tree


def path_exists(tree: Any, index: Path) -> bool:
    """Whether a document says anything at a path, null included."""
    parent = value_at_index(tree, index[:-1])
    if isinstance(parent, Mapping):
        return not index or index[-1] in parent
    return isinstance(parent, list) and isinstance(index[-1], int) and 0 <= index[-1] < len(parent)


def with_item_names(tree: Any, index: Path) -> FieldPath:
    """A path of indexes with items called by name, as far as `tree` knows them."""
    path: FieldPath = ()
    for step in index:
        if isinstance(step, int) and isinstance(tree, list) and step < len(tree):
            path = (*path, _items(path, tree)[step])
        else:
            path = (*path, step)
        tree = value_at_index(tree, (step,))
    return path


def stable_path(path: Path, data: Any) -> FieldPath:
    """The path through `data` with the indexes of keyed lists replaced by their items' keys; edits do not move it."""
    steps: FieldPath = ()
    for step in path:
        key = ITEM_KEYS.get(str(steps[-1])) if steps and not isinstance(steps[-1], int | Item) else None
        data = value_at_index(data, (step,))
        name = data.get(key) if key and isinstance(step, int) and isinstance(data, Mapping) else None
        steps = (*steps, Item(name, key or "") if isinstance(name, str | int) else step)
    return steps


def resolve_path(path: FieldPath, data: Any) -> Path:
    """Where a lasting path leads in `data`, with plain indexes; it ends where `data` goes no further."""
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
    """`spec.replicatedJobs[node].template`; a key that is no identifier is quoted: `labels["a.b/c"]`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int | Item) else format_key(step, leads=not text)
    return text
