"""Fixes of diagnostics: their hints applied, where that helps, and the comment that ignores them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from trainc.diagnostics import Diagnostic
from trainc.lsp.hints import Edit, Marked, hinted_edits
from trainc.lsp.marking import marked
from trainc.lsp.places import Position, Range, trees
from trainc.lsp.snapshot import Snapshot
from trainc.startup.records import dataclass

# Diagnostics of one range: an editor asks about a line, or about all that is on the screen.
_MOST_FIXED = 8


@dataclass(frozen=True, slots=True)
class Fix:
    """What an editor offers; `preferred` is the one that the hint means where it means one only."""

    title: str
    diagnostic: Diagnostic
    edits: tuple[Edit, ...]
    preferred: bool = False


def fixes(snapshot: Snapshot, requested: Range, look: Callable[[str], Sequence[Diagnostic]]) -> list[Fix]:
    """What can be done about the diagnostics in a range: their hints first, then the comments that ignore them.

    `look` gives the diagnostics of the file with another text. What does not help, or breaks something else, is not
    offered.
    """
    found = [one for one in _marked(snapshot) if _meets(one.range, requested)][:_MOST_FIXED]
    hinted = [fix for one in found for fix in _hinted(one) if _helps(fix, snapshot, look)]
    ignoring = (fix for one in found for fix in _ignoring(one) if _helps(fix, snapshot, look))
    return [*hinted, *ignoring]


def applied(text: str, edits: Sequence[Edit]) -> str:
    """The text after edits that do not overlap."""
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    for edit in sorted(edits, key=lambda edit: edit.range, reverse=True):
        start, end = (starts[place.line] + place.column for place in edit.range)
        text = text[:start] + edit.text + text[end:]
    return text


def _helps(fix: Fix, snapshot: Snapshot, look: Callable[[str], Sequence[Diagnostic]]) -> bool:
    """Whether the diagnostic is gone afterwards, and no error has come in its place; others it may have hidden."""
    after = look(applied(_plain(snapshot), fix.edits))
    gone = _alike(fix.diagnostic, snapshot.diagnostics) > _alike(fix.diagnostic, after)
    here = [d for d in after if d.severity == "error" and _is_near(d.path, fix.diagnostic.path)]
    return gone and all(_alike(d, snapshot.diagnostics) for d in here)


def _is_near(path: str, other: str) -> bool:
    """Whether one of two fields holds the other."""
    if not path or not other:
        return path == other
    return path.startswith(other) or other.startswith(path)


def _alike(one: Diagnostic, found: Sequence[Diagnostic]) -> int:
    return sum((d.code, d.path, d.message) == (one.code, one.path, one.message) for d in found)


def _plain(snapshot: Snapshot) -> str:
    return "\n".join(snapshot.lines)


def _marked(snapshot: Snapshot) -> Iterator[Marked]:
    found, lines = marked(snapshot), snapshot.lines
    read = trees(snapshot.text) if found else []
    for diagnostic, place in found:
        tree = next((tree for tree in read if tree.whole.holds(place.start)), None)
        words = lines[place.start.line][place.start.column : place.end.column]
        yield Marked(diagnostic, place, words, tree, lines)


def _meets(one: Range, other: Range) -> bool:
    return one.start.line <= other.end.line and other.start.line <= one.end.line


def _hinted(one: Marked) -> Iterator[Fix]:
    edits = hinted_edits(one)
    for title, edit in edits:
        yield Fix(title, one.diagnostic, (edit,), preferred=len(edits) == 1)


def _ignoring(one: Marked) -> Iterator[Fix]:
    """The comment above the line, with its reason still to be written; not for what no comment can ignore."""
    source = one.diagnostic.source
    if source is None or one.diagnostic.code in _ABOUT_COMMENTS or source.line > len(one.lines):
        return
    line = one.lines[source.line - 1]
    indent = line[: len(line) - len(line.lstrip())]
    place = Position(source.line - 1, 0)
    text = f"{indent}# trainc: ignore[{one.diagnostic.code}] reason\n"
    yield Fix(f"Ignore {one.diagnostic.code} here", one.diagnostic, (Edit(Range(place, place), text),))


_ABOUT_COMMENTS = ("UnknownCode", "UnusedIgnore", "IgnoreWithoutReason")
