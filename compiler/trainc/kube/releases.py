"""The supported releases, and the three kinds of tables for facts that depend on the release.

Facts that differ between releases belong in one of these tables, so that supporting a new release means adding it to
`RELEASES` together with its changes; everything else is inherited from the release before. A test rejects other kinds
of tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trainc.startup.typing import Any, Generic, TypeVar

T = TypeVar("T")

# Trainer minors and the JobSet minors that they use (`Release.jobset`), oldest first.
RELEASES = ("2.0", "2.1", "2.2", "2.3", "2.4")
JOBSETS = ("0.8", "0.10", "0.11", "0.12")
# Releases whose code has not been read: PORT.yaml says what each of their behaviors was taken from. Never the default.
PREVIEWS = ("2.4",)
NEWEST_RELEASE = [release for release in RELEASES if release not in PREVIEWS][-1]
# Kubernetes minors, and the default one, whose API server defines the rules for pods and Jobs.
KUBERNETES = ("1.32", "1.33", "1.34", "1.35", "1.36", "1.37")
DEFAULT_KUBERNETES = "1.36"


class Columns:
    """Facts that every release has: one row per fact, with one column per release of `axis`.

    The last value of a short row applies to all later releases. `at` raises KeyError for unknown releases.
    """

    def __init__(self, axis: Sequence[str], rows: Mapping[str, Sequence[Any]]) -> None:
        self.axis = axis
        self._rows = rows

    def at(self, release: str) -> dict[str, Any]:
        """Return the facts of one release, by name."""
        if release not in self.axis:
            raise KeyError(release)
        column = self.axis.index(release)
        return {name: row[min(column, len(row) - 1)] for name, row in self._rows.items()}


class Since(Generic[T]):
    """Entries by the release that introduced them; later releases override earlier ones key by key."""

    def __init__(self, rows: Mapping[str, Mapping[str, T]]) -> None:
        self.rows = rows

    def at(self, release: str) -> dict[str, T]:
        """Return the entries that apply to a release."""
        return {key: value for row in self.until(release) for key, value in row.items()}

    def until(self, release: str) -> Iterator[Mapping[str, T]]:
        """Yield the entries of each release up to and including `release`, oldest first."""
        newest = RELEASES.index(release)
        return (row for since, row in self.rows.items() if RELEASES.index(since) <= newest)


class Span:
    """The releases of `axis` from `first` to `last` (inclusive), or all later ones if there is no `last`."""

    def __init__(self, first: str, last: str | None = None, axis: Sequence[str] = RELEASES) -> None:
        self.first = first
        self._last = last
        self._axis = axis

    @property
    def last(self) -> str:
        """The last release of the span, or the newest supported one if the span is open."""
        return self._last or self._axis[-1]

    def __contains__(self, release: str) -> bool:
        index = self._axis.index
        return index(self.first) <= index(release) <= index(self.last)


def normalize_release(text: str) -> str:
    """Return the Trainer minor ("2.3") for "2.3", "v2.3" or "2.3.1". Raises ValueError if it is not supported."""
    return _normalize(text, RELEASES, "Trainer release")


def normalize_kubernetes(text: str) -> str:
    """Return the Kubernetes minor ("1.37") for "1.37" or "v1.37.1". Raises ValueError if it is not supported."""
    return _normalize(text, KUBERNETES, "Kubernetes minor")


def _normalize(text: str, choices: Sequence[str], noun: str) -> str:
    major, _, rest = text.removeprefix("v").partition(".")
    minor, dot, patch = rest.partition(".")
    release = f"{major}.{minor}"
    if release not in choices or patch.isdecimal() != bool(dot):
        raise ValueError(f"unknown {noun} {text!r}; choose one of {', '.join(choices)}")
    return release
