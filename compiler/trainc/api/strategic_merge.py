"""Strategic merge patch, with Kubernetes' own merge keys and element order.

Source: kubernetes/apimachinery pkg/util/strategicpatch, and the patchMergeKey tags of core/v1, batch/v1 and
jobset v1alpha2. A list that has no key here is replaced whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MERGE_KEYS: Mapping[str, str] = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "imagePullSecrets": "name",
    "schedulingGates": "name",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
    "resourceClaims": "name",
    "ownerReferences": "uid",
    "replicatedJobs": "name",
    "dependsOn": "name",
}
MERGED_SETS = frozenset({"finalizers"})


def strategic_merge(base: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `patch` merged in; neither is changed. Both are plain mappings without nulls or directives."""
    merged = dict(base)
    for key, value in patch.items():
        merged[key] = _merge_value(key, base[key], value) if key in base else value
    return merged


def _merge_value(key: str, base: Any, patch: Any) -> Any:
    if isinstance(base, Mapping) and isinstance(patch, Mapping):
        return strategic_merge(base, patch)
    if isinstance(base, list) and isinstance(patch, list):
        if key in MERGE_KEYS:
            return _merge_keyed(base, patch, MERGE_KEYS[key])
        if key in MERGED_SETS:
            return in_merge_order(patch, [item for item in base if item not in patch], base)
    return patch


def _merge_keyed(base: Sequence[Mapping[str, Any]], patch: Sequence[Mapping[str, Any]], key: str) -> list[Any]:
    """Items of equal key are merged field by field; then all are put in the order the API server gives them."""
    before = {item.get(key): item for item in base}
    merged = {item.get(key): strategic_merge(before.get(item.get(key), {}), item) for item in patch}
    untouched = [item.get(key) for item in base if item.get(key) not in merged]
    order = in_merge_order(list(merged), untouched, list(before))
    return [merged[k] if k in merged else before[k] for k in order]


def in_merge_order(patched: list[Any], untouched: list[Any], before: list[Any]) -> list[Any]:
    """Interleave patched and untouched items as upstream's normalizeElementOrder does.

    Patched items keep the patch's order. An untouched one goes first only when the item it meets was in the base
    too and came after it; a new item therefore lands before the untouched rest.
    """
    position = {item: i for i, item in enumerate(before)}
    result: list[Any] = []
    left, right = 0, 0
    while left < len(patched) and right < len(untouched):
        if position.get(patched[left], -1) > position[untouched[right]]:
            result.append(untouched[right])
            right += 1
        else:
            result.append(patched[left])
            left += 1
    return result + patched[left:] + untouched[right:]
