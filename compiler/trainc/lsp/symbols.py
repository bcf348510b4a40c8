"""The outline of a file: its documents, and in each what has a name or holds one that has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from trainc.api.merge_keys import ITEM_KEYS
from trainc.diagnostics import Path
from trainc.lsp.places import Field, Range, Tree, trees
from trainc.startup.records import dataclass

Role: TypeAlias = Literal["document", "field", "item"]
# What nobody looks for in an outline.
_LEFT_OUT = ("apiVersion", "kind", "name", "namespace")


@dataclass(frozen=True, slots=True)
class Symbol:
    """A document, a field or a named item; `name_range` is what to select of it."""

    name: str
    detail: str
    role: Role
    range: Range
    name_range: Range
    children: Sequence[Symbol] = ()


# The fields in each mapping or list, by its path.
_Inside: TypeAlias = dict[Path, list[Field]]


def symbols(text: str) -> list[Symbol]:
    """The outline of a text; documents that cannot be read as YAML are left out."""
    return [_of_document(tree) for tree in trees(text) if tree.fields]


def _of_document(tree: Tree) -> Symbol:
    kind, name = (_text(tree, path) for path in (("kind",), ("metadata", "name")))
    first = tree.fields[0]
    inside: _Inside = {}
    for field in tree.fields:
        inside.setdefault(field.path[:-1], []).append(field)
    below = _below(inside, ())
    return Symbol(name or kind or "document", kind if name else "", "document", tree.whole, first.key, below)


def _below(inside: _Inside, path: Path) -> list[Symbol]:
    return [symbol for field in inside.get(path, ()) for symbol in _symbols(inside, field)]


def _symbols(inside: _Inside, field: Field) -> Iterator[Symbol]:
    step = field.path[-1]
    if isinstance(step, int):
        key = ITEM_KEYS.get(str(field.path[-2]), "name") if len(field.path) > 1 else "name"
        named = next((one for one in inside.get(field.path, ()) if one.path[-1] == key and one.text), None)
        if named is not None:
            yield Symbol(named.text, "", "item", field.whole, named.value, _below(inside, field.path))
    elif step not in _LEFT_OUT:
        detail = field.text.partition("\n")[0][:60] if field.kind == "scalar" else ""
        yield Symbol(str(step), detail, "field", field.whole, field.key, _below(inside, field.path))


def _text(tree: Tree, path: Path) -> str:
    field = tree.field(path)
    return field.text if field is not None and field.kind == "scalar" else ""
