"""Resolves plain scalars like kubectl.

Follows go.yaml.in/yaml/v2 resolve.go and the conversion through JSON in sigs.k8s.io/yaml: an integral number becomes an
integer if it fits in 64 bits, and a float otherwise.
"""

from __future__ import annotations

from trainc.startup.patterns import pattern

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
    value: float | None = integer(text)
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


def through_json(value: float) -> int | float:
    """Return a number as Go reads it back from JSON: integral numbers are integers if they fit in 64 bits."""
    if isinstance(value, int):
        return value if value in _INT64 else float(value)
    if not value.is_integer() or abs(value) >= 2**63:
        return value
    # Go writes the shortest digits that identify the float and pads with zeros; `int(value)` would be exact instead.
    digits, _, exponent = repr(value).partition("e")
    whole, _, fraction = digits.partition(".")
    return int(whole + fraction.rstrip("0").ljust(int(exponent or 0), "0"))


def float_key(value: float) -> str:
    """Format a float as a mapping key, like Go's `FormatFloat(value, 'g', -1, 32)`."""
    import struct

    try:
        single = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return "-.inf" if value < 0 else ".inf"
    shortest = next(text for text in (f"{single:.{n}e}" for n in range(9)) if _single(text) == single)
    mantissa, _, exponent = shortest.partition("e")
    if -4 <= int(exponent) < 6:
        fraction = len(mantissa.partition(".")[2])
        return f"{float(shortest):.{max(fraction - int(exponent), 0)}f}"
    return shortest


def _single(text: str) -> float:
    import struct

    try:
        value: float = struct.unpack("<f", struct.pack("<f", float(text)))[0]
    except OverflowError:
        return _INFINITE
    return value
