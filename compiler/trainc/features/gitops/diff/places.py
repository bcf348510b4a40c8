"""The smallest values in which two documents differ, and where they are."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeAlias

from trainc.api.documents import Document, label_of
from trainc.api.explained import ExplainedField
from trainc.api.findings import Path, Source, differences
from trainc.api.jobs import Session, ValidDocument
from trainc.api.kube import Manifest, value_at
from trainc.api.records import dataclass, field, pattern, replace
from trainc.features.gitops.diff.model import Cause

# A value in a document: the side, 0 before and 1 after, the document as it is in its file, and the path.
Place: TypeAlias = tuple[int, Document, Path]


@dataclass(frozen=True, slots=True)
class Why:
    """The causes of what changes in a job: lines, and what is no line.

    `pending` are lines that had changed before, and take effect now because a job that was kept is compiled again.
    """

    lines: tuple[Cause, ...] = ()
    reasons: tuple[str, ...] = ()
    pending: tuple[Source, ...] = ()


@dataclass(slots=True)
class Template:
    """A template on both sides, and what is asked of it for each field that it makes."""

    texts: tuple[str, str]
    lines: tuple[Sequence[str], Sequence[str]]
    sets: tuple[AbstractSet[str], AbstractSet[str]]
    hunks: Sequence[differences.Hunk] | None = None
    names: dict[int, AbstractSet[str]] = field(default_factory=dict)
    documents: dict[int, tuple[Document, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, before: str, after: str) -> Template:
        """Return a template of its two texts."""
        was, now = before.splitlines(), after.splitlines()
        return cls(("\n".join(was), "\n".join(now)), (was, now), (frozenset(was), frozenset(now)))

    def differs(self, n: int, line: int) -> bool:
        """Return whether the other side has no such line."""
        return (self.lines[n][line - 1] if line <= len(self.lines[n]) else "") not in self.sets[1 - n]

    def line_now(self, line: int) -> int | None:
        """Return which line has replaced a line of the side before, as one of as many."""
        if self.hunks is None:
            self.hunks = differences.changes(*self.lines)
        hunk = self.hunks[bisect_left(self.hunks, line, key=lambda hunk: hunk.end) :][:1]
        return next((line + c - a for a, b, c, d in hunk if a < line <= b and b - a == d - c), None)

    def made(self, document: Document) -> str:
        """Return all that a document of the template holds."""
        if id(document) not in self.documents:
            self.documents[id(document)] = document, str(document.data)
        return self.documents[id(document)][1]

    def variables(self, n: int) -> AbstractSet[str]:
        """Return the names in the text."""
        if n not in self.names:
            self.names[n] = {*pattern(r"(?<![\w.])\w+").findall(self.texts[n])}
        return self.names[n]


def by_holder(fields: Iterable[ExplainedField], holders: AbstractSet[Path]) -> dict[Path, list[ExplainedField]]:
    """Return the fields at and below each of some paths."""
    found: dict[Path, list[ExplainedField]] = {}
    for explained in fields:
        for end in range(len(explained.index) + 1):
            if explained.index[:end] in holders:
                found.setdefault(explained.index[:end], []).append(explained)
    return found


def by_label(around: Any) -> dict[str, Document]:
    """Return documents by their names in messages."""
    return {label_of(document.data): document for document in around.documents}


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


def compiled(session: Session, job: ValidDocument) -> Sequence[Manifest]:
    """Return the objects of a job that is not kept; none if it cannot be compiled."""
    found = replace(session, keeping=None, judge=None).compile(job)[0]
    return () if found is None else found.manifests
