"""The environment of a container: the user's variables, then the operator's, each name once; and what refers to them.

v1 appends its variables, and of two with one name the kubelet takes the last. A TrainJob may name each only once, so
that the earlier ones are left out, and what referred to their values before they were replaced gets these values.
Source: kubernetes third_party/forked/golang/expansion/expand.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trainc.kube.documents import Json
from trainc.startup.patterns import pattern

_TOKEN = pattern(r"\$(?:\$|\((?P<name>[^)]*)\))")


def expand(text: str, values: Mapping[str, str]) -> str:
    """`text` with each reference `$(NAME)` to one of `values` replaced; escaped or unknown references are kept."""
    return str(_TOKEN.sub(lambda found: values.get(found["name"] or "", found[0]), text))


def references(texts: Iterable[str]) -> set[str]:
    """The names of the variables that `texts` refer to."""
    return {found["name"] for text in texts for found in _TOKEN.finditer(text) if found["name"]}


def joined(user: Sequence[Json], operator: Sequence[Json]) -> list[dict[str, Any]]:
    """The merged variables, as the kubelet would resolve them."""
    every = [*user, *operator]
    last = {variable["name"]: index for index, variable in enumerate(every)}
    replaced: dict[str, str] = {}
    kept: list[dict[str, Any]] = []
    for index, variable in enumerate(every):
        name, value = variable["name"], variable.get("value")
        filled = expand(value, replaced) if value else value
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
            known[variable["name"]] = expand(variable.get("value") or "", known)
    return known
