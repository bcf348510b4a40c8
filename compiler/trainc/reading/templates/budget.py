"""What one template may spend: steps, bytes of text and collections, and, as a net below both, processor time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from time import thread_time
from typing import Any

from trainc.options import Limits
from trainc.reading.templates.failure import TooMuchError

# Characters that are handled in about the time of one step.
CHARACTERS = 1_000
# About what a value takes that is new in each place of a collection, such as a number of a range.
_ITEM_BYTES = 32


class Budget:
    """The steps, bytes and seconds that `limits` leaves to one run of one template; TooMuchError once they are spent.

    A step is a round of a loop, a call, a value that is looked at, or a thousand characters that are. Bytes are those
    of everything made on the way, kept or not. `now` tells processor time in seconds: no input that was found takes
    all of it within its steps and bytes, and one that does ends there.
    """

    def __init__(self, limits: Limits, now: Callable[[], float] = thread_time) -> None:
        self._steps, self._bytes = limits.template_steps, limits.template_bytes
        self._text = limits.document_bytes
        self._now, self._end = now, now() + limits.template_seconds

    @property
    def steps(self) -> int:
        """Those that are left."""
        return self._steps

    def spend(self, steps: int = 1) -> None:
        """Take steps."""
        self._steps -= steps
        if self._steps < 0:
            raise TooMuchError("it takes too many steps (loop iterations, calls, and values in them)")
        if self._now() > self._end:
            raise TooMuchError("it takes too long")

    def allow(self, characters: int) -> None:
        """Refuse a text of that many characters, before it is made."""
        if characters > self._text:
            raise TooMuchError("its output is too long")

    def made(self, value: Any) -> Any:
        """The value, which is new, paid for: each value in a collection is a step, and one that is there twice is two."""
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
        """Pay for going through a value: a step for each value in it, and for each thousand characters."""
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
        """The items, each of them `steps` steps."""
        for item in items:
            self.spend(steps)
            yield item
