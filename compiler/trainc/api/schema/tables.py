"""The tables of one release grouped by definition, as both halves of the check read them."""

from __future__ import annotations

from functools import cache

from trainc.api.schema.cel import ML_POLICY, RULES, Rule, one_framework
from trainc.api.schema.defaults import DEFAULTS, Default
from trainc.api.schema.shapes import Struct, definition


@cache
def rules_of(release: str) -> dict[str, tuple[Rule, ...]]:
    """The rules of `release` by definition. Every struct in an MLPolicy is a framework's, and they exclude each other."""
    rules = RULES.at(release)
    fields = definition(release, ML_POLICY).fields
    frameworks = frozenset(field for field, shape in fields.items() if isinstance(shape, Struct))
    return {**rules, ML_POLICY: (one_framework(frameworks), *rules.get(ML_POLICY, ()))}


@cache
def defaults_of(release: str) -> dict[str, dict[str, Default]]:
    """The defaults of `release` by definition and field."""
    grouped: dict[str, dict[str, Default]] = {}
    for key, value in DEFAULTS.at(release).items():
        name, _, field = key.rpartition(".")
        grouped.setdefault(name, {})[field] = value
    return grouped
