"""Scalars as in JSON: strings, integers and times."""

from __future__ import annotations

from typing import Any

from trainc.startup.patterns import pattern

_RFC3339 = pattern(r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d(?:\.\d+)?(?:Z|[+-][0-2]\d:[0-5]\d)")

_LONGEST_SHOWN = 80


class Refused(Exception):
    """A value does not match its schema; explanation.py finds out why."""


def as_text(value: Any) -> str:
    """Return `value` as a plain string. Raises Refused if it is not one."""
    if isinstance(value, str):
        return str(value)
    raise Refused


def as_integer(value: Any) -> int:
    """Return `value` as an integer. Raises Refused if it is not one.

    As in JSON, 2.0 is an integer and true is not.
    """
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    raise Refused


def text_or_integer(value: Any) -> str | int:
    """Return `value` as a plain string or an integer. Raises Refused if it is neither."""
    return str(value) if isinstance(value, str) else as_integer(value)


def is_time(text: str) -> bool:
    """Return whether `text` is an RFC 3339 time with a time zone."""
    return _RFC3339.fullmatch(text) is not None


def quote(text: str) -> str:
    """Quote and shorten `text` for a message."""
    return repr(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "...")
