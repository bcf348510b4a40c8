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


def symbols(text: str) -> list[Symbol]:
    """The outline of a text; documents that cannot be read as YAML are left out."""
    return [_of_document(tree) for tree in trees(text) if tree.fields]


def _of_document(tree: Tree) -> Symbol:
    kind, name = (_text(tree, path) for path in (("kind",), ("metadata", "name")))
    first = tree.fields[0]
    return Symbol(name or kind or "document", kind if name else "", "document", tree.whole, first.key, _below(tree, ()))


def _below(tree: Tree, path: Path) -> list[Symbol]:
    children = [field for field in tree.fields if field.path[:-1] == path]
    return [symbol for field in children for symbol in _symbols(tree, field)]


def _symbols(tree: Tree, field: Field) -> Iterator[Symbol]:
    step = field.path[-1]
    if isinstance(step, int):
        key = ITEM_KEYS.get(str(field.path[-2]), "name") if len(field.path) > 1 else "name"
        name = _text(tree, (*field.path, key))
        if name:
            place = tree.field((*field.path, key))
            yield Symbol(name, "", "item", field.whole, place.value if place else field.key, _below(tree, field.path))
    elif step not in _LEFT_OUT:
        detail = field.text.partition("\n")[0][:60] if field.kind == "scalar" else ""
        yield Symbol(str(step), detail, "field", field.whole, field.key, _below(tree, field.path))


def _text(tree: Tree, path: Path) -> str:
    field = tree.field(path)
    return field.text if field is not None and field.kind == "scalar" else ""
