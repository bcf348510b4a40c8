"""Restore the author's formatting: every line that a change did not touch stays as written.

A YAML writer reformats the whole document. Lines that differ in formatting only are taken from the original.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import TypeAlias

from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

_COMMENT = pattern(r"(?:^|\s)(?P<text>#[^\n]*)")
_MOST_COMPARED = 4_000
# As in difflib's opcodes: the operation, the affected lines, and their replacement.
_Step: TypeAlias = tuple[str, int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Piece:
    """Lines of the original that correspond to the writer's lines from `start` to `end`."""

    lines: tuple[str, ...]
    start: int
    end: int


def with_kept_lines(text: str, before: str, after: str) -> str:
    """`after`, with every untouched line as it was in `text`, and with all comments preserved.

    `before` is `text` as the writer formats it; `after` is the changed document as the writer formats it.
    """
    original, old, new = (t.splitlines(keepends=True) for t in (text, before, after))
    lost = _comments(original)
    lost.subtract(_comments(new))
    piece_of = {index: piece for piece in _pieces(original, old) for index in range(piece.start, piece.end)}
    steps = list(_steps(old, new))
    touched = {piece: True for tag, i, j, _, _ in steps if tag != "equal" for piece in _touched(piece_of, i, j)}
    kept = dict(_kept_columns(steps, {i: p for i, p in piece_of.items() if p not in touched}))
    kept = _with_their_lines(kept, new)
    new = aligned(new, kept)
    lines: list[str] = []
    for tag, start, end, new_start, new_end in steps:
        if tag == "equal":
            for index in range(start, end):
                piece, place = piece_of[index], new_start + index - start
                if piece in touched:
                    lines.append(new[place])
                elif index == piece.start:
                    # A comment moves together with the line it describes.
                    moved = place not in kept and new[place].lstrip().startswith("#")
                    lines += [new[place], *piece.lines[1:]] if moved else piece.lines
        else:
            for piece in _touched(piece_of, start, end):
                lines += _reattach_comments(piece.lines, lost) if touched[piece] else ()
                touched[piece] = False
            lines += new[new_start:new_end]
    return "".join(lines)


def _touched(piece_of: Mapping[int, _Piece], start: int, end: int) -> list[_Piece]:
    """The pieces affected by a change of the writer's lines from `start` to `end`, or by an insertion there."""
    if start < end:
        return list(dict.fromkeys(piece_of[index] for index in range(start, end)))
    piece = piece_of.get(start)
    return [piece] if piece is not None and piece.start < start else []


def _steps(old: Sequence[str], new: Sequence[str]) -> Iterator[_Step]:
    """The difflib opcodes that turn `old` into `new`, computed without their common start and end."""
    start, shorter = 0, min(len(old), len(new))
    while start < shorter and old[start] == new[start]:
        start += 1
    end = 0
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    middle_old, middle_new = old[start : len(old) - end], new[start : len(new) - end]
    yield "equal", 0, start, 0, start
    # difflib would take hours for thousands of identical lines.
    junk = len(middle_old) + len(middle_new) > _MOST_COMPARED
    for tag, a, b, c, d in SequenceMatcher(None, middle_old, middle_new, autojunk=junk).get_opcodes():
        yield tag, start + a, start + b, start + c, start + d
    yield "equal", len(old) - end, len(old), len(new) - end, len(new)


def _pieces(original: Sequence[str], old: Sequence[str]) -> list[_Piece]:
    """The author's lines in the order of the writer's, line by line where the writer kept them separate."""
    pieces: list[_Piece] = []
    waiting: tuple[str, ...] = ()
    for _, i, j, start, end in _steps([line.strip() for line in original], [line.strip() for line in old]):
        if start == end:
            # Lines that the writer drops, such as blank lines, are attached to the line before them.
            if pieces:
                pieces[-1] = _Piece((*pieces[-1].lines, *original[i:j]), pieces[-1].start, pieces[-1].end)
            else:
                waiting = tuple(original[i:j])
        elif j - i == end - start:
            pieces += [_Piece((original[i + n],), start + n, start + n + 1) for n in range(j - i)]
        else:
            pieces.append(_Piece(tuple(original[i:j]), start, end))
        if waiting and pieces:
            pieces[0], waiting = _Piece((*waiting, *pieces[0].lines), pieces[0].start, pieces[0].end), ()
    return pieces


def _kept_columns(steps: Sequence[_Step], piece_of: Mapping[int, _Piece]) -> Iterator[tuple[int, Columns]]:
    """The author's columns of every unchanged line, by its index among the new lines."""
    for tag, start, end, new_start, _ in steps:
        for index in range(start, end) if tag == "equal" else ():
            piece = piece_of.get(index)
            first = next((line for line in piece.lines if line.strip()), "") if piece is not None else ""
            if piece is not None and index == piece.start and first:
                yield new_start + index - start, columns(first)


def _with_their_lines(kept: Mapping[int, Columns], new: Sequence[str]) -> dict[int, Columns]:
    """`kept` without comments that describe the line below, if that line is not kept."""
    stay: dict[int, Columns] = {}
    below = True
    for index in range(len(new) - 1, -1, -1):
        if not new[index].strip():
            continue
        below = index in kept and (below or not new[index].lstrip().startswith("#"))
        if below:
            stay[index] = kept[index]
    return stay


def _comments(lines: Sequence[str]) -> Counter[str]:
    return Counter(found["text"].rstrip() for line in lines if (found := _COMMENT.search(line)))


def _reattach_comments(removed: Sequence[str], lost: Counter[str]) -> Iterator[str]:
    """Comments of removed lines that would otherwise be lost; each is kept on a line of its own."""
    for line in removed:
        found = _COMMENT.search(line)
        if found is not None and lost[found["text"].rstrip()] > 0:
            lost[found["text"].rstrip()] -= 1
            yield f"{line[: len(line) - len(line.lstrip())]}{found['text'].rstrip()}\n"


# Indentation: new lines are moved to the columns that the author uses around them.


_COLUMNS = pattern(r"(?P<indent> *)(?P<dashes>(?:- +)*)")


@dataclass(frozen=True, slots=True)
class Columns:
    """The column where a line starts, and the column of its text after the dashes of list items."""

    line: int
    text: int


def columns(line: str) -> Columns:
    """The columns of a line, counted from 0."""
    found = _COLUMNS.match(line)
    return Columns(len(found["indent"]), found.end()) if found else Columns(0, 0)


def aligned(new: Sequence[str], kept: Mapping[int, Columns]) -> list[str]:
    """The writer's lines `new`; those not `kept` are shifted in the same way as their sibling or parent.

    `kept` maps the index of an unchanged line to the author's columns.
    """
    # The shift of each open level, by its column in the writer's output.
    moves: dict[int, int] = {}
    lines = list(new)
    for index, line in enumerate(new):
        if not _has_content(line):
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
    """The lines, with each comment that is not kept aligned to the line below it."""
    column = 0
    for index in range(len(lines) - 1, -1, -1):
        if _has_content(lines[index]) or index in kept:
            column = columns(lines[index]).line
        elif lines[index].strip():
            lines[index] = " " * column + lines[index].lstrip()
    return lines


def _has_content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _leave(moves: dict[int, int], column: int) -> None:
    for deeper in [level for level in moves if level > column]:
        del moves[deeper]


def _sibling_below(new: Sequence[str], index: int, kept: Mapping[int, Columns]) -> int | None:
    """The shift of the next line of the same level, if that line is kept."""
    column = columns(new[index]).line
    for below in range(index + 1, len(new)):
        other = columns(new[below]).line
        if not _has_content(new[below]) or other > column:
            continue
        return kept[below].line - other if other == column and below in kept else None
    return None
