"""Volumes of specific storage systems, most of which are deprecated or gone, but still in the API.

Source: kubernetes pkg/apis/core/validation/validation.go, validate*VolumeSource.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from trainc.findings import Finding, Path
from trainc.kube.documents import mapping
from trainc.pods import mistakes
from trainc.pods.checks import Check, dns_label, number, one_of, relative_path, struct, unless_empty
from trainc.startup.patterns import pattern

_LUN = number(0, 255)
_SECRET = struct({}, needs=("name",))
_INITIATORS = (
    ("iqn", pattern(r"iqn\.\d{4}-\d{2}\.([a-zA-Z0-9\-.]+)(:[^,;*&$|\s]+)$")),
    ("eui", pattern(r"^eui.[a-zA-Z0-9]{16}$")),
    ("naa", pattern(r"^naa.[a-zA-Z0-9]{32}$")),
)
_MANAGED_DISK = "/subscriptions/"
_BLOB = "https://"
_LONGEST_TENANT = 64


def _initiator(value: Any, path: Path) -> Iterable[Finding]:
    if not isinstance(value, str) or any(value.startswith(p) and form.search(value) for p, form in _INITIATORS):
        return ()
    return (mistakes.malformed(path, value, "a name such as iqn.2001-04.com.example:storage"),)


def _iscsi(value: Any, path: Path) -> Iterator[Finding]:
    if value.get("secretRef") is None and (value.get("chapAuthDiscovery") or value.get("chapAuthSession")):
        yield mistakes.missing((*path, "secretRef"), "CHAP needs it")


def _fc(value: Any, path: Path) -> Iterator[Finding]:
    names, ids = value.get("targetWWNs"), value.get("wwids")
    if not names and not ids:
        yield mistakes.missing_choice((*path, "targetWWNs"), ("targetWWNs", "wwids"), "fc")
    if names and ids:
        yield mistakes.conflict((*path, "targetWWNs"), "targetWWNs and wwids cannot be used together")
    if names:
        if value.get("lun") is None:
            yield mistakes.missing((*path, "lun"), "targetWWNs needs it")
        yield from _LUN(value.get("lun"), (*path, "lun"))


def _flocker(value: Any, path: Path) -> Iterator[Finding]:
    name, uuid = value.get("datasetName"), value.get("datasetUUID")
    if not name and not uuid:
        yield mistakes.missing_choice(path, ("datasetName", "datasetUUID"), "flocker")
    if name and uuid:
        yield mistakes.conflict(path, "flocker has both datasetName and datasetUUID")
    if "/" in str(name):
        yield mistakes.malformed((*path, "datasetName"), str(name), "a name without '/'")


def _flex_volume(value: Any, path: Path) -> Iterator[Finding]:
    for key in mapping(value.get("options")):
        domain = f".{str(key).lower().partition('/')[0]}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            message = f"option {key!r} is in a domain that is reserved for Kubernetes"
            yield mistakes.misplaced((*path, "options", key), message, "use the driver's own domain")


def _azure_disk(value: Any, path: Path) -> Iterator[Finding]:
    kind, uri, place = value.get("kind"), str(value.get("diskURI") or ""), (*path, "diskURI")
    if kind is None or not uri:
        return
    start = _MANAGED_DISK if kind == "Managed" else _BLOB
    if not uri.startswith(start):
        message = f"the URI of a disk of kind {kind} starts with {start}"
        yield Finding("UnsupportedValue", "error", message, hint="write the disk's URI as Azure shows it", path=place)


def _quobyte(value: Any, path: Path) -> Iterator[Finding]:
    registry, tenant = str(value.get("registry") or ""), str(value.get("tenant") or "")
    if registry and len(tenant) > _LONGEST_TENANT:
        yield mistakes.too_long((*path, "tenant"), len(tenant), _LONGEST_TENANT)
    elif any(":" not in pair for pair in registry.split(",") if registry):
        yield mistakes.malformed((*path, "registry"), registry, "pairs of host:port, with ',' between")


SYSTEMS: dict[str, Check] = {
    "awsElasticBlockStore": struct({"partition": _LUN}, needs=("volumeID",)),
    "azureDisk": struct(
        {
            "cachingMode": one_of("None", "ReadOnly", "ReadWrite"),
            "kind": one_of("Shared", "Dedicated", "Managed"),
        },
        needs=("diskName", "diskURI"),
        also=_azure_disk,
    ),
    "azureFile": struct({}, needs=("secretName", "shareName")),
    "cephfs": struct({}, needs=("monitors",)),
    "cinder": struct({"secretRef": _SECRET}, needs=("volumeID",)),
    "fc": struct({}, also=_fc),
    "flexVolume": struct({}, needs=("driver",), also=_flex_volume),
    "flocker": struct({}, also=_flocker),
    "gcePersistentDisk": struct({"partition": _LUN}, needs=("pdName",)),
    "gitRepo": struct({"directory": relative_path}, needs=("repository",)),
    "glusterfs": struct({}, needs=("endpoints", "path")),
    "iscsi": struct(
        {"iqn": _initiator, "initiatorName": _initiator, "lun": _LUN}, needs=("targetPortal", "iqn"), also=_iscsi
    ),
    "photonPersistentDisk": struct({}, needs=("pdID",)),
    "portworxVolume": struct({}, needs=("volumeID",)),
    "quobyte": struct({}, needs=("registry", "volume"), also=_quobyte),
    "rbd": struct({}, needs=("monitors", "image")),
    "scaleIO": struct({}, needs=("gateway", "system", "volumeName")),
    "storageos": struct(
        {"volumeName": dns_label, "volumeNamespace": unless_empty(dns_label), "secretRef": _SECRET},
        needs=("volumeName",),
    ),
    "vsphereVolume": struct({}, needs=("volumePath",)),
}
