"""Derive choices from bytes, so that a fuzzer that changes a byte changes a decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Uses one byte per choice; once they run out, every choice is the first one."""

    def __init__(self, data: bytes) -> None:
        self._bytes = iter(data)

    def below(self, end: int) -> int:
        """A number from 0 to `end` - 1; `end` is at most 256."""
        return next(self._bytes, 0) % end

    def one_of(self, options: Sequence[T]) -> T:
        """One of `options`."""
        return options[self.below(len(options))]
