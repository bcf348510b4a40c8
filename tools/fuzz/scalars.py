"""An independent reading of plain scalars: the results of Go's yaml.v2 and encoding/json, from their documentation."""

from __future__ import annotations

import math
import re

_TRUE = {"y", "yes", "true", "on"}
_FALSE = {"n", "no", "false", "off"}
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


def plain_value(text: str) -> str | int | float | bool | None:
    """The value of an unquoted scalar. Raises ValueError for infinities and NaN."""
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text in (text.lower(), text.upper(), text.capitalize()):
        word = text.lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
    if text.lower().lstrip("+-") in (".inf", ".nan"):
        raise ValueError(text)
    if text[0] not in "+-.0123456789":
        return text
    whole = _integer(text.replace("_", ""))
    if whole is not None:
        return whole if -(2**63) <= whole < 2**63 else float(whole)
    return _decimal(text)


def _integer(text: str) -> int | None:
    """Parse like strconv.ParseInt and ParseUint with base 0; the prefix 0b may be preceded by a sign."""
    sign, digits = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    if re.fullmatch(r"0[0-7]+", digits):
        value = int(digits, 8)
    elif re.fullmatch(r"0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|0|[1-9][0-9]*", digits):
        value = int(digits, 0)
    elif match := re.fullmatch(r"0b([-+])([01]+)", text):
        sign, value = match[1], int(match[2], 2)
        return _within(-value if sign == "-" else value, 2**63)
    else:
        return None
    return _within(-value if sign == "-" else value, 2**63 if sign else 2**64)


def _within(value: int, end: int) -> int | None:
    return value if -(2**63) <= value < end else None


def _decimal(text: str) -> str | int | float:
    bare = text if text.startswith(".") else text.replace("_", "")
    if text.startswith(".") and "_" in text:
        bare = text.replace("_", "") if re.fullmatch(r"\.[0-9]+(_[0-9]+)*([eE][-+]?[0-9]+(_[0-9]+)*)?", text) else text
    if not _FLOAT.fullmatch(bare):
        return text
    value = float(bare)
    if math.isinf(value):
        return text
    if not value.is_integer() or abs(value) >= 2**63:
        return value
    return int(_shortest(value))


def _shortest(value: float) -> str:
    """The shortest digits that identify `value`, padded with zeros, as Go formats it in JSON."""
    digits, _, exponent = repr(value).partition("e")
    mantissa, _, fraction = digits.partition(".")
    return mantissa + fraction.rstrip("0").ljust(int(exponent or 0), "0")
