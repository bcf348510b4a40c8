"""Where pods may run: node and pod affinity, tolerations, topology spread, and scheduling gates.

Source: kubernetes pkg/apis/core/validation/validation.go, validateAffinity, ValidateTolerations and
validateTopologySpreadConstraints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from trainc.findings import Finding, Path, write
from trainc.kube.documents import Json, items, mapping, objects
from trainc.kube.names import is_label_value
from trainc.kube.selectors import OPERATORS
from trainc.pods import errors
from trainc.pods.checks import (
    Check,
    dns_label,
    dns_subdomain,
    label_key,
    label_selector,
    list_of,
    number,
    one_of,
    qualified_name,
    requirement,
    struct,
    unless_empty,
)

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_WEIGHT = number(1, 100)
_NODE_POLICY = one_of("Honor", "Ignore")


def _check_label_keys(value: Json, path: Path) -> Iterator[Finding]:
    """Check `matchLabelKeys` and `mismatchLabelKeys`, which extend a labelSelector.

    Keys may occur at most once in labelSelector, which they are merged into when a pod is created. Source: the same
    package, validateMatchLabelKeysAndMismatchLabelKeys.
    """
    selector = value.get("labelSelector")
    for name in ("matchLabelKeys", "mismatchLabelKeys"):
        if value.get(name) and selector is None:
            yield errors.conflict((*path, name), f"{name} needs a labelSelector", "add labelSelector")
        elif value.get(name):
            yield from list_of(label_key)(value[name], (*path, name))
    selector_keys = Counter(map(str, mapping(mapping(selector).get("matchLabels"))))
    selector_keys.update(str(mapping(e).get("key")) for e in items(mapping(selector).get("matchExpressions")))
    mismatched = {*map(str, items(value.get("mismatchLabelKeys")))}
    for i, key in enumerate(items(value.get("matchLabelKeys"))):
        if str(key) in mismatched:
            yield errors.conflict((*path, "matchLabelKeys", i), f"{key} must match and must not")
        if selector_keys[str(key)] > 1:
            message = f"{key} is in matchLabelKeys and twice in labelSelector"
            yield errors.conflict((*path, "matchLabelKeys", i), message, "keep it in one of them")


def _node_field(value: Any, path: Path) -> Iterator[Finding]:
    operator, values, key = value.get("operator"), items(value.get("values")), value.get("key")
    if operator not in ("In", "NotIn"):
        yield errors.unsupported((*path, "operator"), operator, ("In", "NotIn"))
    elif len(values) != 1:
        hint = "write one name, and add another term for each other name"
        yield errors.bad_selector((*path, "values"), f"operator {operator} needs exactly one value", hint)
    if key != "metadata.name":
        message = f"nodes cannot be selected by field {key!r}"
        hint = "use metadata.name; put labels under matchExpressions"
        yield errors.bad_selector((*path, "key"), message, hint)
    else:
        yield from list_of(dns_subdomain)(values, (*path, "values"))


def _node_term(expression: Check) -> Check:
    fields = list_of(struct({}, also=_node_field))
    return struct({"matchExpressions": list_of(expression), "matchFields": fields})


_POD_TERM = struct(
    {
        "labelSelector": label_selector,
        "namespaceSelector": label_selector,
        "namespaces": list_of(dns_label),
        "topologyKey": label_key,
    },
    needs=("topologyKey",),
    also=_check_label_keys,
)
_POD_AFFINITY = struct(
    {_REQUIRED: list_of(_POD_TERM), _PREFERRED: list_of(struct({"weight": _WEIGHT, "podAffinityTerm": _POD_TERM}))}
)
_NODE_AFFINITY = struct(
    {
        _REQUIRED: struct(
            {"nodeSelectorTerms": list_of(_node_term(requirement(tuple(OPERATORS))))}, needs=("nodeSelectorTerms",)
        ),
        # Invalid label values are tolerated here, because they are only a preference.
        _PREFERRED: list_of(struct({"weight": _WEIGHT, "preference": _node_term(requirement(tuple(OPERATORS), None))})),
    }
)


def _toleration(value: Any, path: Path) -> Iterator[Finding]:
    operator, operator_path = value.get("operator") or "Equal", (*path, "operator")
    tolerated = value.get("value") or ""
    if not value.get("key") and operator != "Exists":
        message, hint = "a toleration without a key needs operator Exists", "add the taint's key, or operator: Exists"
        yield errors.bad_selector(operator_path, message, hint)
    if value.get("tolerationSeconds") is not None and value.get("effect") != "NoExecute":
        message = "tolerationSeconds needs effect NoExecute"
        yield errors.bad_selector(
            (*path, "effect"), message, write("NoExecute", ", or remove tolerationSeconds", field="effect", verb="set")
        )
    if operator == "Exists":
        if tolerated:
            message, hint = "operator Exists cannot have a value", "remove value, or use operator: Equal"
            yield errors.bad_selector(operator_path, message, hint)
    elif operator != "Equal":
        # Lt and Gt need the feature gate TaintTolerationComparisonOperators, which is off in 1.36.
        yield errors.unsupported(operator_path, operator, ("Equal", "Exists"))
    elif isinstance(tolerated, str) and not is_label_value(tolerated):
        message = f"{tolerated!r} is not a valid value for a taint"
        hint = "copy the taint's value from `kubectl describe node`"
        yield Finding("InvalidSelector", "error", message, hint, operator_path, source_path=(*path, "value"))


def _constraint(value: Any, path: Path) -> Iterator[Finding]:
    if value.get("minDomains") is not None and value.get("whenUnsatisfiable") != "DoNotSchedule":
        hint = write("DoNotSchedule", ", or remove minDomains", field="whenUnsatisfiable", verb="set")
        yield errors.conflict((*path, "minDomains"), "minDomains needs whenUnsatisfiable: DoNotSchedule", hint)
    yield from _check_label_keys(value, path)


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


def _topology_spread(value: Any, path: Path) -> Iterator[Finding]:
    """Check the constraints, where topologyKey and whenUnsatisfiable together must be unique."""
    seen = set()
    for i, constraint in enumerate(objects(value)):
        yield from _CONSTRAINT(constraint, (*path, i))
        kind = (str(constraint.get("topologyKey")), str(constraint.get("whenUnsatisfiable")))
        if kind in seen:
            yield errors.duplicate((*path, i), ", ".join(kind))
        seen.add(kind)


def _scheduling_gates(value: Any, path: Path) -> Iterator[Finding]:
    seen = set()
    for i, gate in enumerate(objects(value)):
        name = gate.get("name") or ""
        yield from qualified_name(name, (*path, i, "name"))
        if str(name) in seen:
            yield errors.duplicate((*path, i), name)
        seen.add(str(name))


_TOLERATIONS = list_of(
    struct(
        {"key": unless_empty(label_key), "effect": one_of("", "NoSchedule", "PreferNoSchedule", "NoExecute")},
        also=_toleration,
    )
)
# The fields of a pod's spec that are about scheduling.
FIELDS: Mapping[str, Check] = {
    "affinity": struct(
        {"nodeAffinity": _NODE_AFFINITY, "podAffinity": _POD_AFFINITY, "podAntiAffinity": _POD_AFFINITY}
    ),
    "schedulingGates": _scheduling_gates,
    "tolerations": _TOLERATIONS,
    "topologySpreadConstraints": _topology_spread,
}
