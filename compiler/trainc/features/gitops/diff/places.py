"""The smallest values in which two documents differ, and where they are."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from itertools import chain
from typing import Any, TypeAlias

from trainc.api.documents import Document, label_of
from trainc.api.explained import ExplainedField, Explanation
from trainc.api.findings import Path, Source, differences
from trainc.api.jobs import Session, ValidDocument
from trainc.api.kube import Manifest, value_at
from trainc.api.records import dataclass, field, pattern, replace
from trainc.features.gitops.diff.model import Cause, ObjectDiff

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


@dataclass(frozen=True, slots=True)
class Record:
    """How a job was made on one side: every field of its objects, and the documents by the names they have there."""

    explanation: Explanation
    documents: Mapping[str, Document]

    def fields(self, diff: ObjectDiff) -> Sequence[ExplainedField]:
        """Return the fields of the object that differs."""
        same_kind = [described for described in self.explanation.objects if described.name.kind == diff.key.kind]
        called = {diff.key.name, *(diff.renamed or ())}
        same = [described for described in same_kind if described.name.name in called] or same_kind
        return same[0].fields if same else ()


@dataclass(slots=True)
class Template:
    """A template on both sides, and what is asked of it for each field that it makes."""

    texts: tuple[str, str]
    lines: tuple[Sequence[str], Sequence[str]]
    sets: tuple[AbstractSet[str], AbstractSet[str]]
    hunks: Sequence[differences.Hunk] | None = None
    filling: dict[int, Filling] = field(default_factory=dict)
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


class Texts:
    """What stands for some texts, found by those that occur in another: in steps of its length, however many there are."""

    def __init__(self, items: Iterable[tuple[str, Any]]) -> None:
        self._by_length: dict[int, dict[str, list[tuple[int, Any]]]] = {}
        for number, (text, item) in enumerate(items):
            self._by_length.setdefault(len(text), {}).setdefault(text, []).append((number, item))

    def within(self, text: str) -> list[Any]:
        """Return the first of those whose text occurs in another."""
        found: list[tuple[int, Any]] = []
        for length, known in self._by_length.items():
            starts = range(len(text) - length + 1)
            if len(known) <= min(len(starts), _FEW):
                occurring = {one for one in known if one in text}
            else:
                occurring = {part for at in starts if (part := text[at : at + length]) in known}
            found += [item for one in occurring for item in known[one][:_MOST_CAUSES]]
        return [item for _, item in sorted(found, key=lambda item: item[0])[:_MOST_CAUSES]]


# Texts that are looked for one after the other; values and items that are each a cause of one field.
_FEW, _MOST_CAUSES = 50, 200


@dataclass(slots=True)
class Filling:
    """The values that differ and fill a template on one side: the places where an overlay sets each, and those by its text."""

    template: Template
    every: Sequence[Sequence[Place]]
    by_text: Texts
    items: dict[int, Texts] = field(default_factory=dict)
    found: dict[tuple[int, int], Sequence[Place]] = field(default_factory=dict)

    @classmethod
    def of(cls, template: Template, values: Iterable[tuple[str, Sequence[Place]]]) -> Filling:
        """Return the filling of values with their places."""
        every = [(text, places) for text, places in values if places]
        return cls(template, [places for _, places in every], Texts(every))

    def of_field(self, document: Document, path: Path, value: Any, is_new: bool) -> Iterator[Place]:
        """Yield the places of values that a field of a document may be made of: of those that it shows, or else of all."""
        here = str(value_at(document.data, path))
        for places in self.by_text.within(str(value)) or self.every[:_MOST_CAUSES]:
            # What the field itself holds need not be looked for in all of its document.
            if len(places) == 1 and all(one in here for one in texts_at(places[0])):
                yield places[0]
                continue
            key = id(document), id(places)
            if key not in self.found:
                self.found[key] = self._in_document(document, places, is_new)
            yield from self.found[key]

    def _in_document(self, document: Document, places: Sequence[Place], is_new: bool) -> Sequence[Place]:
        """Return those of a value's places that a document is made of: of a list, each item is for a job of its own."""
        if id(places) not in self.items:
            texts = [texts_at(place) for place in places]
            times = Counter(chain.from_iterable(texts))
            rarest = (min(some, key=lambda one: (times[one], -len(one)), default="") for some in texts)
            self.items[id(places)] = Texts(zip(rarest, places, strict=True))
        made = self.template.made(document)
        own = [place for place in self.items[id(places)].within(made) if all(one in made for one in texts_at(place))]
        return own or [p for p in places if is_new or not isinstance(p[2][-1], int)][:_MOST_CAUSES]


@dataclass(frozen=True, slots=True)
class Different:
    """The paths of values that differ, in order, by the first name and a word of the last one."""

    by_name: Mapping[str, Mapping[str, Sequence[tuple[int, Path]]]]

    @classmethod
    def of(cls, before: Any, after: Any) -> Different:
        """Return the paths of the innermost values that differ."""
        found: dict[str, dict[str, list[tuple[int, Path]]]] = {}
        for number, at in enumerate(_leaves_that_differ(before, after)):
            word = next(iter(_WORD.findall(str(at[-1]))), "")
            found.setdefault(str(at[0]), {}).setdefault(word, []).append((number, at))
        return cls(found)

    def named(self, text: str) -> list[Path]:
        """Return those that a template names: the first name is a variable, and the last one is somewhere."""
        words = {"", *_WORD.findall(text)}
        variables = self.by_name.keys() & {*_VARIABLE.findall(text)}
        among = [self.by_name[name] for name in variables]
        found = [one for lasts in among for word in lasts.keys() & words for one in lasts[word]]
        return [at for _, at in sorted(found) if words.issuperset(_WORD.findall(str(at[-1])))]


_WORD, _VARIABLE = pattern(r"\w+"), pattern(r"(?<![\w.])\w+")


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


def _leaves_that_differ(old: Any, new: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of the innermost values that differ."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in dict.fromkeys((*new, *old)):
            yield from _leaves_that_differ(old.get(name), new.get(name), (*path, name))
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
