"""Node and pod affinity.

Source: kubernetes pkg/apis/core/validation/validation.go, validateAffinity.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.findings import Finding, Path
from trainc.kube.documents import items
from trainc.pods import mistakes
from trainc.pods.checks import Check, dns_label, dns_subdomain, label_key, label_value, list_of, number, struct
from trainc.pods.selectors import check_label_keys, forbids_values, label_selector, needs_values

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_WEIGHT = number(1, 100)


def _node_requirement(value: Any, path: Path) -> Iterator[Finding]:
    operator, values = value.get("operator"), items(value.get("values"))
    if operator in ("In", "NotIn"):
        if not values:
            yield needs_values(path, operator)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield forbids_values(path, operator)
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            hint = 'write one number, in quotes: ["8"]'
            yield mistakes.bad_selector((*path, "values"), f"operator {operator} needs exactly one number", hint)
    elif isinstance(operator, str):
        yield mistakes.unsupported((*path, "operator"), operator, _OPERATORS)
    yield from label_key(value.get("key", ""), (*path, "key"))


def _required_node_requirement(value: Any, path: Path) -> Iterator[Finding]:
    yield from _node_requirement(value, path)
    yield from list_of(label_value)(value.get("values"), (*path, "values"))


def _node_field(value: Any, path: Path) -> Iterator[Finding]:
    operator, values, key = value.get("operator"), items(value.get("values")), value.get("key")
    if operator not in ("In", "NotIn"):
        yield mistakes.unsupported((*path, "operator"), operator, ("In", "NotIn"))
    elif len(values) != 1:
        hint = "write one name, and add another term for each other name"
        yield mistakes.bad_selector((*path, "values"), f"operator {operator} needs exactly one value", hint)
    if key != "metadata.name":
        message = f"nodes cannot be selected by field {key!r}"
        hint = "use metadata.name; put labels under matchExpressions"
        yield mistakes.bad_selector((*path, "key"), message, hint)
    else:
        yield from list_of(dns_subdomain)(values, (*path, "values"))


def _node_term(requirement: Check) -> Check:
    expressions = list_of(struct({}, also=requirement))
    return struct({"matchExpressions": expressions, "matchFields": list_of(struct({}, also=_node_field))})


_POD_TERM = struct(
    {
        "labelSelector": label_selector,
        "namespaceSelector": label_selector,
        "namespaces": list_of(dns_label),
        "topologyKey": label_key,
    },
    needs=("topologyKey",),
    also=check_label_keys,
)
_POD_AFFINITY = struct(
    {
        _REQUIRED: list_of(_POD_TERM),
        _PREFERRED: list_of(struct({"weight": _WEIGHT, "podAffinityTerm": _POD_TERM})),
    }
)
affinity = struct(
    {
        "nodeAffinity": struct(
            {
                _REQUIRED: struct(
                    {"nodeSelectorTerms": list_of(_node_term(_required_node_requirement))}, needs=("nodeSelectorTerms",)
                ),
                # Invalid label values are tolerated here, because they are only a preference.
                _PREFERRED: list_of(struct({"weight": _WEIGHT, "preference": _node_term(_node_requirement)})),
            }
        ),
        "podAffinity": _POD_AFFINITY,
        "podAntiAffinity": _POD_AFFINITY,
    }
)
