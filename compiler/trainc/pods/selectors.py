"""Label selectors of affinity, topology spread, claims and Jobs.

Source: kubernetes/apimachinery pkg/apis/meta/v1/validation/validation.go, ValidateLabelSelector.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.findings import Finding, Path
from trainc.kube.documents import Json, items, mapping
from trainc.pods import mistakes
from trainc.pods.checks import label_key, label_value, labels, list_of, struct

_WITH_VALUES = ("In", "NotIn")
_WITHOUT_VALUES = ("Exists", "DoesNotExist")


def _requirement(value: Any, path: Path) -> Iterator[Finding]:
    operator, values = value.get("operator"), items(value.get("values"))
    if operator in _WITH_VALUES:
        if not values:
            yield needs_values(path, operator)
    elif operator in _WITHOUT_VALUES:
        if values:
            yield forbids_values(path, operator)
    elif isinstance(operator, str):
        yield mistakes.unsupported((*path, "operator"), operator, (*_WITH_VALUES, *_WITHOUT_VALUES))
    yield from label_key(value.get("key", ""), (*path, "key"))
    yield from list_of(label_value)(values, (*path, "values"))


def needs_values(path: Path, operator: str) -> Finding:
    """An operator that needs values, without any."""
    return mistakes.bad_selector((*path, "values"), f"operator {operator} needs values", "list them under values")


def forbids_values(path: Path, operator: str) -> Finding:
    """An operator that takes no values, with some."""
    hint = "remove values, or use operator In or NotIn"
    return mistakes.bad_selector((*path, "values"), f"operator {operator} cannot have values", hint)


label_selector = struct({"matchLabels": labels, "matchExpressions": list_of(struct({}, also=_requirement))})


def check_label_keys(value: Json, path: Path) -> Iterator[Finding]:
    """Check `matchLabelKeys` and `mismatchLabelKeys`, which extend a labelSelector.

    Keys may occur at most once in labelSelector, which they are merged into when a pod is created. Source: the same
    package as affinity, validateMatchLabelKeysAndMismatchLabelKeys.
    """
    selector = value.get("labelSelector")
    for name in ("matchLabelKeys", "mismatchLabelKeys"):
        if value.get(name) and selector is None:
            yield mistakes.conflict((*path, name), f"{name} needs a labelSelector", "add labelSelector")
        elif value.get(name):
            yield from list_of(label_key)(value[name], (*path, name))
    taken = [*map(str, mapping(mapping(selector).get("matchLabels")))]
    taken += [str(mapping(e).get("key")) for e in items(mapping(selector).get("matchExpressions"))]
    for i, key in enumerate(items(value.get("matchLabelKeys"))):
        if key in items(value.get("mismatchLabelKeys")):
            yield mistakes.conflict((*path, "matchLabelKeys", i), f"{key} must match and must not")
        if taken.count(str(key)) > 1:
            message = f"{key} is in matchLabelKeys and twice in labelSelector"
            yield mistakes.conflict((*path, "matchLabelKeys", i), message, "keep it in one of them")
