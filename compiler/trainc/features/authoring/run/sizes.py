"""How large a run is, how long it lasts and where its files are, as the words of the command say."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError
from collections.abc import Callable


def positive(text: str) -> int:
    """Read a number of pods or processes."""
    return int(_number(text, "a positive whole number", lambda value: value >= 1 and value == int(value)))


def seconds(text: str) -> float:
    """Read a time."""
    return _number(text, "a number of seconds", lambda value: value > 0)


def _number(text: str, expected: str, is_right: Callable[[float], bool]) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not (value < float("inf") and is_right(value)):
        raise ArgumentTypeError(f"{text!r} is not {expected}")
    return value


def mapping(text: str) -> tuple[str, str]:
    """Read a path in the image, and the folder that stands in for it."""
    path, separator, folder = text.partition("=")
    if not separator or not path.startswith("/") or path == "/":
        raise ArgumentTypeError(f"{text!r} does not have the form PATH=DIR with an absolute PATH")
    return path, os.path.abspath(folder or ".")
