"""Kueue's own objects: from v1beta1, which Kueue 0.20 no longer serves, to v1beta2, in the spelling that is stored.

Kueue's webhooks write quantities back in canonical form, so that any other spelling shows up as drift in git.
Source: kubernetes-sigs/kueue apis/kueue/v1beta1 (*_conversion.go) and apis/kueue/v1alpha1 (v0.19.0).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trainc.features.migrate.v1.job import changes
from trainc.findings import Finding
from trainc.kube.documents import Json
from trainc.kube.quantity import canonical

GROUP = "kueue.x-k8s.io"
_NEW = f"{GROUP}/v1beta2"
_OLD = (f"{GROUP}/v1beta1", f"{GROUP}/v1alpha1")
_QUOTAS = ("nominalQuota", "borrowingLimit", "lendingLimit")
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
        changed["spec"] = _KINDS[document["kind"]](dict(spec), findings)
    return changed, findings


def _unchanged(spec: dict[str, Any], _: list[Finding]) -> dict[str, Any]:
    return spec


def _cluster_queue(spec: dict[str, Any], findings: list[Finding]) -> dict[str, Any]:
    spec = _renamed(_with_quotas(spec, findings), cohort="cohortName", admissionChecks="admissionChecksStrategy")
    checks, fungibility = spec.get("admissionChecksStrategy"), spec.get("flavorFungibility")
    if isinstance(checks, list):
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": check} for check in checks]}
    if isinstance(fungibility, Mapping):
        words = {
            field: _POLICIES.get(word, word) if isinstance(word, str) else word for field, word in fungibility.items()
        }
        spec["flavorFungibility"] = words
    return spec


def _cohort(spec: dict[str, Any], findings: list[Finding]) -> dict[str, Any]:
    return _renamed(_with_quotas(spec, findings), parent="parentName")


def _with_quotas(spec: dict[str, Any], _: list[Finding]) -> dict[str, Any]:
    """A spec whose quotas and weight are written as Kueue stores them."""
    if isinstance(spec.get("fairSharing"), Mapping):
        spec["fairSharing"] = _amounts(spec["fairSharing"], "weight")
    if isinstance(spec.get("resourceGroups"), list):
        spec["resourceGroups"] = [
            _each(group, "flavors", lambda flavor: _each(flavor, "resources", lambda each: _amounts(each, *_QUOTAS)))
            for group in spec["resourceGroups"]
        ]
    return spec


def _each(value: Any, field: str, change: Callable[[Any], Any]) -> Any:
    if not isinstance(value, Mapping) or not isinstance(value.get(field), list):
        return value
    return {**value, field: [change(item) for item in value[field]]}


def _amounts(value: Any, *fields: str) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {field: _amount(inner) if field in fields else inner for field, inner in value.items()}


def _amount(value: Any) -> Any:
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        return value
    try:
        return canonical(str(value))
    except ValueError:
        return value


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


_KINDS: Mapping[str, Callable[[dict[str, Any], list[Finding]], dict[str, Any]]] = {
    "AdmissionCheck": _admission_check,
    "ClusterQueue": _cluster_queue,
    "Cohort": _cohort,
    "LocalQueue": _with_quotas,
    "MultiKueueCluster": _multikueue_cluster,
    "MultiKueueConfig": _unchanged,
    "ProvisioningRequestConfig": _unchanged,
    "ResourceFlavor": _unchanged,
    "Topology": _unchanged,
    "WorkloadPriorityClass": _unchanged,
}
