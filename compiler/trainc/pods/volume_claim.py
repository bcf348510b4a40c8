"""The claim template of an ephemeral volume.

Source: kubernetes pkg/apis/core/validation/validation.go, ValidatePersistentVolumeClaimTemplate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.findings import Finding, Path
from trainc.kube.documents import Json, items, mapping
from trainc.kube.quantity import parse_quantity
from trainc.pods import mistakes
from trainc.pods.annotations import check_metadata
from trainc.pods.checks import dns_subdomain, is_subdomain, one_of, struct, unless_empty
from trainc.pods.selectors import label_selector

_ACCESS_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
_SHORT = {"RWO": "ReadWriteOnce", "ROX": "ReadOnlyMany", "RWX": "ReadWriteMany", "RWOP": "ReadWriteOncePod"}


def check_claim_template(ephemeral: Json, path: Path) -> Iterator[Finding]:
    """Check the `volumeClaimTemplate` of an ephemeral volume, if present."""
    template, place = ephemeral.get("volumeClaimTemplate"), (*path, "volumeClaimTemplate")
    if not isinstance(template, dict):
        return
    metadata = mapping(template.get("metadata"))
    yield from check_metadata(metadata, (*place, "metadata"))
    for field in metadata:
        if field not in ("labels", "annotations", "creationTimestamp") and metadata[field]:
            message = f"a claim that is created with its pod cannot have {field}"
            yield mistakes.misplaced((*place, "metadata", field), message, "keep only labels and annotations")
    yield from _SPEC(mapping(template.get("spec")), (*place, "spec"))


def _spec(spec: Any, path: Path) -> Iterator[Finding]:
    yield from _access_modes(items(spec.get("accessModes")), (*path, "accessModes"))
    yield from _storage(spec, path)
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is not None:
        if mapping(reference).get("namespace"):
            yield mistakes.conflict(path, "dataSource and a dataSourceRef with a namespace cannot be used together")
        elif any(mapping(source).get(field) != mapping(reference).get(field) for field in ("apiGroup", "kind", "name")):
            yield mistakes.conflict(path, "dataSource and dataSourceRef differ", "keep dataSourceRef")
    for name in ("dataSource", "dataSourceRef"):
        if isinstance(spec.get(name), dict):
            yield from _data_source(spec[name], (*path, name))


def _access_modes(modes: list[Any], path: Path) -> Iterator[Finding]:
    for i, mode in enumerate(modes):
        if mode not in _ACCESS_MODES:
            finding = mistakes.unsupported(path, mode, (_SHORT[mode],) if mode in _SHORT else _ACCESS_MODES)
            yield Finding(finding.code, "error", finding.message, hint=finding.hint, path=path, source_path=(*path, i))
    if "ReadWriteOncePod" in modes and len({mode for mode in modes if mode in _ACCESS_MODES}) > 1:
        yield mistakes.conflict(path, "ReadWriteOncePod cannot be combined with other access modes")


def _storage(spec: Json, path: Path) -> Iterator[Finding]:
    resources = mapping(spec.get("resources"))
    amount = mapping(resources.get("requests")).get("storage")
    if amount is None:
        hint = "add resources: {requests: {storage: 100Gi}}"
        yield Finding(
            "MissingRequired", "error", "the claim does not request any storage", hint=hint, path=(*path, "resources")
        )
        return
    try:
        positive = parse_quantity(str(amount)).nanos > 0
    except ValueError:
        return  # Reported by the schema stage.
    if not positive:
        place = (*path, "resources", "requests", "storage")
        yield Finding("OutOfRange", "error", f"storage cannot be {amount}", hint="request more than 0", path=place)


def _data_source(source: Json, path: Path) -> Iterator[Finding]:
    for name in ("kind", "name"):
        if not source.get(name):
            yield mistakes.missing((*path, name))
    group = source.get("apiGroup")
    if not group and source.get("kind") and source["kind"] != "PersistentVolumeClaim":
        hint = "add apiGroup, or use kind: PersistentVolumeClaim"
        yield mistakes.conflict(path, f"{source['kind']} needs its apiGroup", hint)
    if isinstance(group, str) and group and not is_subdomain(group):
        yield mistakes.malformed((*path, "apiGroup"), group, "a domain such as snapshot.storage.k8s.io")


_SPEC = struct(
    {
        "selector": label_selector,
        "storageClassName": unless_empty(dns_subdomain),
        "volumeAttributesClassName": unless_empty(dns_subdomain),
        "volumeMode": one_of("Block", "Filesystem"),
    },
    needs=("accessModes",),
    also=_spec,
)
