"""Steps of Python, counted and not timed: what is linear takes twice as many for twice the input."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

SIZES = (100, 200, 400)
TOLERANCE = 1.15
# Methods of texts that start, and can end, in the middle.
_IN_THE_MIDDLE = ("find", "rfind", "index", "startswith")


class Counted(str):
    """A text that counts the characters that are cut out of it."""

    __slots__ = ()
    cut = 0

    def __getitem__(self, at: Any) -> str:
        found = super().__getitem__(at)
        Counted.cut += len(found)
        return found


def steps(work: Callable[[], Any]) -> int:
    """Lines and calls of Python, with the length of each text that a method goes through, and of what is cut out."""
    counted = 0

    def calls(frame: Any, event: str, argument: Any) -> None:
        nonlocal counted
        owner: Any = getattr(argument, "__self__", None) if event == "c_call" else None
        through = isinstance(owner, str) and argument.__name__ not in _IN_THE_MIDDLE
        counted += 1 + (len(owner) // 10 if through else 0)

    def lines(frame: Any, event: str, argument: Any) -> Any:
        nonlocal counted
        counted += 1
        return lines

    Counted.cut = 0
    gc.disable()  # Others are called at each collection, such as Hypothesis.
    sys.setprofile(calls)
    sys.settrace(lines)
    try:
        work()
    finally:
        sys.settrace(None)
        sys.setprofile(None)
        gc.enable()
    return counted + Counted.cut // 10


def assert_linear(found: list[int], besides: int = 1_000) -> None:
    """Assert that steps at n, 2n and 4n grow with n; `besides` are those that depend on nothing of it."""
    first, second, third = found
    assert third - second < 2 * TOLERANCE * (second - first) + besides, found
