"""Regular expressions in overlays: RE2 syntax, matched in a single pass without backtracking.

Patterns that take Python's `re` exponential time are therefore harmless. In return, and as in RE2, lookaround and
backreferences are not supported.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from trainc.api.re2 import Assertion, Character, Group, Part, Repeat, parse_re2
from trainc.startup.records import dataclass, field

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

    def fits(self, text: str) -> bool:
        """Return whether the whole `text` matches."""
        if self._first is None:
            return text == self.text
        return len(text) <= _LONGEST_TEXT and _run(self._first, text)


def literal(text: str) -> Pattern:
    """Return a pattern that only matches `text` itself."""
    return Pattern(text)


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
        first, *others = (self._sequence(parts, after) for parts in group.alternatives)
        self._depth -= 1
        for other in others:
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


def _run(first: _State, text: str) -> bool:
    current = _closure([first], 0, text)
    for index, character in enumerate(text):
        taken = [s.next for s in current if s.kind == "character" and (s.takes is None or s.takes.match(character))]
        if not taken:
            return False
        current = _closure([state for state in taken if state is not None], index + 1, text)
    return any(state.kind == "done" for state in current)


def _closure(states: list[_State], index: int, text: str) -> list[_State]:
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
    return reached
