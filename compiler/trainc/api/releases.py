"""The releases that trainc compiles for, and the three kinds of table that say what holds in which of them.

A fact that differs between releases stands in one of these tables, so that a new release is an entry of `RELEASES` and
what changes in it: whatever nobody says anew holds in it as in the one before. A test finds tables of any other kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from trainc.startup.patterns import pattern

T = TypeVar("T")

# Minors of Trainer, and those of JobSet that go with them (`Release.jobset`), oldest first.
RELEASES = ("2.0", "2.1", "2.2", "2.3")
JOBSETS = ("0.8", "0.10", "0.11", "0.12")
NEWEST_RELEASE = RELEASES[-1]
# Minors of Kubernetes, and the one whose API server the rules for pods and Jobs are held to.
KUBERNETES = ("1.32", "1.33", "1.34", "1.35", "1.36", "1.37")
DEFAULT_KUBERNETES = "1.36"
_SPELLING = pattern(r"v?(\d+\.\d+)(?:\.\d+)?")


class Columns:
    """Facts that every release has: a row for each, with one column per release of `axis`.

    A row that ends early goes on as it ends. KeyError for a release that is not on the axis.
    """

    def __init__(self, axis: Sequence[str], rows: Mapping[str, Sequence[Any]]) -> None:
        self.axis = axis
        self._rows = rows

    def at(self, release: str) -> dict[str, Any]:
        """The column of one release: fact -> value."""
        if release not in self.axis:
            raise KeyError(release)
        column = self.axis.index(release)
        return {name: row[min(column, len(row) - 1)] for name, row in self._rows.items()}


class Since(Generic[T]):
    """Entries that hold from a release on; a later release replaces what an earlier one says about the same key."""

    def __init__(self, rows: Mapping[str, Mapping[str, T]]) -> None:
        self.rows = rows

    def at(self, release: str) -> dict[str, T]:
        """The entries that hold in one release."""
        return {key: value for row in self.until(release) for key, value in row.items()}

    def until(self, release: str) -> Iterator[Mapping[str, T]]:
        """What each release said that is not newer than `release`, oldest first."""
        newest = RELEASES.index(release)
        return (row for since, row in self.rows.items() if RELEASES.index(since) <= newest)


class Span:
    """The releases of `axis` from `first` to `last`, both included; without `last`, all that follow."""

    def __init__(self, first: str, last: str | None = None, axis: Sequence[str] = RELEASES) -> None:
        self.first = first
        self._last = last
        self._axis = axis

    @property
    def last(self) -> str:
        """The last of them that trainc compiles for."""
        return self._last or self._axis[-1]

    def __contains__(self, release: str) -> bool:
        place = self._axis.index
        return place(self.first) <= place(release) <= place(self.last)


def normalize_release(text: str) -> str:
    """The Trainer minor that `text` names: "2.3", "v2.3" and "2.3.1" are all "2.3". ValueError for any other."""
    return _normalized(text, RELEASES, "Trainer release")


def normalize_kubernetes(text: str) -> str:
    """The Kubernetes minor that `text` names, as `normalize_release`: "v1.37.1" is "1.37". ValueError for any other."""
    return _normalized(text, KUBERNETES, "Kubernetes minor")


def _normalized(text: str, known: Sequence[str], what: str) -> str:
    spelled = _SPELLING.fullmatch(text)
    if spelled is None or spelled[1] not in known:
        raise ValueError(f"unknown {what} {text!r}; choose one of {', '.join(known)}")
    return spelled[1]
