"""The budget of a template: steps, bytes of strings and collections, and processor time as a fallback."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from time import thread_time
from typing import Any

from trainc.options import Limits
from trainc.reading.templates.failure import TooMuchError

# The number of characters that are processed in about the time of one step.
CHARACTERS = 1_000
# Approximate size of a new value in a collection, such as a number in a range.
_ITEM_BYTES = 32


class Budget:
    """The remaining steps, bytes and seconds of one run of a template. Raises TooMuchError once they are spent.

    A step is a loop iteration, a call, a value or a thousand characters processed. Bytes count everything that was
    created, even if it has been freed. `now` returns processor time in seconds. No known input reaches the time limit
    before the other two; it is a safety net.
    """

    def __init__(self, limits: Limits, now: Callable[[], float] = thread_time) -> None:
        self._steps, self._bytes = limits.template_steps, limits.template_bytes
        self._text = limits.document_bytes
        self._now, self._end = now, now() + limits.template_seconds

    @property
    def steps(self) -> int:
        """The remaining steps."""
        return self._steps

    def spend(self, steps: int = 1) -> None:
        """Spend steps."""
        self._steps -= steps
        if self._steps < 0:
            raise TooMuchError("it takes too many steps (loop iterations, calls, and values in them)")
        if self._now() > self._end:
            raise TooMuchError("it takes too long")

    def allow(self, characters: int) -> None:
        """Check that a string of this length is allowed, before creating it."""
        if characters > self._text:
            raise TooMuchError("its output is too long")

    def made(self, value: Any) -> Any:
        """Charge for a new value and return it: a step per value in a collection, counting duplicates."""
        if isinstance(value, str):
            self.allow(len(value))
        if isinstance(value, str | dict | list | tuple):
            items = 0 if isinstance(value, str) else len(value)
            self._bytes -= sys.getsizeof(value) + items * _ITEM_BYTES
            if self._bytes < 0:
                raise TooMuchError("its strings and lists take too many bytes")
        self.weigh(value)
        return value

    def weigh(self, value: Any) -> None:
        """Charge for processing a value: a step per value in it, and per thousand characters."""
        if isinstance(value, str):
            if len(value) >= CHARACTERS:
                self.spend(len(value) // CHARACTERS)
            return
        waiting = [value]
        while waiting:
            inner = waiting.pop()
            if isinstance(inner, dict):
                self.spend(len(inner))
                waiting += inner
                waiting += inner.values()
            elif isinstance(inner, list | tuple):
                self.spend(len(inner))
                waiting += inner
            elif isinstance(inner, range):
                self.spend(len(inner))
            elif isinstance(inner, str) and len(inner) >= CHARACTERS:
                self.spend(len(inner) // CHARACTERS)

    def counted(self, items: Iterable[Any], steps: int = 1) -> Iterator[Any]:
        """Yield the items, charging `steps` for each."""
        for item in items:
            self.spend(steps)
            yield item
