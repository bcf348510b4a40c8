"""Indentation: lines that are new among an author's own, moved to the columns that the author uses around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

_COLUMNS = pattern(r"(?P<indent> *)(?P<dashes>(?:- +)*)")


@dataclass(frozen=True, slots=True)
class Columns:
    """Where a line begins, and where its text does behind the dashes of a list."""

    line: int
    text: int


def columns(line: str) -> Columns:
    """The columns of a line, from 0."""
    found = _COLUMNS.match(line)
    return Columns(len(found["indent"]), found.end()) if found else Columns(0, 0)


def aligned(new: Sequence[str], kept: Mapping[int, Columns]) -> list[str]:
    """`new`, the writer's lines, each of those that are not `kept` moved as its sibling or its parent was.

    `kept` holds, by index, the columns that the author has for a line that stays.
    """
    # How far each open level was moved, by the column that the writer has for it.
    moves: dict[int, int] = {}
    lines = list(new)
    for index, line in enumerate(new):
        if not _says_something(line):
            continue
        own = columns(line)
        _leave(moves, own.line)
        if index in kept:
            moves[own.line] = kept[index].line - own.line
            moves[own.text] = kept[index].text - own.text
            continue
        move = moves.get(own.line)
        if move is None:
            move = _sibling_below(new, index, kept)
        if move is None:
            move = moves[max(moves)] if moves else 0
        moves[own.line] = moves[own.text] = move
        lines[index] = " " * max(own.line + move, 0) + line[own.line :]
    return _with_comments_above(lines, kept)


def _with_comments_above(lines: list[str], kept: Mapping[int, Columns]) -> list[str]:
    """The lines with each comment that is not kept in the column of what it stands above."""
    column = 0
    for index in range(len(lines) - 1, -1, -1):
        if _says_something(lines[index]) or index in kept:
            column = columns(lines[index]).line
        elif lines[index].strip():
            lines[index] = " " * column + lines[index].lstrip()
    return lines


def _says_something(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _leave(moves: dict[int, int], column: int) -> None:
    for deeper in [level for level in moves if level > column]:
        del moves[deeper]


def _sibling_below(new: Sequence[str], index: int, kept: Mapping[int, Columns]) -> int | None:
    """How far the next line of the same level was moved, if it is a kept one."""
    column = columns(new[index]).line
    for below in range(index + 1, len(new)):
        other = columns(new[below]).line
        if not _says_something(new[below]) or other > column:
            continue
        return kept[below].line - other if other == column and below in kept else None
    return None
