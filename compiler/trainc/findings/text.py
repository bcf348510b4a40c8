"""Text of reports: escaping what the input controls, underlining a value, and suggesting near names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from trainc.findings import Source, suggest
from trainc.startup.patterns import pattern
from trainc.startup.typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    import re

# The color sequences that `Paint` writes.
_LOOK = r"\x1b\[[0-9;]*m"
_COMMAND = pattern(rf"##(?P<called>\w*)\[|(?m:^)(?P<before>(?:\s|{_LOOK})*)::")
_OBEYED = pattern(rf"(?P<look>{_LOOK})|(?P<end>\r(?=\n))|[^\t\n -~]")
_INVISIBLE = pattern(r"[^ -~\n]")
_NOT_XML = pattern("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escape_line(text: str) -> str:
    """Escape everything in `text` that is not printable, line breaks included."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def escape_report(text: str, *, colored: bool = False, json: bool = False) -> str:
    """Escape a report of several lines. Keeps line breaks, and color sequences if `colored`; `json` is escaped as JSON."""
    if json:
        from json import dumps

        text = text.replace("##", r"#\u0023")
        return _INVISIBLE.sub(lambda c: c[0] if c[0].isprintable() else dumps(c[0])[1:-1], text)

    def escaped(match: re.Match[str]) -> str:
        if match["end"] or (colored and match["look"]):
            return match[0]
        return match[0].replace("\x1b", r"\x1b") if match[0].startswith("\x1b") else escape_line(match[0])

    def broken(match: re.Match[str]) -> str:
        called = match["called"]
        return rf"{match['before']}\x3a:" if called is None else rf"#\x23{called}["

    if not text.replace("\n", "").isprintable():
        text = _OBEYED.sub(escaped, text)
    return _COMMAND.sub(broken, text) if "##" in text or "::" in text else text


def escape_xml(text: str) -> str:
    """Escape the characters that XML 1.0 does not allow, in XML or HTML."""
    return _NOT_XML.sub(lambda match: escape_line(match[0]), text)


# Counting and listing words.


def counted(count: int, noun: str) -> str:
    """Return `1 job` or `1,200 jobs`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def join_words(items: Iterable[str], conjunction: Literal["and", "or"]) -> str:
    """Return `a`, `a and b` or `a, b and c`."""
    *first, last = items
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def first_of(items: Sequence[str], most: int = 5) -> str:
    """Return the items, up to `most` of them: `a, b, c and 4 more`."""
    more = f" and {len(items) - most:,} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows of a table as lines, with their cells in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


# Find the text that a diagnostic refers to, to underline it in a terminal or mark it in an editor.

# Returns a line (1-based) without its line ending, or None past the end of the file.
LineOf: TypeAlias = Callable[[int], str | None]

_WORD = pattern(r"[^\s:,\[\]{}\"']+|[\"'][^\"']*[\"']")
# The value after a key on the same line: a quoted scalar, a plain scalar up to a comment, or a flow item.
_VALUES = (pattern(r":\s+(\"[^\"]*\"|'[^']*')"), pattern(r":\s+(.*?)\s*(?:\s#.*)?$"), pattern(r":\s+([^,{}\[\]]*)"))
# The header of a block scalar, and the parts of a message that may occur in it: options and quoted text.
_BLOCK = pattern(r"(?:.*\s)?[|>][-+1-9]*\s*(?:#.*)?$")
_NAMED = pattern(
    r"--[\w-]+|'([^'\n]+)'|`([^`\n]+)`|(?<![A-Za-z0-9-])[A-Za-z][A-Za-z0-9-]*+(?:[._][\w-]++)++|(?<![\w./-])[a-z]++(?:-[a-z]++)++"
)
_VERSION = pattern(r"(?<![\w-])([a-z][\w-]*) (\d+\.\d[\w.]*)")
# Where a script starts a program, which is what a message about none of its words is about.
_STARTING = pattern(
    r"\s*(?:(?:exec|time|[A-Z]\w*=\S*) )*+((?:\S*/)?(?:torchrun|python3?|accelerate|deepspeed|mpirun|ray|fabric))\s"
)
_LONGEST_BLOCK = 400
_LONGEST_LINE = 2_000


def find_underline(line_of: LineOf, source: Source, message: str, hint: str = "") -> tuple[int, int, int]:
    """Return (line, start, end) of the text that `message` refers to; the line is 1-based, the columns are 0-based.

    This is the value of the key at `source` if the message mentions it, and the key otherwise. In a block scalar, it is
    the first occurrence of something that the message mentions, best of all what the hint mentions, too.
    """
    inside = _inside(line_of, source, message, hint)
    return inside or (source.line, *_in_line(line_of(source.line) or "", source.column - 1, message))


def _inside(line_of: LineOf, source: Source, message: str, hint: str) -> tuple[int, int, int] | None:
    """Return the position in a block scalar of something that the message mentions, if any."""
    header = line_of(source.line) or ""
    # A long line is not searched to its end for each of the many messages that it may have.
    if len(header) > _LONGEST_LINE or not _BLOCK.match(header, source.column - 1):
        return None
    mentions, of_hint = (
        [match[1] or match[2] or match[0] for match in _NAMED.finditer(text)] for text in (message, hint)
    )
    of_hint += [" ".join(message.split(" ", 3)[:2]), *("==".join(pair) for pair in _VERSION.findall(message))]
    indent, lines = len(header) - len(header.lstrip()), []
    for number in range(source.line + 1, source.line + _LONGEST_BLOCK):
        line = line_of(number)
        if line is None or (line.strip() and len(line) - len(line.lstrip()) <= indent):
            break
        lines.append((number, line))
    for mention in (*sorted(mentions, key=lambda mention: mention not in hint), *of_hint):
        for number, line in lines:
            at = line.find(mention)
            if at >= 0 and not _is_part_of_word(line[at + len(mention) :][:1]):
                return number, at, at + len(mention)
    starts = ((number, match) for number, line in lines if (match := _STARTING.match(line)) is not None)
    return next(((number, *match.span(1)) for number, match in starts), None)


def _in_line(line: str, column: int, message: str) -> tuple[int, int]:
    """Return the start and end of the text that the message refers to."""
    end = min(len(line), column + _LONGEST_LINE)
    word = _WORD.match(line, column, end)
    if word is None:
        return column, column
    for value in _VALUES:
        match = value.match(line, word.end(), end)
        if match is not None and _names(message, match[1].strip().strip("\"'")):
            return match.start(1), match.start(1) + len(match[1].rstrip())
    keyword = message.partition(" ")[0].rpartition(".")[2]
    at = max(line.find(f"{before}{keyword}=", column, end) for before in "( ,") + 1
    return (at, at + len(keyword)) if at else word.span()


def _names(message: str, value: str) -> bool:
    """Return whether a message mentions a value as a whole word: "3" is not mentioned by "Trainer 2.3"."""
    before, separator, after = message.partition(value) if value else ("", "", "")
    return (
        bool(separator)
        and not _is_part_of_word(before[-1:])
        and (not _is_part_of_word(after[:1]) or after[:2].strip() == ".")
    )


def _is_part_of_word(letter: str) -> bool:
    return letter.isalnum() or (letter != "" and letter in "_.-")


# Suggestions for misspelled names.

_LONGEST_NAME = 100
_BEGINNING = 3  # The shortest prefix worth completing.
_MOST_COMPARED, _BESIDE = 200, 50


def comparable(word: str, candidates: Iterable[str]) -> list[str]:
    """Return sorted names to compare `word` with: all, but of more than 200 those that it begins or ends most like.

    As many names as words to compare with them would take time in proportion to their product.
    """
    names = tuple(sorted(set(candidates)))
    if len(names) <= _MOST_COMPARED:
        return [*names]
    from bisect import bisect

    near = set[str]()
    for step in (1, -1):
        spelt = _spelt(names, step)
        place = bisect(spelt, (_letters(word)[::step], ""))
        near.update(name for _, name in spelt[max(place - _BESIDE, 0) : place + _BESIDE])
    return sorted(near)


@lru_cache(maxsize=8)
def _spelt(names: tuple[str, ...], step: int) -> list[tuple[str, str]]:
    return sorted((_letters(name)[::step], name) for name in names)


def near_names(word: str, candidates: Iterable[str], limit: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return up to `limit` of the `candidates`, most similar first, with a similarity (0 to 1) of at least `cutoff`.

    If no name is similar enough, return names that start with `word`, since it may be incomplete.
    """
    # Only needed for bad input.
    from difflib import get_close_matches

    # Comparing takes more than linear time, and nobody misspells a longer name by some letters.
    names = comparable(word, candidates) if len(word) <= _LONGEST_NAME else []
    names = [name for name in names if len(name) <= _LONGEST_NAME]
    near = get_close_matches(word, names, n=limit, cutoff=cutoff)
    return near or [name for name in names if name.startswith(word) and len(word) >= _BEGINNING][:limit]


def did_you_mean(word: str, candidates: Iterable[str], cutoff: float = 0.6, most: int = 3) -> str:
    """Return `did you mean a or b?` with at most so many names, or an empty string if no known name is similar."""
    near = near_names(word, candidates, most, cutoff)
    return suggest(word, near) if near else ""


def edit_distance(left: str, right: str, most: int) -> int:
    """Return the edit distance (with swaps) between `left` and `right`, or `most` + 1 if it is larger than `most`."""
    # An edit replaces at most one letter by another.
    if abs(len(left) - len(right)) > most or len(set(left).symmetric_difference(right)) > 2 * most:
        return most + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        before, last, row = row, before, [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]


def correct_spelling(word: str, candidates: Iterable[str], most: int = 2) -> str:
    """Return the known name that `word` misspells, or "".

    Ignores case, `_` and `-`, and allows up to `most` edits.
    """
    letters = _letters(word)
    ranked = sorted((edit_distance(letters, _letters(n), most), n) for n in comparable(word, candidates) if n != word)
    return ranked[0][1] if ranked and ranked[0][0] <= most else ""


def _letters(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
