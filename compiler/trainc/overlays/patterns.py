"""The regular expressions of overlays, as RE2 has them: matched in one pass over the text, without backtracking.

A pattern that takes Python's `re` for ever on a name of thirty letters takes no time here, at the price of what RE2 has
not either: lookaround and references to groups.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from trainc.startup.records import dataclass, field

# No name, namespace or kind of Kubernetes is longer than 253 characters; what is, is refused elsewhere.
_LONGEST_TEXT = 1_000
_MOST_STATES = 5_000
_MOST_REPEATS = 1_000
_DEEPEST = 50
_META = frozenset("\\.[]()|*+?{}^$")
_CLASS = re.compile(r"\[\^?(?:\\.|[^\\\]]|(?<=\[)\]|(?<=\[\^)\])[^\\\]]*(?:\\.[^\\\]]*)*\]", re.DOTALL)
_REPEAT = re.compile(r"(?:[*+?]|\{(\d{1,4})(,(\d{0,4}))?\})\??", re.ASCII)
_GROUP = re.compile(r"\((?:\?:|\?P?<\w+>|(?!\?))", re.ASCII)

# A state goes to `next`, and to `other` as well where it splits; what it takes is a pattern for one character.
Kind: TypeAlias = Literal["character", "split", "start", "end", "done"]


@dataclass(slots=True, eq=False)
class _State:
    kind: Kind
    takes: re.Pattern[str] | None = None
    next: _State | None = None
    other: _State | None = None


@dataclass(frozen=True, slots=True)
class Pattern:
    """An expression that a whole text has to match."""

    text: str
    _first: _State | None = field(default=None, compare=False, repr=False)

    def fits(self, text: str) -> bool:
        """Whether `text` matches from its start to its end."""
        if self._first is None:
            return text == self.text
        return len(text) <= _LONGEST_TEXT and _run(self._first, text)


def literal(text: str) -> Pattern:
    """The pattern that fits exactly `text`."""
    return Pattern(text)


def pattern(text: str) -> Pattern:
    """The pattern that `text` describes; ValueError if it is none, or one that would take too long."""
    if not _META.intersection(text):
        return Pattern(text)
    return Pattern(text, _Builder(text).build())


class _Builder:
    """Builds states back to front: each part is told where to go when it is through."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._states = 0
        self._depth = 0

    def build(self) -> _State:
        first, end = self._alternatives(0, _State("done"))
        if end < len(self._text):
            raise ValueError(f"nothing opens the `)` in {self._text!r}")
        return first

    def _state(self, kind: Kind, **parts: object) -> _State:
        self._states += 1
        if self._states > _MOST_STATES:
            raise ValueError("the expression is too large")
        return _State(kind, **parts)  # type: ignore[arg-type]

    def _alternatives(self, at: int, after: _State) -> tuple[_State, int]:
        first, at = self._sequence(at, after)
        while self._text.startswith("|", at):
            other, at = self._sequence(at + 1, after)
            first = self._state("split", next=first, other=other)
        return first, at

    def _sequence(self, at: int, after: _State) -> tuple[_State, int]:
        parts = list(self._parts(at))
        for start, stop, _ in reversed(parts):
            after = self._part(start, stop, after)
        return after, parts[-1][2] if parts else at

    def _parts(self, at: int) -> Iterator[tuple[int, int, int]]:
        """Start, end without repetition, and end of each part up to the end of the alternative."""
        while at < len(self._text) and self._text[at] not in "|)":
            stop = self._end_of(at)
            repeat = _REPEAT.match(self._text, stop)
            end = repeat.end() if repeat else stop
            yield at, stop, end
            at = end

    def _end_of(self, at: int) -> int:
        character = self._text[at]
        if character == "(":
            return self._end_of_group(at)
        if character == "[":
            found = _CLASS.match(self._text, at)
            if found is None:
                raise ValueError(f"the `[` in {self._text!r} is not closed")
            return found.end()
        if character in "*+?{":
            raise ValueError(f"there is nothing to repeat before `{character}` in {self._text!r}")
        return at + 2 if character == "\\" else at + 1

    def _end_of_group(self, at: int) -> int:
        depth = 0
        while at < len(self._text):
            character = self._text[at]
            depth += (character == "(") - (character == ")")
            at = self._end_of(at) if character in "[\\" else at + 1
            if not depth:
                return at
        raise ValueError(f"the `(` in {self._text!r} is not closed")

    def _part(self, start: int, stop: int, after: _State) -> _State:
        repeat = _REPEAT.match(self._text, stop)
        if repeat is None:
            return self._once(start, stop, after)
        least, most = _bounds(repeat)
        if most is None:
            loop = self._state("split", other=after)
            loop.next = self._once(start, stop, loop)
            after = loop
        for _ in range((most or least) - least):
            after = self._state("split", next=self._once(start, stop, after), other=after)
        for _ in range(least):
            after = self._once(start, stop, after)
        return after

    def _once(self, start: int, stop: int, after: _State) -> _State:
        text = self._text[start:stop]
        if text[0] == "(":
            return self._group(start, after)
        if text in ("^", "$"):
            return self._state("start" if text == "^" else "end", next=after)
        return self._state("character", takes=_character(text), next=after)

    def _group(self, start: int, after: _State) -> _State:
        opened = _GROUP.match(self._text, start)
        if opened is None:
            raise ValueError(f"{self._text[start : start + 3]!r} is not supported; use plain groups")
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("the groups are nested too deep")
        first, _ = self._alternatives(opened.end(), after)
        self._depth -= 1
        return first


def _bounds(repeat: re.Match[str]) -> tuple[int, int | None]:
    if repeat[1] is None:
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[repeat[0][0]]
    least = int(repeat[1])
    most = least if repeat[2] is None else (int(repeat[3]) if repeat[3] else None)
    if max(least, most or 0) > _MOST_REPEATS or (most is not None and most < least):
        raise ValueError(f"{repeat[0]} repeats too often")
    return least, most


def _character(text: str) -> re.Pattern[str] | None:
    if text[0] == "\\" and text[1:].isalnum() and text[1:] not in tuple("dDsSwW"):
        raise ValueError(f"{text} is not supported")
    try:
        return None if text == "." else re.compile(text, re.ASCII)
    except re.error as error:
        raise ValueError(str(error)) from None


def _run(first: _State, text: str) -> bool:
    current = _closure([first], 0, text)
    for index, character in enumerate(text):
        taken = [s.next for s in current if s.kind == "character" and (s.takes is None or s.takes.match(character))]
        if not taken:
            return False
        current = _closure([state for state in taken if state is not None], index + 1, text)
    return any(state.kind == "done" for state in current)


def _closure(states: list[_State], index: int, text: str) -> list[_State]:
    """All states that can be reached without taking a character."""
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
