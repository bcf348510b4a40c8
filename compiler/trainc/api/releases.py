"""The Trainer releases that trainc compiles for, and tables that say what holds from which release on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, TypeVar

T = TypeVar("T")

# ("2.2", {...}) holds in 2.2 and later; a later row replaces what an earlier one says about the same key.
Rows: TypeAlias = tuple[tuple[str, Mapping[str, T]], ...]

RELEASES = ("2.0", "2.1", "2.2", "2.3")
NEWEST_RELEASE = RELEASES[-1]


def normalize_release(text: str) -> str:
    """The Trainer minor that `text` names: "2.3", "v2.3" and "2.3.1" are all "2.3". ValueError for any other."""
    minor = ".".join(text.removeprefix("v").split(".")[:2])
    if minor not in RELEASES:
        raise ValueError(f"unknown Trainer release {text!r}; choose one of {', '.join(RELEASES)}")
    return minor


def in_force(rows: Rows[T], release: str) -> dict[str, T]:
    """The entries of `rows` that hold in `release`."""
    newest = RELEASES.index(release)
    return {key: value for since, row in rows if RELEASES.index(since) <= newest for key, value in row.items()}
