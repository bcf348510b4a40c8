"""Quantities: every text is an exact amount or a ValueError, compared with an independent model using fractions."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from math import ceil

from trainc.kube.quantity import canonical, parse_quantity

_LARGEST = 2**63 - 1
_DECIMAL = {
    suffix: Fraction(1000) ** power
    for power, suffix in enumerate(["n", "u", "m", "", "k", "M", "G", "T", "P", "E"], -3)
}
_BINARY = {f"{letter}i": Fraction(1024) ** power for power, letter in enumerate("KMGTPE", 1)}
_SUFFIXES = _DECIMAL | _BINARY


def check(data: bytes) -> None:
    """Raise AssertionError if the two disagree about one of the texts, which are separated by newlines."""
    amounts = [_check_one(text) for text in data.decode("utf-8", "surrogateescape").split("\n")[:20]]
    known = [amount for amount in amounts if amount is not None]
    for left, right in pairwise(known):
        total = parse_quantity(left) + parse_quantity(right)
        assert Fraction(total.nanos, 10**9) == _rounded(left) + _rounded(right)


def _check_one(text: str) -> str | None:
    """`text` if it is a quantity."""
    expected = model(text) if len(text) <= 64 else None
    try:
        found = parse_quantity(text)
    except ValueError:
        assert len(text) > 64 or expected is None or abs(_up(expected)) > _LARGEST, f"{text!r} is refused"
        return None
    assert expected is not None, f"{text!r} is taken for {found}"
    assert Fraction(found.nanos, 10**9) == _up(expected)
    assert found.units == (ceil(_up(expected)) if expected > 0 else -ceil(-_up(expected)))
    printed = canonical(text)
    # Go prints again what its parser takes for canonical, whatever else would be shorter.
    assert printed in (text, str(found))
    assert canonical(printed) == printed
    _check_form(str(found), found.family)
    assert _rounded(printed) == _up(expected)
    return text


def model(text: str) -> Fraction | None:
    """The amount that `text` represents; None if it is not a quantity."""
    match = re.match(r"([+-]?)([0-9]*)(\.([0-9]*))?", text, re.ASCII)
    assert match is not None
    sign, whole, _, fraction = match.groups()
    if not whole and not fraction:
        return None
    amount = Fraction(int((whole or "") + (fraction or "")), 10 ** len(fraction or ""))
    rest = text[match.end() :]
    if rest in _SUFFIXES:
        amount *= _SUFFIXES[rest]
    elif re.fullmatch(r"[eE][+-]?[0-9]+", rest, re.ASCII):
        # Differences beyond 10^±100 are irrelevant.
        amount *= Fraction(10) ** max(-100, min(int(rest[1:]), 100))
    else:
        return None
    return -amount if sign == "-" else amount


def _up(amount: Fraction) -> Fraction:
    """`amount` in whole billionths, rounded away from zero."""
    nanos = Fraction(ceil(abs(amount) * 10**9), 10**9)
    return nanos if amount >= 0 else -nanos


def _rounded(text: str) -> Fraction:
    amount = model(text)
    assert amount is not None
    return _up(amount)


def _check_form(text: str, family: str) -> None:
    """No fraction, and the largest suffix that needs none."""
    match = re.fullmatch(r"-?(0|[1-9][0-9]*)([a-zA-Z]*)(e-?[0-9]+)?", text)
    assert match is not None, text
    digits, suffix, exponent = int(match[1]), match[2], match[3]
    assert suffix in _SUFFIXES
    assert exponent is None or (family == "exponent" and not int(exponent[1:]) % 3)
    if suffix in _BINARY:
        assert family == "binary"
        assert digits % 1024 or suffix == "Ei"
    elif family != "binary" and digits:
        assert digits % 1000 or suffix == "E" or exponent == "e18"
