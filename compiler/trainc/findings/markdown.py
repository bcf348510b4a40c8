"""Text of the input in Markdown: what it has beside plain words stands in code, where nothing of it is obeyed.

Platforms look for mentions, numbers of issues, commits, addresses and HTML in everything that is no code.
"""

from __future__ import annotations

from collections.abc import Iterable

from trainc.findings.text import escape_line
from trainc.startup.patterns import pattern
from trainc.startup.typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re

_BACKQUOTES = pattern(r"`+")
# Code, words and numbers with their punctuation, of which seven letters or digits may be a commit, and everything else.
_PIECES = pattern(r"(?P<open>\(?)(?<!`)(?P<fence>`+)(?!`)(?P<code>.+?)(?<!`)(?P=fence)(?!`)|\s+|(?P<name>\S+)")
_WORD = pattern(r"""[("']*(?!\S*[0-9a-f]{7})(?:[A-Za-z]+(?:[-'][a-z]+)*|[0-9]+(?:[,.][0-9]+)*%?)["').,;:?]*|->|[→↔·]""")
_NAME = pattern(r"(?s)(\(?)(.*?)([.,;:]*)")
# What begins like this would be a list.
_ITEM = pattern(r"^( *)([0-9]+[.)]+)(?!\S)")
_BAR = pattern(r"(\\*)\|")


def code(text: str) -> str:
    """Return a code span, which ends nowhere before the end of the text, whatever it holds."""
    text = escape_line(text)
    mark, pad = _mark(text, 1), " " if "`" in text else ""
    return f"{mark}{pad}{text}{pad}{mark}" if text else ""


def fenced(lines: Iterable[str], language: str) -> list[str]:
    """Return a block of code, which ends nowhere before the end of the lines."""
    inside = list(lines)
    mark = _mark("\n".join(inside), 3)
    return [f"{mark}{language}", *inside, mark]


def _mark(text: str, least: int) -> str:
    return "`" * max(least, 1 + max(map(len, _BACKQUOTES.findall(text)), default=0))


def words(text: str) -> str:
    """Return a sentence: words and numbers as they are, and everything else, such as names, in code spans."""
    pieces = [""]
    for found in _PIECES.finditer(text):
        piece = _piece(found)
        pieces += [" "] * (pieces[-1].endswith("`") and piece.startswith("`"))
        pieces.append(piece)
    return _ITEM.sub(lambda found: found[1] + code(found[2]), "".join(pieces))


def _piece(found: re.Match[str]) -> str:
    if found["code"]:
        return found["open"] + code(found["code"])
    name = found["name"]
    if name is None or _WORD.fullmatch(name):
        return " " if name is None else name
    start, inner, end = _NAME.fullmatch(name).groups()  # type: ignore[union-attr]
    end = ")" * (inner.endswith(")") and inner.count("(") < inner.count(")")) + end
    return start + code(inner.removesuffix(end[:1]) if end.startswith(")") else inner) + end


def row(cells: Iterable[str]) -> str:
    """Return a row of a table. A bar is escaped, with a space after a backslash, which would escape the escape for some."""
    escaped = (_BAR.sub(lambda bar: bar[1] + " " * bool(bar[1]) + "\\|", cell) for cell in cells)
    return f"| {' | '.join(escaped)} |"
