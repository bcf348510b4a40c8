"""Scalars as YAML text that YAML 1.1, YAML 1.2 and kubectl all read as the same value.

A string is written without quotes only if its form is known to be safe. The tables here replace Python's Unicode data,
so that all versions of Python write the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainc.startup.patterns import pattern

if TYPE_CHECKING:
    import re

# What every YAML version prints, without what a reader of a diff could not see: spaces other than the plain one, line
# and paragraph separators, joiners, direction marks, private and unassigned code points.
_VISIBLE = (
    "\u00a1-\u00ac\u00ae-\u061b\u061d-\u167f\u1681-\u180d\u1810-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufdff\ufe10-\ufefe\uff01-\uffef"
    "\U00010000-\U0001fffd\U00020000-\U0002fffd\U00030000-\U0003fffd"
)
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity"))


# Compiled on the first text that is not ASCII, because compiling it takes longer than writing a job.
_INVISIBLE = pattern(f"[^ -~{_VISIBLE}]")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_STARTS = _LETTERS | frozenset("_/$(")
# Suffixes of quantities. No YAML dialect has numbers that end with one.
_SUFFIXES = frozenset(("m", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))


def inline(text: str) -> str:
    """Return a string on one line, without quotes if that is safe, else in double quotes.

    Raises ValueError for half a surrogate pair.
    """
    if text and _is_visible(text) and _is_bare(text):
        return text
    escaped = text.translate(_SHORT_ESCAPES)
    if not (escaped.isascii() and escaped.isprintable()):
        escaped = _INVISIBLE.sub(_escape, escaped)
    return f'"{escaped}"'


def _is_visible(text: str) -> bool:
    return text.isprintable() if text.isascii() else _INVISIBLE.search(text) is None


def _is_bare(text: str) -> bool:
    """Return whether visible text without quotes is a string in all dialects: ordinary words, or a quantity."""
    first = text[0]
    if first in "0123456789":
        return _is_quantity(text)
    if first == "-":
        starts = text[1:].removeprefix("-")[:1] in _LETTERS
    else:
        starts = first in _STARTS or text.startswith(("./", "../")) or not first.isascii()
    ends = text[-1] not in ": " and " :" not in text and ": " not in text and " #" not in text
    return starts and ends and text.lower() not in _WORDS


def _is_quantity(text: str) -> bool:
    number = text.rstrip("mkKMGTPEi")
    if text[len(number) :] not in _SUFFIXES:
        return False
    whole, point, fraction = number.partition(".")
    return number.isascii() and whole.isdecimal() and (fraction.isdecimal() or not point)


def literal(text: str, indent: str) -> str | None:
    """Return a string of several lines as a `|` block, indented by `indent`; None if a block cannot represent it."""
    if not _is_visible(text.replace("\n", "").replace("\t", "")) or not text.strip("\n"):
        return None
    lines = text.split("\n")
    if lines[-1]:
        chomping = "-"
    else:
        chomping = "+" if lines[-2] == "" else ""
        lines.pop()
    first = next(line for line in lines if line)
    indicator = "2" if first[0] in " \t" else ""
    return "\n".join((f"|{indicator}{chomping}", *(indent + line if line else "" for line in lines)))


def atom(value: object) -> str:
    """Return a number, a boolean or null as text. Raises ValueError for values that YAML readers do not agree on."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float) and abs(value) < _INFINITE:
        mantissa, _, exponent = float.__repr__(value).partition("e")
        if not exponent:
            return mantissa
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{exponent}"  # YAML 1.1 requires the point.
    raise ValueError(f"{value!r} of type {type(value).__name__} cannot be part of a manifest")


_INFINITE = float("inf")  # `math` is a library of its own, which takes as long to load as a job to write.
# As JSON has them, which YAML has too.
_SHORT_ESCAPES = str.maketrans({
    '"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r",
})  # fmt: skip


def _escape(match: re.Match[str]) -> str:
    character = ord(match[0])
    if 0xD800 <= character <= 0xDFFF:
        raise ValueError(f"half a surrogate pair, U+{character:04X}, cannot be written")
    return f"\\u{character:04x}" if character <= 0xFFFF else f"\\U{character:08x}"
