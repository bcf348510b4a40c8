"""How the schema tables say what holds from which release on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, TypeVar

from trainc.options import RELEASES

T = TypeVar("T")

# ("2.2", {...}) holds in 2.2 and later; a later row replaces what an earlier one says about the same key.
Rows: TypeAlias = tuple[tuple[str, Mapping[str, T]], ...]


def in_force(rows: Rows[T], release: str) -> dict[str, T]:
    """The entries of `rows` that hold in `release`."""
    newest = RELEASES.index(release)
    return {key: value for since, row in rows if RELEASES.index(since) <= newest for key, value in row.items()}
