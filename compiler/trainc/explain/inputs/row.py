"""A row of a plugin's table: which leaves, what was read for them, and which deviation shows in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trainc.explain.query import matches, parse
from trainc.explain.readings import Reading
from trainc.explain.situation import Ref, Situation
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """`pattern` is a field expression as `trainc explain` takes it, and covers what lies below it.

    `verbatim` says that the value is the TrainJob's own, carried over as it is.
    """

    pattern: str
    reads: tuple[Reading, ...]
    deviation: Callable[[Situation], str] = lambda _: ""
    verbatim: bool = False

    def covers(self, s: Situation) -> bool:
        """Whether the row speaks for the leaf of a situation."""
        return matches(parse(self.pattern), s.path)

    def refs(self, s: Situation) -> Iterable[Ref]:
        """What was read."""
        return (ref for reading in self.reads for ref in reading(s))


def when(condition: Callable[[Situation], bool], deviation: str) -> Callable[[Situation], str]:
    """A deviation that shows under a condition; under `controller` semantics none does."""
    return lambda s: deviation if s.info.gitops and condition(s) else ""
