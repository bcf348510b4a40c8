"""Moves: where the fields of a converted document stood in the document as written, so that findings point there."""

from __future__ import annotations

from collections.abc import Sequence

from trainc.diagnostics import Finding, Path
from trainc.startup.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class Move:
    """What is at `now` was at `was`; with `whole`, all of it was that one value, and has no parts there."""

    now: Path
    was: Path
    whole: bool = False


def as_written(path: Path, moves: Sequence[Move]) -> Path:
    """The place of `path` in the document as written: the longest move that covers it decides."""
    covering = [move for move in moves if path[: len(move.now)] == move.now]
    if not covering:
        return path
    move = max(covering, key=lambda m: len(m.now))
    return move.was if move.whole else (*move.was, *path[len(move.now) :])


def moved(finding: Finding, moves: Sequence[Move]) -> Finding:
    """A finding about a converted document as one about the document as written."""
    if not moves:
        return finding
    source_path = None if finding.source_path is None else as_written(finding.source_path, moves)
    return replace(finding, path=as_written(finding.path, moves), source_path=source_path)
