"""The tables of one release grouped by definition, as both halves of the check read them."""

from __future__ import annotations

from functools import cache

from trainc.api.schema.cel import RULES, Rule
from trainc.api.schema.defaults import DEFAULTS, Default


@cache
def rules_of(release: str) -> dict[str, tuple[Rule, ...]]:
    """The rules of `release` by definition."""
    return RULES.at(release)


@cache
def defaults_of(release: str) -> dict[str, dict[str, Default]]:
    """The defaults of `release` by definition and field."""
    grouped: dict[str, dict[str, Default]] = {}
    for key, value in DEFAULTS.at(release).items():
        name, _, field = key.rpartition(".")
        grouped.setdefault(name, {})[field] = value
    return grouped
