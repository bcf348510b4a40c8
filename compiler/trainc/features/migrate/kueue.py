"""Kueue's own objects: from v1beta1, which Kueue 0.20 no longer serves, to v1beta2, in the spelling that is stored.

Kueue's webhooks write quantities back in canonical form, so that any other spelling shows up as drift in git.
Source: kubernetes-sigs/kueue apis/kueue/v1beta1 (*_conversion.go) and apis/kueue/v1alpha1 (v0.19.0).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trainc.api.findings import Finding
from trainc.api.kube import Json, canonical
from trainc.features.migrate.v1.job import changes

GROUP = "kueue.x-k8s.io"
_NEW = f"{GROUP}/v1beta2"
_OLD = (f"{GROUP}/v1beta1", f"{GROUP}/v1alpha1")
_AMOUNTS = ("nominalQuota", "borrowingLimit", "lendingLimit", "weight")
_POLICIES = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}


def is_old(document: Json) -> bool:
    """Whether a document is an object of Kueue in an older version. Workloads are Kueue's own, which it converts."""
    kind, version = document.get("kind"), document.get("apiVersion")
    return version in _OLD and kind in _KINDS and (version == _OLD[0] or kind in ("Cohort", "Topology"))


def migrate_queue(document: Json) -> tuple[Json, list[Finding]]:
    """An object of Kueue in v1beta2; paths of findings refer to the older one."""
    changed: dict[str, Any] = {**document, "apiVersion": _NEW}
    spec = document.get("spec")
    findings: list[Finding] = []
    if isinstance(spec, Mapping):
        stored = {field: _stored(value, field) for field, value in spec.items()}
        changed["spec"] = _KINDS[document["kind"]](stored, findings)
    return changed, findings


def _stored(value: Any, field: str) -> Any:
    """A value with all quotas and weights in it as Kueue stores them; `field` is where it stands."""
    if isinstance(value, Mapping):
        return {name: _stored(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_stored(item, "") for item in value]
    if field not in _AMOUNTS or not isinstance(value, (str, int, float)) or isinstance(value, bool):
        return value
    try:
        return canonical(str(value))
    except ValueError:
        return value


def _cluster_queue(spec: dict[str, Any], _: list[Finding]) -> dict[str, Any]:
    spec = _renamed(spec, cohort="cohortName", admissionChecks="admissionChecksStrategy")
    checks, fungibility = spec.get("admissionChecksStrategy"), spec.get("flavorFungibility")
    if isinstance(checks, list):
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": check} for check in checks]}
    if isinstance(fungibility, Mapping):
        spec["flavorFungibility"] = {field: _POLICIES.get(str(word), word) for field, word in fungibility.items()}
    return spec


def _renamed(spec: dict[str, Any], **names: str) -> dict[str, Any]:
    """A mapping with new names of fields, in their places; a field that has the new name already stays."""
    return {names.get(field, field) if names.get(field) not in spec else field: value for field, value in spec.items()}


def _admission_check(spec: dict[str, Any], findings: list[Finding]) -> dict[str, Any]:
    if "retryDelayMinutes" in spec:
        message = "retryDelayMinutes is gone from v1beta2; it has had no effect since Kueue 0.8"
        findings.append(changes(("spec", "retryDelayMinutes"), message, "no action needed"))
    return {field: value for field, value in spec.items() if field != "retryDelayMinutes"}


def _multikueue_cluster(spec: dict[str, Any], _: list[Finding]) -> dict[str, Any]:
    sources = {field: spec[field] for field in ("kubeConfig", "clusterProfileRef") if field in spec}
    if not sources:
        return spec
    return {**{field: value for field, value in spec.items() if field not in sources}, "clusterSource": sources}


def _unchanged(spec: dict[str, Any], _: list[Finding]) -> dict[str, Any]:
    return spec


_KINDS: Mapping[str, Callable[[dict[str, Any], list[Finding]], dict[str, Any]]] = {
    **dict.fromkeys(("LocalQueue", "MultiKueueConfig", "ProvisioningRequestConfig", "ResourceFlavor"), _unchanged),
    **dict.fromkeys(("Topology", "WorkloadPriorityClass"), _unchanged),
    "AdmissionCheck": _admission_check,
    "ClusterQueue": _cluster_queue,
    "Cohort": lambda spec, _: _renamed(spec, parent="parentName"),
    "MultiKueueCluster": _multikueue_cluster,
}
