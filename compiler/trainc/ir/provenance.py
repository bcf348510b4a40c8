"""Values that know what they were made from: what `explain` compiles with, so that the passes themselves tell it.

`mark` gives every value of a document its place there. Whatever copies such a value keeps that, and a pass that makes a
new value of others says of which: `derived`, or `Info.made` where a rule of its own decides. A build has only plain
values, for which both return what they are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trainc.findings import Path
from trainc.startup.records import dataclass, replace
from trainc.startup.typing import Any, Self, TypeAlias, TypeVar

T = TypeVar("T")
# The name of a document, and a path in it.
Field: TypeAlias = tuple[str, Path]


@dataclass(frozen=True, slots=True)
class Made:
    """What a value was made from: fields of documents, and rules where no document decides.

    `deviation` is an id from ir.deviations, if the value is another one under `controller` semantics.
    """

    fields: tuple[Field, ...] = ()
    rules: tuple[str, ...] = ()
    deviation: str = ""


class Text(str):
    """A marked text."""

    __slots__ = ("made",)
    made: Made

    def __str__(self) -> Self:
        return self


class Number(int):
    """A marked whole number."""

    made: Made

    def __str__(self) -> str:
        text: str = _marked(int.__repr__(self), self.made)
        return text


class Decimal(float):
    """A marked number with a fraction."""

    made: Made


class Flag(int):
    """A marked truth value."""

    made: Made


class Part(dict[str, Any]):
    """A marked mapping."""

    __slots__ = ("made",)
    made: Made


_CLASSES: Mapping[type, type] = {str: Text, bool: Flag, int: Number, float: Decimal, dict: Part}
_MARKED = frozenset(_CLASSES.values())


def made_of(value: object) -> Made | None:
    """Return what a marked value was made from, or None for a plain one."""
    return value.made if value.__class__ in _MARKED else None  # type: ignore[attr-defined]


def plain(value: Any) -> Any:
    """Return the value without its mark."""
    if value.__class__ is Text:
        return str.__str__(value)
    if value.__class__ in _MARKED:
        kind = next(kind for kind, marked in _CLASSES.items() if marked is value.__class__)
        return kind(value)
    return value


def mark(tree: Any, document: str, chosen: Callable[[Path, int, Any], bool], path: Path = ()) -> Any:
    """Return a copy of a document in which every value that is chosen knows its place. Nulls and lists do not.

    An item of a mapping or a list is chosen by the path of that, its number, and its key or its value.
    """
    if isinstance(tree, list):
        return [
            mark(item, document, chosen, (*path, index)) if chosen(path, index, item) else item
            for index, item in enumerate(tree)
        ]
    if isinstance(tree, Mapping):
        tree = {
            key: mark(value, document, chosen, (*path, key)) if chosen(path, number, key) else value
            for number, (key, value) in enumerate(tree.items())
        }
    return _marked(tree, Made(((document, path),)))


def derived(value: T, *read: object) -> T:
    """Return a value that was made from others; it names what they name, if they are marked."""
    for one in read:
        if one.__class__ in _MARKED:
            return derived_from(value, read)
    return value


def derived_from(value: T, read: tuple[object, ...], rule: str = "", deviation: str = "") -> T:
    """Return a marked value that was made from others, or by a rule."""
    fields: dict[Field, None] = {}
    rules: dict[str, None] = {}
    for made in filter(None, map(made_of, read)):
        fields.update(dict.fromkeys(made.fields))
        rules.update(dict.fromkeys(made.rules))
    if rule:
        rules[rule] = None
    marked: T = _marked(value, Made(tuple(fields), tuple(rules), deviation))
    return marked


def fields_only(value: T, read: object) -> T:
    """Return a value made from the fields behind another one, but not by its rules."""
    made = made_of(read)
    return value if made is None else _marked(value, Made(made.fields))


def with_deviation(tree: Any, deviation: str) -> Any:
    """Return values, lists and mappings with a deviation on every value in them that has none."""
    if isinstance(tree, list | tuple):
        return [with_deviation(item, deviation) for item in tree]
    if isinstance(tree, Mapping) and tree:
        return {key: with_deviation(value, deviation) for key, value in tree.items()}
    made = made_of(tree) or Made()
    return tree if made.deviation else _marked(plain(tree), replace(made, deviation=deviation))


def _marked(value: Any, made: Made) -> Any:
    kind = _CLASSES.get(value.__class__)
    if kind is None:
        if value.__class__ not in _MARKED:
            return value
        kind, value = value.__class__, plain(value)
    marked = kind(value)
    marked.made = made
    return marked
