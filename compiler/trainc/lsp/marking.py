"""Diagnostics where an editor marks them: the words that `trainc check` underlines."""

from __future__ import annotations

from collections.abc import Sequence

from trainc.diagnostics import Diagnostic, Source
from trainc.diagnostics.underline import underlined
from trainc.lsp.places import Position, Range
from trainc.lsp.snapshot import Snapshot


def marked(snapshot: Snapshot) -> list[tuple[Diagnostic, Range]]:
    """The diagnostics of the file, each with the words that it means."""
    lines = snapshot.lines
    return [(d, words(lines, d.source, d.message)) for d in snapshot.diagnostics if d.source is not None]


def words(lines: Sequence[str], source: Source, message: str) -> Range:
    """Where the words begin and end that a message about a place means; at least one character, where there is one."""

    def line_of(number: int) -> str | None:
        return lines[number - 1] if 0 < number <= len(lines) else None

    number, start, end = underlined(line_of, source, message)
    length = len(line_of(number) or "")
    start = min(start, length)
    line = min(number, len(lines)) - 1
    return Range(Position(line, start), Position(line, min(max(end, start + 1), length)))


def full_message(diagnostic: Diagnostic) -> str:
    """What an editor shows: the message, where it is not about all environments, and the help."""
    where = f" (in {', '.join(diagnostic.environments)})" if diagnostic.environments else ""
    path = f"{diagnostic.path}: " if diagnostic.path else ""
    return f"{path}{diagnostic.message}{where}" + (f"\nhelp: {diagnostic.hint}" if diagnostic.hint else "")
