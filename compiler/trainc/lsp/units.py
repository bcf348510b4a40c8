"""Positions as a client counts them: in the code units that it was asked for, UTF-16 unless it offers others."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types
from pygls.workspace import PositionCodec

from trainc.lsp.places import Position, Range


class Units:
    """The lines of one text, and how a client counts the characters in them."""

    def __init__(self, lines: Sequence[str], codec: PositionCodec) -> None:
        self._lines = lines
        self._codec = codec

    def position(self, place: Position) -> types.Position:
        """A place, for the client."""
        line = self._lines[place.line] if place.line < len(self._lines) else ""
        return types.Position(place.line, self._codec.client_num_units(line[: place.column]))

    def range(self, place: Range) -> types.Range:
        """A range, for the client."""
        return types.Range(self.position(place.start), self.position(place.end))

    def position_of(self, given: types.Position) -> Position:
        """A place that the client names; the end of its line, or of the text, where that is shorter."""
        if given.line >= len(self._lines):
            return Position(len(self._lines) - 1, len(self._lines[-1]))
        line = self._lines[given.line]
        units = 0
        for column, character in enumerate(line):
            if units >= given.character:
                return Position(given.line, column)
            units += self._codec.client_num_units(character)
        return Position(given.line, len(line))

    def range_of(self, given: types.Range) -> Range:
        """A range that the client names."""
        return Range(self.position_of(given.start), self.position_of(given.end))
