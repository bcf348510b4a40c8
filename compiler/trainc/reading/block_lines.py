"""Fast reader for the subset of YAML that most files use: block mappings and lists of simple values.

Each line is `key: value`, `key:`, or one of these or a bare value after `- `. A value is a line of plain or simply
quoted text, a flow collection on one line, or a `|` block scalar. For everything else `read_lines` raises, without
checking whether it is valid, and the document is parsed with libyaml instead. Importing libyaml takes as long as
reading a hundred documents with this module.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, islice

from trainc.findings import Path
from trainc.reading.document import Chunk
from trainc.startup.patterns import pattern
from trainc.startup.typing import Any

# Resolves plain scalars like kubectl.
# Follows go.yaml.in/yaml/v2 resolve.go and the conversion through JSON in sigs.k8s.io/yaml: an integral number
# becomes an integer if it fits in 64 bits, and a float otherwise.

Scalar = str | int | float | bool | None

WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_INFINITE = float("inf")
NUMBER_START = frozenset("+-.0123456789")
_IN_NUMBERS = frozenset("0123456789abcdefABCDEFxXoO_+-.inIN")
MERGE = "<<"

_INTEGER = pattern(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|([1-9][0-9]*|0))")
_BASES = (16, 2, 8, 10)
_DECIMAL = pattern(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LEADING_POINT = pattern(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?")
_SIGNED_BINARY = pattern(r"0b([-+][01]+)")  # A quirk of resolve.go: the sign may follow the prefix.
_NOT_FINITE = pattern(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_INT64 = range(-(2**63), 2**63)
_UINT64_END = 2**64


class NotFiniteError(ValueError):
    """The scalar is infinite or NaN, which JSON, and therefore Kubernetes, cannot represent."""


def plain(text: str) -> Scalar:
    """Return the value of an unquoted scalar. Raises NotFiniteError for `.inf` and `.nan`."""
    if text in WORDS:
        return WORDS[text]
    return number(text) if text[0] in NUMBER_START else text


def number(text: str) -> str | int | float:
    """Parse text that starts like a number; returns `text` if it is not one. Raises NotFiniteError like `plain`."""
    if not _IN_NUMBERS.issuperset(text):
        return text
    if text.isdecimal() and len(text) < 19 and (text[0] != "0" or text == "0"):
        return int(text)
    value: int | float | None = integer(text)
    if value is None:
        value = decimal(text)
    return text if value is None else through_json(value)


def integer(text: str) -> int | None:
    """Parse a 64-bit integer in any Go notation, with underscores anywhere; None if it is not one."""
    bare = text.replace("_", "")
    if (match := _INTEGER.fullmatch(bare)) is not None:
        digits, base = next((digits, base) for digits, base in zip(match.groups()[1:], _BASES, strict=True) if digits)
        if len(digits) > 64 and len(digits := digits.lstrip("0")) > 64:
            return None
        value = int(digits or "0", base) * (-1 if match[1] == "-" else 1)
        unsigned_end = _UINT64_END if not match[1] else 0  # Go's ParseUint accepts no sign.
        return value if value in _INT64 or 0 <= value < unsigned_end else None
    if (match := _SIGNED_BINARY.fullmatch(bare)) is not None and (value := int(match[1], 2)) in _INT64:
        return value
    return None


def decimal(text: str) -> float | None:
    """Parse a decimal number; None if it is not one or out of range. Raises NotFiniteError like `plain`."""
    match = _LEADING_POINT.fullmatch(text) if text[0] == "." else _DECIMAL.fullmatch(text.replace("_", ""))
    if match:
        value = float(match[0])
        return value if abs(value) < _INFINITE else None
    if _NOT_FINITE.fullmatch(text):
        raise NotFiniteError(text)
    return None


def through_json(value: int | float) -> int | float:  # noqa: PYI041 - a compiler of annotations would make a float of it
    """Return a number as Go reads it back from JSON: integral numbers are integers if they fit in 64 bits."""
    if isinstance(value, int):
        return value if value in _INT64 else float(value)
    if not value.is_integer() or abs(value) >= 2**63:
        return value
    # Go writes the shortest digits that identify the float and pads with zeros; `int(value)` would be exact instead.
    digits, _, exponent = repr(value).partition("e")
    whole, _, fraction = digits.partition(".")
    return int(whole + fraction.rstrip("0").ljust(int(exponent or 0), "0"))


_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_IN_KEYS = _LETTERS | frozenset("0123456789./-")
_QUOTES = ("'", '"')
_IN_QUOTED_KEYS = _IN_KEYS | frozenset(" ")
_PLAIN_START = _IN_KEYS | frozenset("$(+=/\\^~;")
_IN_BRACKETS = _IN_KEYS | frozenset("$()+=@%")
# Characters inside a plain scalar in brackets, and at its beginning, if one of those in brackets follows.
_BETWEEN = ((":", " ", "#"), (":",))
# YAML parsers look for the colon within 1,024 characters; real keys are much shorter.
_LONGEST_KEY = 300
_LONGEST_CACHED = 200
_LONGEST_LINE = 100_000
# Keeps the recursion in `_collection` bounded.
_MOST_BRACKETS = 50
# Line breaks in YAML 1.1 besides the line feed, and the BOM, which is only valid at the start of a document.
_OTHER_LINE_ENDS = frozenset("\x85\u2028\u2029\ufeff")
_COLLECTIONS = (list, dict)
_BLOCKS = frozenset(("|", "|-", "|+"))
_OPENING = frozenset("|[{")
# The value of an entry that continues on the following lines.
_BELOW = object()


class NotPlainError(ValueError):
    """The document uses syntax that this reader does not handle."""


def read_lines(text: str, depth: int) -> dict[str, Any]:
    """Parse `text`, which must end with a line feed, to a mapping. Raises ValueError if it is not in the subset."""
    if "\t" in text or not (text.isascii() or _OTHER_LINE_ENDS.isdisjoint(text)):
        raise NotPlainError
    root: list[Any] = [None]
    # The open mappings and lists, outermost first, each with its column.
    containers: list[tuple[int, Any]] = [(-1, root)]
    # The key or index of the last value, its column, and whether the value is on the lines that follow.
    slot: Any = 0
    last_column, is_below = -1, True
    for column, key, value in _entries(text):
        if is_below and (column > last_column or (column == last_column and key is None and slot.__class__ is str)):
            container: Any = [] if key is None else {}
            containers[-1][1][slot] = container
            containers.append((column, container))
        else:
            container = _continue_container(containers, column, list if key is None else dict)
        if len(containers) + (_height(value) if value.__class__ in _COLLECTIONS else 0) > depth + 1:
            raise NotPlainError
        last_column, is_below = column, value is _BELOW
        if key is None:
            slot = len(container)
            container.append(None)
        elif key in container:
            raise NotPlainError
        else:
            slot = key
        container[slot] = None if is_below else value
    if root[0].__class__ is not dict:
        raise NotPlainError
    result: dict[str, Any] = root[0]
    return result


# A place as one number: its line times this, plus its column, both from 0.
_LINE = 2**32


class LinePositions:
    """The positions of the fields of a text that `read_lines` reads, as (line, column) from 0.

    On the way to a field, only lines in the column of its mapping or list are read, each once, up to its own.
    Raises ValueError for a line whose places in brackets would be many times as large as the text.
    """

    __slots__ = ("_columns", "_lines", "_long", "_passed")

    def __init__(self, chunk: Chunk) -> None:
        self._lines = chunk.text.split("\n")[:-1]  # After the last line feed there is none.
        if max(map(len, self._lines)) >= _LONGEST_LINE:
            raise NotPlainError
        # Of long lines, what is on them, by their numbers.
        self._long: dict[int, tuple[tuple[int, str | None, Any], ...]] = {}
        # The column of each path in a flow collection, by its line and column.
        self._columns: dict[tuple[int, int], dict[Path, int]] = {}
        # By the place of its first entry, those of a mapping or list that were passed, and the rest.
        self._passed: dict[int, tuple[dict[str, int] | array[int], Iterator[tuple[str | None, int]]]] = {}

    def find(self, path: Path) -> tuple[int, int]:
        """Return the place of a key or list item, or of its nearest existing ancestor."""
        root = next(self._entries_from(0))[1]
        inside: int | None = root
        position, start, value = divmod(root, _LINE), 0, ""
        for depth, step in enumerate(path):
            if inside is None:
                return self._in_brackets(position, start, path[depth:]) if value in ("[", "{") else position
            place = self._place(inside, step)
            if place is None:
                break
            line, column = divmod(place, _LINE)
            text, is_item = self._lines[line], isinstance(step, int)
            start = _after_spaces(text, column + 1 if is_item else text.find(": ", column) + 1)
            position, value = (line, start if is_item else column), text[start : start + 1]
            inside = self._inside(place, is_item)
        return position

    def _place(self, inside: int, step: str | int) -> int | None:
        """Return the place of an entry of the mapping or list that begins at a place."""
        if inside not in self._passed:
            rest = self._entries_in(inside)
            first = next(rest)
            self._passed[inside] = array("Q") if first[0] is None else {}, chain((first,), rest)
        passed, rest = self._passed[inside]
        if isinstance(passed, dict):
            if isinstance(step, str) and step not in passed:
                for key, place in rest:
                    passed[str(key)] = place
                    if key == step:
                        break
            return passed.get(step) if isinstance(step, str) else None
        if not isinstance(step, int) or step < 0:
            return None
        passed.extend(place for _, place in islice(rest, max(0, step + 1 - len(passed))))
        return passed[step] if step < len(passed) else None

    def _on_line(self, line: int) -> tuple[tuple[int, str | None, Any], ...]:
        """Return the column, key and value of each entry on a line, each line read once."""
        text = self._lines[line]
        if len(text) < _LONGEST_CACHED:
            return _parse_line_cached(text)
        if line not in self._long:
            self._long[line] = _parse_line(text)
        return self._long[line]

    def _entries_from(self, number: int) -> Iterator[tuple[str | None, int]]:
        """Yield the key and the place of each entry on a line and on those after it."""
        for line in range(number, len(self._lines)):
            for column, key, _ in self._on_line(line):
                yield key, line * _LINE + column

    def _inside(self, place: int, is_item: bool) -> int | None:
        """Return the place of the first entry of the mapping or list that is the value of an entry, if it is one."""
        line, column = divmod(place, _LINE)
        if next(value for at, _, value in self._on_line(line) if at == column) is not _BELOW:
            return None
        key, below = next((entry for entry in self._entries_from(line) if entry[1] > place), ("", 0))
        deeper = below // _LINE == line or below % _LINE > column
        return below if deeper or (below % _LINE == column and key is None and not is_item) else None

    def _entries_in(self, inside: int) -> Iterator[tuple[str | None, int]]:
        """Yield the key and the place of each entry of the mapping or list whose first one is at a place."""
        first, column = divmod(inside, _LINE)
        key = next(key for at, key, _ in self._on_line(first) if at == column)
        yield key, inside
        is_list, deeper = key is None, " " * (column + 1)
        for line in range(first + 1, len(self._lines)):
            text = self._lines[line]
            if text.startswith(deeper) or not (content := text.lstrip(" ")) or content[0] == "#":
                continue
            if len(text) - len(content) < column or (is_list and not content.startswith("- ")):
                return
            key = self._on_line(line)[0][1]
            if is_list is (key is None):  # A list may be in the same column as its key.
                yield key, line * _LINE + column

    def _in_brackets(self, position: tuple[int, int], start: int, path: Path) -> tuple[int, int]:
        """Return the place of a path in the flow collection that starts at a column, or else that of the collection."""
        columns = self._columns.get((position[0], start))
        if columns is None:
            items: list[tuple[Path, int]] = []
            _collection(self._lines[position[0]], start, items)
            columns = self._columns[position[0], start] = dict(items)
        while path and path not in columns:
            path = path[:-1]
        return (position[0], columns[path]) if path else position


def _continue_container(containers: list[tuple[int, Any]], column: int, kind: type) -> Any:
    """Close inner containers and return the mapping or list of the given kind that continues at `column`."""
    while containers[-1][0] > column:
        containers.pop()
    if containers[-1][0] == column and containers[-1][1].__class__ is not kind:
        containers.pop()  # A list may be in the same column as its key.
    at, container = containers[-1]
    if at != column or container.__class__ is not kind:
        raise NotPlainError
    return container


def _entries(text: str) -> Iterator[tuple[int, str | None, Any]]:
    """Yield (column, key, value) for each mapping entry and list item; the key of a list item is None."""
    lines = text.split("\n")
    at, end = 0, len(lines) - 1  # The last line feed is not followed by another line.
    while at < end:
        line = lines[at]
        at += 1
        for column, key, value in _parse_line_cached(line) if len(line) < _LONGEST_CACHED else _parse_line(line):
            if value.__class__ is not _Unread:
                yield column, key, value
            elif value[0] == "|":
                block, at = _block(lines, at, column, value)
                yield column, key, block
            else:
                yield column, key, _in_brackets(value)


def _parse_line(line: str) -> tuple[tuple[int, str | None, Any], ...]:
    """Return (column, key, value) of the entries that start on a line, like `_entries`; values that need more parsing are `_Unread`."""
    content = line.lstrip(" ")
    if not content or content[0] == "#":
        return ()
    entries: list[tuple[int, str | None, Any]] = []
    column = len(line) - len(content)
    key, text = _entry(content)
    while content.startswith("- "):
        item = content[2:].lstrip(" ")
        key, text = _entry(item)
        if key is None and not item.startswith("- "):
            break
        entries.append((column, None, _BELOW))
        column, content = column + len(content) - len(item), item
    if key is None and not content.startswith("- "):
        raise NotPlainError
    if key is not None and (not text or text[0] == "#"):
        value: Any = _BELOW
    else:
        value = _Unread(text) if text[:1] in _OPENING else _value(text)
    return (*entries, (column, key, value))


_parse_line_cached = lru_cache(maxsize=4096)(_parse_line)  # Consecutive documents have many lines in common.


class _Unread(str):
    """The start of a block scalar or flow collection. Not parsed yet, because cached values must not be mutable."""

    __slots__ = ()


def _entry(content: str) -> tuple[str | None, str]:
    """Split an entry into key and value text; the key is None, followed by all of `content`, if it is not an entry."""
    key, colon, text = content.partition(": ")
    if not colon:
        key = content.rstrip(" ")
        if not key.endswith(":"):
            return None, key
        key = key[:-1]
    return (name, text.strip(" ")) if (name := _key(key)) else (None, content.rstrip(" "))


def _key(text: str) -> str:
    """Return a key without its quotes, or an empty string if this reader does not handle it."""
    if not 0 < len(text) < _LONGEST_KEY:
        return ""
    if text[0] in _LETTERS:
        return text if _IN_KEYS.issuperset(text) and text not in WORDS else ""
    inner = text[1:-1]
    return inner if text[0] in _QUOTES and text[-1] == text[0] and _IN_QUOTED_KEYS.issuperset(inner) else ""


def _block(lines: list[str], at: int, column: int, indicator: str) -> tuple[str, int]:
    """Return the text of the `|` block that starts at line `at`, indented beyond `column`, and the line after it."""
    if indicator not in _BLOCKS:
        raise NotPlainError
    indent, body = 0, []
    for line in lines[at:-1]:
        content = line.lstrip(" ")
        spaces = len(line) - len(content)
        if content:
            indent = indent or spaces
            if spaces < indent or indent <= column:
                break
            body.append(line[indent:])
        elif spaces:
            raise NotPlainError  # Whether these spaces are part of the text depends on the indentation of the block.
        else:
            body.append("")
    text = "\n".join((*body, "")).rstrip("\n")
    if not text:
        raise NotPlainError
    ends = {"|": "\n", "|-": ""}
    return text + ends.get(indicator, "\n" * (len(body) - text.count("\n"))), at + len(body)


def _value(text: str) -> Any:
    """Parse a plain or quoted value, which takes up the whole line."""
    first = text[:1]
    if first in ("'", '"'):
        return _parse_quoted(text)
    if " #" in text:
        text = text.partition(" #")[0].rstrip(" ")
    if (
        (first not in _PLAIN_START and first.isascii())
        or ": " in text
        or text[-1] == ":"
        or text == "-"
        or text.startswith("- ")
    ):
        raise NotPlainError
    if text in WORDS:
        return WORDS[text]
    return number(text) if first in NUMBER_START else text


def _parse_quoted(text: str) -> str:
    """Parse a quoted string without escapes."""
    inner, closing, trailing = text[1:].partition(text[0])
    if not closing or (text[0] == '"' and "\\" in inner) or not _is_comment_or_empty(trailing):
        raise NotPlainError
    return inner


def _is_comment_or_empty(text: str) -> bool:
    """Return whether nothing follows but a comment."""
    return not text or (text[0] == " " and text.lstrip(" ")[0] == "#")


def _in_brackets(text: str) -> Any:
    if text.count("[") + text.count("{") > _MOST_BRACKETS:
        raise NotPlainError
    value, at = _collection(text, 0)
    if not _is_comment_or_empty(text[at:]):
        raise NotPlainError
    return value


def _collection(
    text: str, at: int, positions: list[tuple[Path, int]] | None = None, path: Path = ()
) -> tuple[Any, int]:
    """Parse the flow collection that starts at `at`; return it and the index after it.

    `positions` gets the path and index of each item.
    """
    items: list[Any] = []
    mapping: dict[str, Any] = {}
    closing = "]" if text[at] == "[" else "}"
    at = _after_spaces(text, at + 1)
    while text[at : at + 1] != closing:
        key, start = "", at
        if closing == "}":
            end = text.find(": ", at, at + _LONGEST_KEY)
            key = _key(text[at:end]) if end > 0 else ""
            at = _after_spaces(text, end + 2)
            if not key or key in mapping:
                raise NotPlainError
        inner: Path = path if positions is None else (*path, key or len(items))
        if positions is not None:
            positions.append((inner, start))
        value, at = _item(text, at, positions, inner)
        if key:
            mapping[key] = value
        else:
            items.append(value)
        at = _after_spaces(text, at)
        if text[at : at + 1] == ",":
            at = _after_spaces(text, at + 1)
        elif text[at : at + 1] != closing:
            raise NotPlainError
    return items if closing == "]" else mapping, at + 1


def _item(text: str, at: int, positions: list[tuple[Path, int]] | None, path: Path) -> tuple[Any, int]:
    """Parse the value at `at` in a flow collection; return it and the index after it."""
    first = text[at : at + 1]
    if first in ("[", "{"):
        return _collection(text, at, positions, path)
    if first in ("'", '"'):
        end = text.find(first, at + 1) + 1
        if not end:
            raise NotPlainError
        return _parse_quoted(text[at:end]), end
    end = at
    while text[end : end + 1] in _IN_BRACKETS or (
        text[end : end + 1] in _BETWEEN[end == at] and text[end + 1 : end + 2] in _IN_BRACKETS
    ):
        end += 1
    if end == at:
        raise NotPlainError
    return _value(text[at:end]), end


def _after_spaces(text: str, at: int) -> int:
    while text[at : at + 1] == " ":
        at += 1
    return at


def _height(value: Any) -> int:
    """Return how deeply lists and mappings are nested."""
    if value.__class__ is dict:
        value = list(value.values())
    return 1 + max(map(_height, value), default=0) if value.__class__ is list else 0
