"""Ranges of numbers: `{min, max, step}` or `{min, max, count}`, optionally with `scale: log`.

Uses decimal arithmetic, so that the values are the ones that a person would write, on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Context, Decimal, localcontext
from typing import Any

from trainc.api.documents import Json

_FIELDS = ("min", "max", "step", "count", "scale")
_SHOWN = "{min: 16, max: 64, step: 16} or {min: 1e-5, max: 1e-1, count: 5, scale: log}"
_DIGITS = Context(prec=6)
_MOST_VALUES = 100_000


class RangeError(ValueError):
    """An invalid range; `field` is the field at fault, or empty for the range as a whole."""

    def __init__(self, field: str, message: str, hint: str = f"write {_SHOWN}") -> None:
        super().__init__(message)
        self.field, self.hint = field, hint


def range_values(data: Json) -> list[int | float]:
    """Return the values of a range, including `max` if a step ends there. Raises RangeError if it is invalid.

    Integers stay integers. Other values computed from `count` are rounded to six significant digits.
    """
    for field in data:
        if field not in _FIELDS:
            raise RangeError(field, f"a range has no field {field!r}")
    if ("step" in data) is ("count" in data):
        raise RangeError("", "a range needs either `step` or `count`")
    low, high = _number(data, "min"), _number(data, "max")
    if low > high:
        raise RangeError("min", f"min is {data['min']}, which is more than max", "swap the two")
    with localcontext(Context(prec=40)):
        made = _by_step(data, low, high) if "step" in data else _by_count(data, low, high)
        values = [*made]
    whole = isinstance(data["min"], int) and isinstance(data.get("step", 1), int)
    return [int(value) if whole and value == value.to_integral_value() else float(value) for value in values]


def _number(data: Json, field: str) -> Decimal:
    value: Any = data.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RangeError(field if field in data else "", f"{field} is {'missing' if value is None else repr(value)}")
    number = Decimal(repr(value))
    if not number.is_finite():
        raise RangeError(field, f"{field} is {value}")
    return number


def _by_step(data: Json, low: Decimal, high: Decimal) -> Iterator[Decimal]:
    if "scale" in data:
        raise RangeError("scale", "scale needs `count`", "replace `step` with `count`, the number of values")
    step = _number(data, "step")
    if step <= 0:
        raise RangeError("step", f"step is {data['step']}", "write a positive number")
    if (high - low) / step > _MOST_VALUES:
        message = f"step is {data['step']}, which makes more than {_MOST_VALUES:,} values"
        raise RangeError("step", message, "write a larger step, or count: 5 for five values")
    return (low + step * index for index in range(int((high - low) // step) + 1))


def _by_count(data: Json, low: Decimal, high: Decimal) -> Iterator[Decimal]:
    count, scale = data["count"], data.get("scale", "linear")
    if isinstance(count, bool) or not isinstance(count, int) or not 1 < count <= _MOST_VALUES:
        raise RangeError("count", f"count is {count!r}", "write the number of values, 2 or more")
    if scale not in ("linear", "log"):
        raise RangeError("scale", f"scale is {scale!r}", "write scale: log, or remove it")
    if scale == "log" and low <= 0:
        raise RangeError(
            "min", f"min is {data['min']}, but a logarithmic scale starts above 0", "write a positive number"
        )
    for index in range(count):
        part = Decimal(index) / (count - 1)
        value = low * (high / low) ** part if scale == "log" else low + (high - low) * part
        yield (low, high)[index // (count - 1)] if index in (0, count - 1) else _DIGITS.plus(value)
