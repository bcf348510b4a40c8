"""Closures of the fast check for leaf values; see acceptance.py."""

from __future__ import annotations

from typing import Any

from trainc.api.quantity import canonical
from trainc.api.schema.accept_values import Accept
from trainc.api.schema.limits import integer_bounds, limits
from trainc.api.schema.scalars import Refused, as_integer, as_text, is_time, text_or_integer
from trainc.api.schema.shapes import ScalarType


def accept_scalar(kind: ScalarType, key: str, release: str, keeps_zero: bool) -> Accept:
    """The check of a leaf of type `kind` at the field `key`; without `keeps_zero` a zero value becomes None."""
    match kind:
        case "string":
            return _string(key, release, keeps_zero)
        case "integer":
            return _integer(key, release, keeps_zero)
        case "boolean":
            return _boolean(keeps_zero)
        case "quantity":
            return _quantity
        case "int-or-string":
            return _int_or_string(key, release)
        case "time":
            return _time
        case "any":
            return _anything


def _string(key: str, release: str, keeps_zero: bool) -> Accept:
    bounds = limits(release)
    allowed = bounds.enum.get(key)
    shortest, longest = bounds.min_length.get(key, 0), bounds.max_length.get(key)
    if allowed is not None or shortest or longest is not None:
        return _bounded_string(allowed, shortest, longest, keeps_zero)
    return _any_string if keeps_zero else _omitted_if_empty


def _any_string(value: Any) -> str:
    return value if type(value) is str else as_text(value)


def _omitted_if_empty(value: Any) -> str | None:
    return (value if type(value) is str else as_text(value)) or None


def _bounded_string(allowed: tuple[str, ...] | None, shortest: int, longest: int | None, keeps_zero: bool) -> Accept:
    def accept(value: Any) -> str | None:
        text = value if type(value) is str else as_text(value)
        if allowed is not None and text not in allowed:
            raise Refused
        if len(text) < shortest or (longest is not None and len(text) > longest):
            raise Refused
        return text if keeps_zero else text or None

    return accept


def _integer(key: str, release: str, keeps_zero: bool) -> Accept:
    smallest, largest = integer_bounds(key, release)

    def accept(value: Any) -> int | None:
        number = value if type(value) is int else as_integer(value)
        if not smallest <= number <= largest:
            raise Refused
        return number if keeps_zero else number or None

    return accept


def _boolean(keeps_zero: bool) -> Accept:
    def accept(value: Any) -> bool | None:
        if type(value) is not bool:
            raise Refused
        return value if keeps_zero else value or None

    return accept


def _quantity(value: Any) -> str:
    try:
        return canonical(value if type(value) is str else text_or_integer(value))
    except ValueError:
        raise Refused from None


def _int_or_string(key: str, release: str) -> Accept:
    smallest, largest = integer_bounds(key, release)

    def accept(value: Any) -> int | str:
        if isinstance(value, str):
            return str(value)
        number = as_integer(value)
        if not smallest <= number <= largest:
            raise Refused
        return number

    return accept


def _time(value: Any) -> str:
    text = as_text(value)
    if not is_time(text):
        raise Refused
    return text


def _anything(value: Any) -> Any:
    return value
