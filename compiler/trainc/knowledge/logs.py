"""Causes of failures in the logs of pods: lines that programs print, what they mean, and which settings they are about."""

from __future__ import annotations

from functools import cache
from typing import Any

from trainc.knowledge.tables import read
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

# Of a line, which is enough for what programs print, and keeps the search linear.
_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class LogCause:
    """A cause: the line of the log (from 1) and its text, what it means, and what to do.

    `settings` are options, variables and fields that may be the reason, the likeliest first; a place in a job that sets one of
    them is where to look. `source` is where the program prints it.
    """

    line: int
    text: str
    cause: str
    hint: str
    settings: tuple[str, ...]
    source: str


@cache
def _causes() -> tuple[tuple[Any, str, str, tuple[str, ...], str], ...]:
    rows = read("log")["causes"]
    return tuple(
        (pattern(row["pattern"]), row["cause"], row["hint"], tuple(row["settings"]), row["source"]) for row in rows
    )


def cause_in_log(text: str) -> LogCause | None:
    """Return the first cause in a log, which is usually the reason for what follows; None if no line has one."""
    for number, line in enumerate(text.splitlines(), start=1):
        shown = line[:_LONGEST]
        for expression, cause, hint, settings, source in _causes():
            if expression.search(shown):
                return LogCause(number, shown.strip(), cause, hint, settings, source)
    return None
