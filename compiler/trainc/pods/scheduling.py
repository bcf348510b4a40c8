"""Constraints on scheduling: tolerations, topology spread, gates.

Source: kubernetes pkg/apis/core/validation/validation.go, ValidateTolerations, validateTopologySpreadConstraints.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.findings import Finding, Path
from trainc.kube.documents import items, mapping
from trainc.kube.names import LABEL_LIMIT, is_label_value, length
from trainc.pods import mistakes
from trainc.pods.checks import label_key, list_of, number, one_of, qualified_name, struct, unless_empty
from trainc.pods.selectors import check_label_keys, label_selector

_NODE_POLICY = one_of("Honor", "Ignore")


def _toleration(value: Any, path: Path) -> Iterator[Finding]:
    operator, place = value.get("operator") or "Equal", (*path, "operator")
    wanted = value.get("value") or ""
    if not value.get("key") and operator != "Exists":
        message, hint = "a toleration without a key needs operator Exists", "add the taint's key, or operator: Exists"
        yield mistakes.bad_selector(place, message, hint)
    if value.get("tolerationSeconds") is not None and value.get("effect") != "NoExecute":
        message = "tolerationSeconds needs effect NoExecute"
        yield mistakes.bad_selector((*path, "effect"), message, "set effect: NoExecute, or remove tolerationSeconds")
    if operator == "Exists":
        if wanted:
            message, hint = "operator Exists cannot have a value", "remove value, or use operator: Equal"
            yield mistakes.bad_selector(place, message, hint)
    elif operator != "Equal":
        # Lt and Gt need the feature gate TaintTolerationComparisonOperators, which is off in 1.36.
        yield mistakes.unsupported(place, operator, ("Equal", "Exists"))
    elif isinstance(wanted, str) and (length(wanted) > LABEL_LIMIT or not is_label_value(wanted)):
        message, hint = (
            f"{wanted!r} is not a valid value for a taint",
            "copy the taint's value from `kubectl describe node`",
        )
        yield Finding("InvalidSelector", "error", message, hint=hint, path=place, source_path=(*path, "value"))


tolerations = list_of(
    struct(
        {
            "key": unless_empty(label_key),
            "effect": one_of("", "NoSchedule", "PreferNoSchedule", "NoExecute"),
        },
        also=_toleration,
    )
)


def _constraint(value: Any, path: Path) -> Iterator[Finding]:
    if value.get("minDomains") is not None and value.get("whenUnsatisfiable") != "DoNotSchedule":
        hint = "set whenUnsatisfiable: DoNotSchedule, or remove minDomains"
        yield mistakes.conflict((*path, "minDomains"), "minDomains needs whenUnsatisfiable: DoNotSchedule", hint)
    yield from check_label_keys(value, path)


_CONSTRAINT = struct(
    {
        "maxSkew": number(1),
        "minDomains": number(1),
        "whenUnsatisfiable": one_of("DoNotSchedule", "ScheduleAnyway"),
        "nodeAffinityPolicy": _NODE_POLICY,
        "nodeTaintsPolicy": _NODE_POLICY,
        "labelSelector": label_selector,
    },
    needs=("topologyKey",),
    also=_constraint,
)


def topology_spread(value: Any, path: Path) -> Iterator[Finding]:
    """Check `topologySpreadConstraints`, where topologyKey and whenUnsatisfiable together must be unique."""
    seen = set()
    for i, constraint in enumerate(map(mapping, items(value))):
        yield from _CONSTRAINT(constraint, (*path, i))
        kind = (str(constraint.get("topologyKey")), str(constraint.get("whenUnsatisfiable")))
        if kind in seen:
            yield mistakes.duplicate((*path, i), ", ".join(kind))
        seen.add(kind)


def scheduling_gates(value: Any, path: Path) -> Iterator[Finding]:
    """Check `schedulingGates`: unique qualified names."""
    seen = set()
    for i, gate in enumerate(map(mapping, items(value))):
        name = gate.get("name") or ""
        yield from qualified_name(name, (*path, i, "name"))
        if str(name) in seen:
            yield mistakes.duplicate((*path, i), name)
        seen.add(str(name))
