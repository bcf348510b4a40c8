"""The YAML that people and tools mostly write, read line by line: block mappings and lists of simple values.

A line is `key: value`, or `key:`, or either of them or a value alone after `- `. A value is one line of plain or simply
quoted text, a flat list in brackets, or a block after `|`. At anything else `read_lines` raises, without judging whether
it is right, and libyaml reads the document: importing it takes as long as reading a hundred documents this way.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from trainc.reading.scalars import NUMBER_START, WORDS, number

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_IN_KEYS = _LETTERS | frozenset("0123456789./-")
_PLAIN_START = _IN_KEYS | frozenset("$(+=/\\^~;")
_IN_BRACKETS = _IN_KEYS | frozenset("$()+=@%")
# A reader looks 1,024 characters ahead for the colon; no real key is nearly as long.
_LONGEST_KEY = 300
_LONGEST_KNOWN = 200
# So that their depth needs no bound of its own.
_MOST_BRACKETS = 50
# Beyond the line feed, for YAML 1.1; and what may stand before a document only.
_OTHER_LINE_ENDS = frozenset("\x85\u2028\u2029\ufeff")
_COLLECTIONS = (list, dict)
_BLOCKS = frozenset(("|", "|-", "|+"))
_OPENING = frozenset("|[{")
# The value of an entry whose value is what the next entries say.
_BELOW = object()


class NotPlainError(ValueError):
    """The document holds something that this reader does not judge."""


def read_lines(text: str, depth: int) -> dict[str, Any]:
    """The mapping that `text`, which ends with a line feed, holds. ValueError as the module says."""
    if "\t" in text or not (text.isascii() or _OTHER_LINE_ENDS.isdisjoint(text)):
        raise NotPlainError
    root: list[Any] = [None]
    # The open mappings and lists, outermost first, each with its column.
    around: list[tuple[int, Any]] = [(-1, root)]
    # The place of the last entry's value, its column, and whether the value is still to come.
    slot: Any = 0
    before, awaited = -1, True
    for column, key, value in _entries(text):
        if awaited and (column > before or (column == before and key is None and slot.__class__ is str)):
            container: Any = [] if key is None else {}
            around[-1][1][slot] = container
            around.append((column, container))
        else:
            container = _continue_container(around, column, list if key is None else dict)
        if len(around) + (_height(value) if value.__class__ in _COLLECTIONS else 0) > depth + 1:
            raise NotPlainError
        before, awaited = column, value is _BELOW
        if key is None:
            slot = len(container)
            container.append(None)
        elif key in container:
            raise NotPlainError
        else:
            slot = key
        container[slot] = None if awaited else value
    if root[0].__class__ is not dict:
        raise NotPlainError
    found: dict[str, Any] = root[0]
    return found


def _continue_container(around: list[tuple[int, Any]], column: int, kind: type) -> Any:
    """The open mapping or list that goes on with an entry at `column`; those inside it are closed."""
    while around[-1][0] > column:
        around.pop()
    if around[-1][0] == column and around[-1][1].__class__ is not kind:
        around.pop()  # A list may stand in the column of the key that it belongs to.
    at, container = around[-1]
    if at != column or container.__class__ is not kind:
        raise NotPlainError
    return container


def _entries(text: str) -> Iterator[tuple[int, str | None, Any]]:
    """Each entry of a mapping with its key, and each item of a list, with the column at which it begins."""
    lines = text.split("\n")
    at, end = 0, len(lines) - 1  # Behind the last line feed there is no line.
    while at < end:
        line = lines[at]
        at += 1
        for column, key, value in _known(line) if len(line) < _LONGEST_KNOWN else _read(line):
            if value.__class__ is not _Unread:
                yield column, key, value
            elif value[0] == "|":
                block, at = _block(lines, at, column, value)
                yield column, key, block
            else:
                yield column, key, _in_brackets(value)


def _read(line: str) -> tuple[tuple[int, str | None, Any], ...]:
    """The entries that begin on a line, as `_entries` has them; a value that takes more than its line is `_Unread`."""
    content = line.lstrip(" ")
    if not content or content[0] == "#":
        return ()
    found: list[tuple[int, str | None, Any]] = []
    column = len(line) - len(content)
    key, text = _entry(content)
    while content.startswith("- "):
        item = content[2:].lstrip(" ")
        key, text = _entry(item)
        if key is None and not item.startswith("- "):
            break
        found.append((column, None, _BELOW))
        column, content = column + len(content) - len(item), item
    if key is None and not content.startswith("- "):
        raise NotPlainError
    if key is not None and (not text or text[0] == "#"):
        value: Any = _BELOW
    else:
        value = _Unread(text) if text[:1] in _OPENING else _value(text)
    return (*found, (column, key, value))


_known = lru_cache(maxsize=4096)(_read)  # Most lines of a document stand in the next one too.


class _Unread(str):
    """What begins a block or a collection in brackets, which is made anew each time that it is read."""

    __slots__ = ()


def _entry(content: str) -> tuple[str | None, str]:
    """The key of a mapping's entry and the text behind it; None and all of `content` if it is something else."""
    key, colon, text = content.partition(": ")
    if not colon:
        key = content.rstrip(" ")
        if not key.endswith(":"):
            return None, key
        key = key[:-1]
    return (key, text.strip(" ")) if _is_key(key) else (None, content.rstrip(" "))


def _is_key(text: str) -> bool:
    return 0 < len(text) < _LONGEST_KEY and text[0] in _LETTERS and _IN_KEYS.issuperset(text) and text not in WORDS


def _block(lines: list[str], at: int, column: int, indicator: str) -> tuple[str, int]:
    """The text of a `|` block whose lines begin at `at`, deeper than `column`, and the line after it."""
    if indicator not in _BLOCKS:
        raise NotPlainError
    indent, taken = 0, []
    for line in lines[at:-1]:
        content = line.lstrip(" ")
        spaces = len(line) - len(content)
        if content:
            indent = indent or spaces
            if spaces < indent or indent <= column:
                break
            taken.append(line[indent:])
        elif spaces:
            raise NotPlainError  # It counts, or not, by what the lines around it begin with.
        else:
            taken.append("")
    text = "\n".join((*taken, "")).rstrip("\n")
    if not text:
        raise NotPlainError
    ends = {"|": "\n", "|-": ""}
    return text + ends.get(indicator, "\n" * (len(taken) - text.count("\n"))), at + len(taken)


def _value(text: str) -> Any:
    """The plain or quoted value that stands on one line, without spaces around it."""
    first = text[:1]
    if first in ("'", '"'):
        return _quoted(text)
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


def _quoted(text: str) -> str:
    """Text in quotes, on one line and without an escape."""
    inner, closing, rest = text[1:].partition(text[0])
    if not closing or (text[0] == '"' and "\\" in inner) or not _is_nothing(rest):
        raise NotPlainError
    return inner


def _is_nothing(rest: str) -> bool:
    """Whether a line has only a comment left."""
    return not rest or (rest[0] == " " and rest.lstrip(" ")[0] == "#")


def _in_brackets(text: str) -> Any:
    if text.count("[") + text.count("{") > _MOST_BRACKETS:
        raise NotPlainError
    value, at = _collection(text, 0)
    if not _is_nothing(text[at:]):
        raise NotPlainError
    return value


def _collection(text: str, at: int) -> tuple[Any, int]:
    """The list or mapping whose bracket is at `at`, and the place behind it."""
    items: list[Any] = []
    mapping: dict[str, Any] = {}
    closing = "]" if text[at] == "[" else "}"
    at = _after_spaces(text, at + 1)
    while text[at : at + 1] != closing:
        key = ""
        if closing == "}":
            end = text.find(": ", at, at + _LONGEST_KEY)
            key = text[at:end] if end > 0 else ""
            at = _after_spaces(text, end + 2)
            if not _is_key(key) or key in mapping:
                raise NotPlainError
        value, at = _item(text, at)
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


def _item(text: str, at: int) -> tuple[Any, int]:
    """The value at `at` in brackets, and the place behind it."""
    first = text[at : at + 1]
    if first in ("[", "{"):
        return _collection(text, at)
    if first in ("'", '"'):
        end = text.find(first, at + 1) + 1
        if not end:
            raise NotPlainError
        return _quoted(text[at:end]), end
    end = at
    while text[end : end + 1] in _IN_BRACKETS or (
        text[end : end + 1] == ":" and text[end + 1 : end + 2] in _IN_BRACKETS
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
    """How many lists and mappings are inside each other."""
    if value.__class__ is dict:
        value = list(value.values())
    return 1 + max(map(_height, value), default=0) if value.__class__ is list else 0
