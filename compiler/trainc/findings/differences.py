"""The difference of two texts as lines, in a number of steps that their length bounds: the only one in trainc."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

# Steps for each line of both texts. Where they differ in more places than that allows, all between the first and the
# last difference counts as replaced: that is right, and only longer.
_STEPS_PER_LINE = 20
_FEWEST_STEPS = 4_000
_UNENDED = "\\ No newline at end of file\n"


class Hunk(NamedTuple):
    """Lines `before` the change become those `after` it; `start` and `end` are of the old text, the others of the new."""

    start: int
    end: int
    new_start: int
    new_end: int


class Excerpt(NamedTuple):
    """The lines, each with its sign: `-` of the old text, `+` of the new one, a space of both."""

    old: range
    new: range
    lines: list[tuple[str, str]]


def changes(old: Sequence[str], new: Sequence[str]) -> list[Hunk]:
    """Return what is replaced, in order; between two hunks, the lines are equal."""
    numbers: dict[str, int] = {}
    a, b = ([numbers.setdefault(line, len(numbers)) for line in side] for side in (old, new))
    shortest, head, tail = min(len(a), len(b)), 0, 0
    while head < shortest and a[head] == b[head]:
        head += 1
    while tail < shortest - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    a, b = a[head : len(a) - tail], b[head : len(b) - tail]
    if not a and not b:
        return []
    equal = _equal_lines(a, b) if a and b else []
    hunks, x, y = [], 0, 0
    for i, j in [*equal, (len(a), len(b))]:
        if i > x or j > y:
            hunks.append(Hunk(head + x, head + i, head + y, head + j))
        x, y = i + 1, j + 1
    return hunks


def _equal_lines(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """Return the places of a longest common subsequence; none if finding it takes too many steps (Myers, 1986)."""
    left = _STEPS_PER_LINE * (len(a) + len(b)) + _FEWEST_STEPS
    furthest = {1: 0}
    trace: list[dict[int, int]] = []
    while True:
        edits = len(trace)
        trace.append(furthest)
        reached: dict[int, int] = {}
        for k in range(-edits, edits + 1, 2):
            x = furthest[k + 1] if _is_insertion(furthest, k, edits) else furthest[k - 1] + 1
            start = x
            while x < len(a) and x - k < len(b) and a[x] == b[x - k]:
                x += 1
            left -= x - start + 1
            if left < 0:
                return []
            reached[k] = x
            if x >= len(a) and x - k >= len(b):
                return _walk_back(trace, len(a), len(b))
        furthest = reached


def _is_insertion(furthest: dict[int, int], k: int, edits: int) -> bool:
    return k == -edits or (k != edits and furthest[k - 1] < furthest[k + 1])


def _walk_back(trace: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    equal: list[tuple[int, int]] = []
    for edits in range(len(trace) - 1, -1, -1):
        furthest, k = trace[edits], x - y
        before = k + 1 if _is_insertion(furthest, k, edits) else k - 1
        start = furthest[before] if edits else 0
        while x > start and y > start - (before if edits else 0):
            x, y = x - 1, y - 1
            equal.append((x, y))
        x, y = start, start - before
    return equal[::-1]


def excerpts(old: Sequence[str], new: Sequence[str], context: int) -> Iterator[Excerpt]:
    """Yield the changes with `context` equal lines around them; those that are near each other are in one excerpt."""
    group: list[Hunk] = []
    for hunk in changes(old, new):
        if group and hunk.start - group[-1].end > 2 * context:
            yield _excerpt(old, new, group, context)
            group = []
        group.append(hunk)
    if group:
        yield _excerpt(old, new, group, context)


def _excerpt(old: Sequence[str], new: Sequence[str], group: Sequence[Hunk], context: int) -> Excerpt:
    lines: list[tuple[str, str]] = []
    ahead, behind = min(group[0].start, context), min(len(old) - group[-1].end, context)
    place = group[0].start - ahead
    for hunk in group:
        lines += ((" ", line) for line in old[place : hunk.start])
        lines += (("-", line) for line in old[hunk.start : hunk.end])
        lines += (("+", line) for line in new[hunk.new_start : hunk.new_end])
        place = hunk.end
    lines += ((" ", line) for line in old[place : place + behind])
    return Excerpt(
        range(group[0].start - ahead, group[-1].end + behind),
        range(group[0].new_start - ahead, group[-1].new_end + behind),
        lines,
    )


def unified(old: str, new: str, old_name: str, new_name: str) -> str:
    """A unified diff that turns `old` into `new`, as `patch` and `git apply` read it; empty where they are equal."""
    before, after = _lines(old), _lines(new)
    pieces = [f"--- {old_name}\n", f"+++ {new_name}\n"] if old != new else []
    for excerpt in excerpts(before, after, 3):
        pieces.append(f"@@ -{_numbers(excerpt.old)} +{_numbers(excerpt.new)} @@\n")
        pieces += (
            f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n{_UNENDED}" for sign, line in excerpt.lines
        )
    return "".join(pieces)


def _lines(text: str) -> list[str]:
    """The lines as `patch` knows them, which only a line feed ends."""
    *lines, last = text.split("\n")
    return [f"{line}\n" for line in lines] + [last] * bool(last)


def _numbers(lines: range) -> str:
    return f"{lines.start + 1}" if len(lines) == 1 else f"{lines.start + bool(lines)},{len(lines)}"
