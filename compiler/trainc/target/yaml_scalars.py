"""Scalars to YAML text that YAML 1.1, YAML 1.2 and kubectl all read as the same value.

A string is written bare only where its form is known to be harmless; all else is quoted. The tables are our own, not
Python's Unicode data, so that every version of Python writes the same bytes.
"""

from __future__ import annotations

import math
import re
from functools import cache

from trainc.patterns import pattern
from trainc.records import dataclass

# What every YAML version prints, less what a reader of a diff could not see: spaces other than the plain one, line
# and paragraph separators, joiners, direction marks, private and unassigned code points.
_VISIBLE = (
    "\u00a1-\u00ac\u00ae-\u061b\u061d-\u167f\u1681-\u180d\u1810-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufdff\ufe10-\ufefe\uff01-\uffef"
    "\U00010000-\U0001fffd\U00020000-\U0002fffd\U00030000-\U0003fffd"
)
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity"))


@dataclass(frozen=True, slots=True)
class _Forms:
    """What a string may look like to be written bare or as a block, and what must be escaped."""

    bare: re.Pattern[str]
    block: re.Pattern[str]
    invisible: re.Pattern[str]


def _forms(visible: str) -> _Forms:
    """The forms of strings of printable ASCII and of the `visible` characters beyond it."""
    inside = f"[!-9;-~{visible}]"  # All that is visible but the colon.
    return _Forms(
        bare=pattern(
            f"(?:[A-Za-z_/$({visible}]|--?[A-Za-z]|\\.\\.?/){inside}*(?:(?::+| +(?!#)){inside}+)*"
            "|[0-9]+(?:\\.[0-9]+)?(?:m|[KMGTPE]i|[kMGTP])"  # Quantities; no dialect has numbers of this form.
        ),
        block=pattern(f"[\t\n -~{visible}]*"),
        invisible=pattern(f"[^ -~{visible}]"),
    )


_ASCII = _forms("")


@cache
def _unicode() -> _Forms:
    """Compiled when the first string asks for it: the classes take longer to compile than a job to write."""
    return _forms(_VISIBLE)


def inline(text: str) -> str:
    """A string on one line: bare where that is safe, in double quotes elsewhere. ValueError for half a surrogate pair."""
    forms = _ASCII if text.isascii() else _unicode()
    if forms.bare.fullmatch(text) and text.lower() not in _WORDS:
        return text
    escaped = text.translate(_SHORT_ESCAPES)
    if not (escaped.isascii() and escaped.isprintable()):
        escaped = forms.invisible.sub(_escape, escaped)
    return f'"{escaped}"'


def literal(text: str, indent: str) -> str | None:
    """A string of several lines as a block after `|`, its lines behind `indent`; None where a block cannot hold it."""
    forms = _ASCII if text.isascii() else _unicode()
    if not forms.block.fullmatch(text) or not text.strip("\n"):
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
    """A number, a boolean or null. ValueError for what YAML's readers do not agree on."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float) and math.isfinite(value):
        mantissa, _, exponent = float.__repr__(value).partition("e")
        if not exponent:
            return mantissa
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{exponent}"  # YAML 1.1 wants the point.
    raise ValueError(f"{value!r} of type {type(value).__name__} has no place in a manifest")


# As JSON has them, which YAML has too.
_SHORT_ESCAPES = str.maketrans({
    '"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r",
})  # fmt: skip


def _escape(match: re.Match[str]) -> str:
    character = ord(match[0])
    if 0xD800 <= character <= 0xDFFF:
        raise ValueError(f"half a surrogate pair, U+{character:04X}, cannot be written")
    return f"\\u{character:04x}" if character <= 0xFFFF else f"\\U{character:08x}"
