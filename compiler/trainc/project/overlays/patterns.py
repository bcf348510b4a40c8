"""Regular expressions in overlays: RE2 syntax, matched in a single pass without backtracking.

Patterns that take Python's `re` exponential time are therefore harmless. In return, and as in RE2, lookaround and
backreferences are not supported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from trainc.findings import Path, Source
from trainc.kube.documents import FieldPath, identity_of, mapping, resolve_path, stable_path, value_at
from trainc.kube.re2 import Assertion, Character, Group, Part, Repeat, parse_re2
from trainc.kube.selectors import Requirement, parse_selector
from trainc.kube.strategic_merge import Copies
from trainc.reading.document import Document
from trainc.startup.records import dataclass, field, replace

# Names, namespaces and kinds in Kubernetes have at most 253 characters; longer ones are rejected elsewhere.
_LONGEST_TEXT = 1_000
_MOST_STATES = 5_000
_DEEPEST = 50
_META = frozenset("\\.[]()|*+?{}^$")
_ENDS: dict[str, Kind] = {"^": "start", "\\A": "start", "$": "end", "\\z": "end"}

# A state continues to `next`, and a split to `other` as well. `takes` matches the single character to consume.
Kind: TypeAlias = Literal["character", "split", "start", "end", "done"]


@dataclass(slots=True, eq=False)
class _State:
    kind: Kind
    takes: re.Pattern[str] | None = None
    next: _State | None = None
    other: _State | None = None


@dataclass(frozen=True, slots=True)
class Pattern:
    """An expression that must match the whole text."""

    text: str
    _first: _State | None = field(default=None, compare=False, repr=False)
    # How many states have been looked at, for all texts.
    _visits: list[int] = field(default_factory=lambda: [0], compare=False, repr=False)

    def matches(self, text: str) -> bool:
        """Return whether the whole `text` matches."""
        if self._first is None:
            return text == self.text
        return len(text) <= _LONGEST_TEXT and _run(self._first, text, self._visits)

    @property
    def visits(self) -> int:
        """How many steps all comparisons have taken so far; none if the pattern is plain text."""
        return self._visits[0]

    @property
    def is_plain(self) -> bool:
        """Whether only one text matches."""
        return self._first is None


def pattern(text: str) -> Pattern:
    """Compile a pattern. Raises ValueError if it is invalid, unsupported or too large."""
    if not _META.intersection(text):
        return Pattern(text)
    expression = parse_re2(text)
    if expression.has_flags:
        raise ValueError(f"{text!r} sets flags, which trainc does not support")
    return Pattern(text, _Builder().group(expression.group, _State("done")))


class _Builder:
    """Builds states back to front: each part is given the state that follows it."""

    def __init__(self) -> None:
        self._states = 0
        self._depth = 0

    def group(self, group: Group, after: _State) -> _State:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("groups are nested too deeply")
        first, *alternatives = (self._sequence(parts, after) for parts in group.alternatives)
        self._depth -= 1
        for other in alternatives:
            first = self._state("split", next=first, other=other)
        return first

    def _state(self, kind: Kind, **parts: object) -> _State:
        self._states += 1
        if self._states > _MOST_STATES:
            raise ValueError("the regular expression is too large")
        return _State(kind, **parts)  # type: ignore[arg-type]

    def _sequence(self, parts: list[Part], after: _State) -> _State:
        for part in reversed(parts):
            after = self._part(part, after)
        return after

    def _part(self, part: Part, after: _State) -> _State:
        match part:
            case Group():
                return self.group(part, after)
            case Repeat():
                return self._repeat(part, after)
            case Assertion(text) if text in _ENDS:
                return self._state(_ENDS[text], next=after)
            case Character(str(fits)):
                return self._state("character", takes=re.compile(fits, re.ASCII | re.DOTALL), next=after)
        raise ValueError("word boundaries and Unicode or POSIX classes are not supported")

    def _repeat(self, repeat: Repeat, after: _State) -> _State:
        if repeat.most is None:
            loop = self._state("split", other=after)
            loop.next = self._part(repeat.part, loop)
            after = loop
        for _ in range((repeat.most or repeat.least) - repeat.least):
            after = self._state("split", next=self._part(repeat.part, after), other=after)
        for _ in range(repeat.least):
            after = self._part(repeat.part, after)
        return after


def _run(first: _State, text: str, visits: list[int]) -> bool:
    current = _closure([first], 0, text, visits)
    for index, character in enumerate(text):
        next_states = [
            s.next for s in current if s.kind == "character" and (s.takes is None or s.takes.match(character))
        ]
        if not next_states:
            return False
        current = _closure([state for state in next_states if state is not None], index + 1, text, visits)
    return any(state.kind == "done" for state in current)


def _closure(states: list[_State], index: int, text: str, visits: list[int]) -> list[_State]:
    """Return all states that can be reached without consuming a character."""
    seen: set[int] = set()
    waiting, reached = list(states), []
    while waiting:
        state = waiting.pop()
        if id(state) in seen:
            continue
        seen.add(id(state))
        passes = (
            state.kind == "split"
            or (state.kind == "start" and not index)
            or (state.kind == "end" and index == len(text))
        )
        if passes:
            waiting += [onward for onward in (state.next, state.other) if onward is not None]
        else:
            reached.append(state)
    visits[0] += len(seen)
    return reached


# A document while overlays are applied, with a record of the overlay that wrote each field.


# A tree by path step: what was written below the step, and the origin of the step itself, if any.
_Written: TypeAlias = "dict[str | int, tuple[_Written, list[Origin]]]"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was written: a path in an overlay or in one of its patch files."""

    document: Document
    path: Path


class Origins:
    """The origins of each field of a document, the latest first. Writing a field discards what was recorded below it.

    There are several where an overlay made a value of the one that was there, as `images` and `mirrors` do.
    """

    def __init__(self) -> None:
        self._top: _Written = {}

    def add(self, path: FieldPath, *who: Origin) -> None:
        """Record that `who` wrote the field at `path`."""
        above = self._top
        for step in path[:-1]:
            above = above.setdefault(step, ({}, []))[0]
        if path:
            above[path[-1]] = ({}, list(who))

    def of(self, path: FieldPath) -> tuple[int, Sequence[Origin]] | None:
        """Return the nearest written field at or above `path` as (number of steps, origins), or None."""
        nearest: tuple[int, Sequence[Origin]] | None = None
        inner = self._top
        for length, step in enumerate(path, 1):
            if step not in inner:
                break
            inner, writers = inner[step]
            nearest = (length, writers) if writers else nearest
        return nearest


@dataclass(frozen=True, slots=True)
class Edited:
    """`document` with edits: `data` is its current content, `origins` tells who wrote the changed fields.

    Edits return a new instance that shares `origins`, `copies` and `held_back` and replaces the old one. `identities` are all
    (namespace, name) that the document has had, current one last; patches may refer to any of them. `held_back` is that of
    the document.
    """

    document: Document
    data: dict[str, Any]
    origins: Origins = field(default_factory=Origins)
    identities: tuple[tuple[str, str], ...] = ()
    copies: Copies = field(default_factory=Copies)
    held_back: list[tuple[Path, Any, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, document: Document) -> Edited:
        """Create an instance for a document without edits."""
        return cls(document, document.data, identities=(identity_of(document.data),), held_back=[*document.held_back])

    def with_data(self, data: dict[str, Any], origins: Iterable[tuple[FieldPath, Origin]]) -> Edited:
        """Return the document with new data, and record who wrote which fields."""
        for path, who in origins:
            self.origins.add(path, who)
        return replace(self, data=data)

    def with_field(self, path: Path, value: Any, origin: Origin, *, derived: bool = False) -> Edited:
        """Return the document with one field set, creating mappings as needed.

        `derived` means that the new value was made of the one that is there.
        """
        steps = stable_path(path, self.data)
        earlier = self._origins_of(steps) if derived else ()
        self.origins.add(steps, origin, *earlier)
        return replace(self, data=self._copy_with(self.data, path, value))

    def with_common_field(self, path: Path, value: Any, origin: Origin, *, derived: bool = False) -> Edited:
        """Like `with_field`, for what is set in all outputs alike."""
        self.held_back.append((path, value_at(self.data, path), value))
        return self.with_field(path, value, origin, derived=derived)

    def _copy_with(self, data: Any, path: Path, value: Any) -> Any:
        if not path:
            return value
        step, *rest = path
        copied = self.copies.of(data if isinstance(data, Mapping) or isinstance(step, int) else {})
        present = copied[step] if isinstance(step, int) else copied.get(step)
        copied[step] = self._copy_with(present, tuple(rest), value)
        return copied

    def keep_identities(self, changed: Edited) -> Edited:
        """Return `changed`, keeping the identities of this document."""
        return replace(changed, identities=(*self.identities, identity_of(changed.data)))

    def to_document(self) -> Document:
        """Return the result for later stages, with positions that point to where each value was written."""
        if self.data is self.document.data:
            return self.document
        return Document(
            self.data,
            self.document.file,
            self.locate,
            self.document,
            written=self.written,
            held_back=(*self.held_back,),
        )

    def locate(self, path: Path) -> Source | None:
        """Return the position where the value at `path` was written, in an overlay or in the original document."""
        document, inside = self.written(path)[0]
        return document.locate(inside)

    def written(self, path: Path) -> list[tuple[Document, Path]]:
        """Return all places that the value at `path` was made from, the latest first: each a path in a document."""
        origins = self._origins_of(stable_path(path, self.data))
        # A trial is an edited document of an edited one.
        below = (o.document.written(o.path) if o.document.written else [(o.document, o.path)] for o in origins)
        return [place for places in below for place in places]

    def _origins_of(self, steps: FieldPath) -> list[Origin]:
        if (nearest := self.origins.of(steps)) is None:
            return [Origin(self.document, resolve_path(steps, self.document.data))]
        end, origins = nearest
        below = [(origin, resolve_path(steps[end:], value_at(origin.document.data, origin.path))) for origin in origins]
        return [Origin(origin.document, (*origin.path, *inside)) for origin, inside in below]


# Selects the documents for a patch, as kustomize's targets do.


TARGET_FIELDS = ("group", "version", "kind", "name", "namespace", "labelSelector", "annotationSelector")


@dataclass(frozen=True, slots=True)
class Target:
    """The conditions on a document. Patterns must match the whole text; None matches everything."""

    group: Pattern | None = None
    version: Pattern | None = None
    kind: Pattern | None = None
    name: Pattern | None = None
    namespace: Pattern | None = None
    labels: tuple[Requirement, ...] = ()
    annotations: tuple[Requirement, ...] = ()

    def matches(self, document: Edited) -> bool:
        """Return whether a document matches, by its current name or one that it had in an earlier overlay."""
        data = document.data
        group, _, version = str(data.get("apiVersion", "")).rpartition("/")
        if not (
            _fits(self.group, group) and _fits(self.version, version) and _fits(self.kind, str(data.get("kind", "")))
        ):
            return False
        if not any(_fits(self.namespace, ns) and _fits(self.name, name) for ns, name in document.identities):
            return False
        metadata = mapping(data.get("metadata"))
        labels, annotations = mapping(metadata.get("labels")), mapping(metadata.get("annotations"))
        return all(r.holds(labels) for r in self.labels) and all(r.holds(annotations) for r in self.annotations)

    @property
    def only_name(self) -> str | None:
        """The one name that documents must have, if there is only one."""
        return self.name.text if self.name is not None and self.name.is_plain else None

    @property
    def visits(self) -> int:
        """How many steps the patterns have taken so far."""
        patterns = (self.group, self.version, self.kind, self.name, self.namespace)
        return sum(pattern.visits for pattern in patterns if pattern is not None)

    def difference(self, document: Edited) -> str:
        """Return the first condition that a document does not meet, with its own value; empty for those on labels."""
        group, _, version = str(document.data.get("apiVersion", "")).rpartition("/")
        namespace = identity_of(document.data)[0]
        values = {"group": group, "version": version, "kind": document.data.get("kind"), "namespace": namespace}
        wrong = ((key, value) for key, value in values.items() if not _fits(getattr(self, key), str(value or "")))
        return next((f"its {key} is {value or 'empty'}" for key, value in wrong), "")


def target_of(fields: Mapping[str, Any]) -> Target:
    """Convert a mapping with TARGET_FIELDS to a target. Raises ValueError for an invalid pattern or selector."""
    patterns = (pattern(str(fields[name])) if fields.get(name) else None for name in TARGET_FIELDS[:5])
    labels = parse_selector(str(fields.get("labelSelector") or ""))
    annotations = parse_selector(str(fields.get("annotationSelector") or ""))
    group, version, kind, name, namespace = patterns
    return Target(group, version, kind, name, namespace, labels, annotations)


def identity_target(fields: Mapping[str, Any]) -> Target:
    """Return the target for the one document that the apiVersion, kind and metadata of a patch identify."""
    group, _, version = str(fields.get("apiVersion") or "").rpartition("/")
    metadata = mapping(fields.get("metadata"))
    return Target(
        _exactly(group),
        _exactly(version),
        _exactly(fields.get("kind")),
        _exactly(metadata.get("name")),
        _exactly(metadata.get("namespace")),
    )


def _exactly(value: Any) -> Pattern | None:
    return Pattern(str(value)) if value else None


def _fits(expected: Pattern | None, text: str) -> bool:
    return expected is None or expected.matches(text)
