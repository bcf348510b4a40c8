"""The tables of constraints.py as one release sees them."""

from __future__ import annotations

from functools import cache

from trainc.api.schema import constraints
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What one release demands of single values, by "group.Definition.field"; see constraints.py."""

    minimum: dict[str, int]
    enum: dict[str, tuple[str, ...]]
    min_length: dict[str, int]
    max_length: dict[str, int]
    min_items: dict[str, int]
    max_items: dict[str, int]
    min_properties: dict[str, int]


@cache
def limits(release: str) -> Limits:
    """The tables of constraints.py as they hold in `release`."""
    return Limits(
        constraints.MINIMUM.at(release),
        constraints.ENUM.at(release),
        constraints.MIN_LENGTH.at(release),
        constraints.MAX_LENGTH.at(release),
        constraints.MIN_ITEMS.at(release),
        constraints.MAX_ITEMS.at(release),
        constraints.MIN_PROPERTIES.at(release),
    )


def integer_bounds(key: str, release: str) -> tuple[int, int]:
    """The smallest and the largest integer that the field `key` takes."""
    bits = 63 if key in constraints.INT64 else 31
    return limits(release).minimum.get(key, -(1 << bits)), (1 << bits) - 1
