"""The smallest values in which two documents differ, and where they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.api.documents import Document
from trainc.api.explained import ExplainedField
from trainc.api.findings import Path, Source, differences
from trainc.api.kube import value_at

# A value in a document: the side, 0 before and 1 after, the document as it is in its file, and the path.
Place: TypeAlias = tuple[int, Document, Path]


def is_on_one_line(document: Document, path: Path, items: Sequence[Any]) -> bool:
    """Return whether a list is written on the line of its field."""
    start, last = document.locate(path), document.locate((*path, len(items) - 1)) if items else None
    return start is not None and (last is None or last.line == start.line)


def smallest(sides: tuple[tuple[Document, Path], tuple[Document, Path]], old: Any, new: Any) -> Iterator[Place]:
    """Yield the smallest values that differ, where they are now, or where those that are gone were."""
    (before, was), (after, now) = sides
    # A field without a value is one without items.
    old, new = (
        type(other)() if one is None and isinstance(other, dict | list) and other else one
        for one, other in ((old, new), (new, old))
    )
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in dict.fromkeys((*new, *old)):
            if name not in new:
                yield 0, before, (*was, name)
            elif name not in old:
                yield 1, after, (*now, name)
            else:
                yield from smallest(((before, (*was, name)), (after, (*now, name))), old[name], new[name])
    elif isinstance(old, list) and isinstance(new, list):
        yield from _smallest_of_lists(sides, old, new)
    elif old != new or type(old) is not type(new):
        yield 1, after, now


def _smallest_of_lists(
    sides: tuple[tuple[Document, Path], tuple[Document, Path]], old: Sequence[Any], new: Sequence[Any]
) -> Iterator[Place]:
    (before, was), (after, now) = sides
    for a, b, c, d in differences.changes(list(map(repr, old)), list(map(repr, new))):
        if b - a == d - c:
            for i, j in zip(range(a, b), range(c, d), strict=True):
                yield from smallest(((before, (*was, i)), (after, (*now, j))), old[i], new[j])
        elif c < d:
            yield from ((1, after, (*now, j)) for j in range(c, d))
        else:
            yield from ((0, before, (*was, i)) for i in range(a, b))


def leaves_that_differ(old: Any, new: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of the innermost values that differ."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in dict.fromkeys((*new, *old)):
            yield from leaves_that_differ(old.get(name), new.get(name), (*path, name))
    elif old != new:
        yield path


def texts_at(place: Place) -> list[str]:
    """The values at a place, as a template writes them."""
    value = value_at(place[1].data, place[2])
    return [str(one) for one in (value.values() if isinstance(value, Mapping) else [value])]


def pending_line(explained: ExplainedField, was: str, named: Mapping[str, Document] | None) -> Source | None:
    """Return the latest line from which a field is made that its value `was` not made from.

    That is one whose value does not occur in it, be it with another registry, which a mirror may have been.
    """
    for given in explained.origin.inputs:
        document = None if named is None else named.get(given.object)
        if document is None:
            continue
        for written, path in document.written(given.index) if document.written else [(document, given.index)]:
            value = value_at(written.data, path)
            parts = [v for k, v in value.items() if k != "name"] if isinstance(value, Mapping) else [value]
            if not any(str(part) in was or (str(part).partition("/")[2] or "\n") in was for part in parts):
                source = written.locate(path)
                return source if source is not None and source.origin == "file" else None
            if path[:1] == ("images",):
                break
    return None
