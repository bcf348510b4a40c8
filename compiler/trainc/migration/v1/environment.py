"""The environment of a container: the user's variables, then the operator's, each name once.

v1 appends its variables, and of two with one name the kubelet takes the last. A TrainJob may name each only once, so
that the earlier ones are left out, and what referred to their values before they were replaced gets these values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainc.migration.v1.expansion import expanded

Json = Mapping[str, Any]


def joined(user: Sequence[Json], operator: Sequence[Json]) -> list[dict[str, Any]]:
    """The variables as the kubelet would end up with them."""
    every = [*user, *operator]
    last = {variable["name"]: index for index, variable in enumerate(every)}
    replaced: dict[str, str] = {}
    kept: list[dict[str, Any]] = []
    for index, variable in enumerate(every):
        name, value = variable["name"], variable.get("value")
        filled = expanded(value, replaced) if value else value
        if last[name] == index:
            replaced.pop(name, None)
            kept.append({**variable, "value": filled} if filled != value else dict(variable))
        elif "valueFrom" not in variable:
            replaced[name] = filled or ""
    return kept


def literals(variables: Sequence[Json]) -> dict[str, str]:
    """The variables whose values are known before the pod runs."""
    known: dict[str, str] = {}
    for variable in variables:
        if "valueFrom" not in variable:
            known[variable["name"]] = expanded(variable.get("value") or "", known)
    return known
