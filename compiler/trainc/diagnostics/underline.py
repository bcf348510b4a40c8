"""Find the text that a diagnostic refers to, to underline it in a terminal or mark it in an editor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from trainc.diagnostics import Source
from trainc.startup.patterns import pattern

# Returns a line (1-based) without its line ending, or None past the end of the file.
LineOf: TypeAlias = Callable[[int], str | None]

_WORD = pattern(r"[^\s:,\[\]{}\"']+|[\"'][^\"']*[\"']")
# The value after a key on the same line: a quoted scalar, a plain scalar up to a comment, or a flow item.
_VALUES = (
    pattern(r":\s+(\"[^\"]*\"|'[^']*')"),
    pattern(r":\s+(.*?)\s*(?: #.*)?$"),
    pattern(r":\s+([^,{}\[\]]*)"),
)
# The header of a block scalar, and the parts of a message that may occur in it: options and quoted text.
_BLOCK = pattern(r"(?:.*\s)?[|>][-+1-9]*\s*(?:#.*)?$")
_NAMED = pattern(r"--[\w-]+|'([^'\n]+)'|`([^`\n]+)`")
_LONGEST_BLOCK = 400


def underlined(line_of: LineOf, source: Source, message: str) -> tuple[int, int, int]:
    """Return (line, start, end) of the text that `message` refers to; the line is 1-based, the columns are 0-based.

    This is the value of the key at `source` if the message mentions it, and the key otherwise. In a block scalar, it is
    the first occurrence of something that the message mentions.
    """
    inside = _inside(line_of, source, message)
    return inside or (
        source.line,
        *_in_line((line_of(source.line) or "").replace("\t", " "), source.column - 1, message),
    )


def _inside(line_of: LineOf, source: Source, message: str) -> tuple[int, int, int] | None:
    """Return the position in a block scalar of something that the message mentions, if any."""
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
    """Return the start and end of the text that the message refers to."""
    word = _WORD.match(line, column)
    if word is None:
        return column, column
    for value in _VALUES:
        found = value.match(line, word.end())
        if found is not None and _names(message, found[1].strip().strip("\"'")):
            return found.start(1), found.start(1) + len(found[1].rstrip())
    return word.span()


def _names(message: str, value: str) -> bool:
    """Return whether a message mentions a value as a whole word: "3" is not mentioned by "Trainer 2.3"."""
    before, found, after = message.partition(value) if value else ("", "", "")
    return bool(found) and not _joined(before[-1:]) and (not _joined(after[:1]) or after[:2].strip() == ".")


def _joined(letter: str) -> bool:
    return letter.isalnum() or (letter != "" and letter in "_.-")
