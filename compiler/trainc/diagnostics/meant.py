"""The words that a diagnostic means: what is underlined in a terminal, and marked in an editor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from trainc.diagnostics import Source
from trainc.startup.patterns import pattern

# The text of a line, which count from 1, without its end; None where there is none.
LineOf: TypeAlias = Callable[[int], str | None]

_WORD = pattern(r"[^\s:,\[\]{}\"']+|[\"'][^\"']*[\"']")
# What follows a key on its line: a scalar in quotes, up to the end or a comment, or up to the end of a flow item.
_VALUES = (
    pattern(r":\s+(\"[^\"]*\"|'[^']*')"),
    pattern(r":\s+(.*?)\s*(?: #.*)?$"),
    pattern(r":\s+([^,{}\[\]]*)"),
)
# A text that goes on below its key, and what of it a message may name: an option, or words in quotes.
_BLOCK = pattern(r"(?:.*\s)?[|>][-+1-9]*\s*(?:#.*)?$")
_NAMED = pattern(r"--[\w-]+|'([^'\n]+)'|`([^`\n]+)`")
_LONGEST_BLOCK = 400


def meant(line_of: LineOf, source: Source, message: str) -> tuple[int, int, int]:
    """The line of the word that is meant, and where it begins and ends there, both counted in characters from 0.

    That is the value of a key, where the message names it, else the key. In a block of text it is what the message
    names, wherever that stands.
    """
    inside = _inside(line_of, source, message)
    return inside or (
        source.line,
        *_in_line((line_of(source.line) or "").replace("\t", " "), source.column - 1, message),
    )


def _inside(line_of: LineOf, source: Source, message: str) -> tuple[int, int, int] | None:
    """The place in a block of text of what the message names."""
    header = line_of(source.line) or ""
    if not _BLOCK.match(header, source.column - 1):
        return None
    named = [found[1] or found[2] or found[0] for found in _NAMED.finditer(message)]
    indent = len(header) - len(header.lstrip())
    for number in range(source.line + 1, source.line + _LONGEST_BLOCK):
        line = line_of(number)
        if line is None or (line.strip() and len(line) - len(line.lstrip()) <= indent):
            break
        for words in named:
            if (at := line.find(words)) >= 0:
                return number, at, at + len(words)
    return None


def _in_line(line: str, column: int, message: str) -> tuple[int, int]:
    """Where the word that is meant begins and ends."""
    word = _WORD.match(line, column)
    if word is None:
        return column, column
    for value in _VALUES:
        found = value.match(line, word.end())
        if found is not None and _names(message, found[1].strip().strip("\"'")):
            return found.start(1), found.start(1) + len(found[1].rstrip())
    return word.span()


def _names(message: str, value: str) -> bool:
    """Whether a message names a value, as a word of its own: the 3 of `replicas: 3` is not in `Trainer 2.3`."""
    before, found, after = message.partition(value) if value else ("", "", "")
    return bool(found) and not _joined(before[-1:]) and (not _joined(after[:1]) or after[:2].strip() == ".")


def _joined(letter: str) -> bool:
    return letter.isalnum() or (letter != "" and letter in "_.-")
