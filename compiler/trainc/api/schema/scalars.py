"""Leaf values as JSON has them: what counts as a string, an integer and a time."""

from __future__ import annotations

from typing import Any

from trainc.startup.patterns import pattern

_RFC3339 = pattern(r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d(?:\.\d+)?(?:Z|[+-][0-2]\d:[0-5]\d)")

_LONGEST_SHOWN = 80


class Refused(Exception):
    """A value does not fit its schema; explanation.py says why."""


def as_text(value: Any) -> str:
    """`value` as a plain string. Refused if it is none."""
    if isinstance(value, str):
        return str(value)
    raise Refused


def as_integer(value: Any) -> int:
    """`value` as an integer; 2.0 is one, as in JSON, and true is none. Refused otherwise."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    raise Refused


def text_or_integer(value: Any) -> str | int:
    """`value` as a plain string or an integer. Refused if it is neither."""
    return str(value) if isinstance(value, str) else as_integer(value)


def is_time(text: str) -> bool:
    """Whether `text` is an RFC 3339 time with a zone."""
    return _RFC3339.fullmatch(text) is not None


def quote(text: str) -> str:
    """`text` in quotes, cut where it is too long to read in a message."""
    return repr(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "...")
