"""Volume mounts and devices of a container, checked against the volumes of its pod.

Source: kubernetes pkg/apis/core/validation/validation.go, ValidateVolumeMounts and ValidateVolumeDevices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainc.findings import Finding, Path
from trainc.kube.documents import Json, items, mapping
from trainc.pods import mistakes
from trainc.pods.checks import duplicates, one_of, path_without_dotdot, relative_path

_PROPAGATION = one_of("None", "HostToContainer", "Bidirectional")
_READ_ONLY = one_of("Disabled", "IfPossible", "Enabled")
_CLAIMS = ("persistentVolumeClaim", "ephemeral")


def check_mounts(container: Json, path: Path, volumes: Mapping[str, Json]) -> Iterator[Finding]:
    """Check the volume mounts of a container."""
    devices = [mapping(device) for device in items(container.get("volumeDevices"))]
    yield from duplicates(container.get("volumeMounts"), "mountPath", (*path, "volumeMounts"))
    for i, mount in enumerate(map(mapping, items(container.get("volumeMounts")))):
        place = (*path, "volumeMounts", i)
        name, mounted = mount.get("name"), mount.get("mountPath")
        if not name or not mounted:
            yield from (mistakes.missing((*place, field)) for field in ("name", "mountPath") if not mount.get(field))
        elif str(name) not in volumes:
            yield mistakes.not_in_pod((*place, "name"), "volume", str(name), volumes)
        for field, other in (("name", "name"), ("mountPath", "devicePath")):
            if mount.get(field) and any(device.get(other) == mount[field] for device in devices):
                yield mistakes.conflict(
                    (*place, field), f"{mount[field]!r} is used both in volumeMounts and in volumeDevices"
                )
        if len(mount) > 2:
            yield from _choices(mount, place, container)


def _choices(mount: Json, path: Path, container: Json) -> Iterator[Finding]:
    """Check the options of a mount."""
    for field in ("subPath", "subPathExpr"):
        if mount.get(field):
            yield from relative_path(mount[field], (*path, field))
    if mount.get("subPath") and mount.get("subPathExpr"):
        yield mistakes.conflict((*path, "subPathExpr"), "subPath and subPathExpr cannot be used together")
    propagation, recursive = mount.get("mountPropagation"), mount.get("recursiveReadOnly")
    if propagation is not None:
        yield from _PROPAGATION(propagation, (*path, "mountPropagation"))
        if propagation == "Bidirectional" and mapping(container.get("securityContext")).get("privileged") is not True:
            message, hint = (
                "mountPropagation Bidirectional needs a privileged container",
                "use mountPropagation: HostToContainer",
            )
            yield mistakes.misplaced((*path, "mountPropagation"), message, hint)
    if recursive is not None:
        yield from _READ_ONLY(recursive, (*path, "recursiveReadOnly"))
    if recursive in ("IfPossible", "Enabled"):
        place = (*path, "recursiveReadOnly")
        if mount.get("readOnly") is not True:
            yield mistakes.conflict(place, "recursiveReadOnly needs readOnly: true", "add readOnly: true")
        if propagation not in (None, "None"):
            yield mistakes.conflict(
                place, f"recursiveReadOnly and mountPropagation {propagation} cannot be used together"
            )


def check_devices(container: Json, path: Path, volumes: Mapping[str, Json]) -> Iterator[Finding]:
    """Check the volumes that a container uses as block devices."""
    for field in ("name", "devicePath"):
        yield from duplicates(container.get("volumeDevices"), field, (*path, "volumeDevices"))
    for i, device in enumerate(map(mapping, items(container.get("volumeDevices")))):
        place = (*path, "volumeDevices", i)
        name = device.get("name")
        yield from (mistakes.missing((*place, field)) for field in ("name", "devicePath") if not device.get(field))
        if name and str(name) not in volumes:
            yield mistakes.not_in_pod((*place, "name"), "volume", str(name), volumes)
        elif name and not any(volumes[str(name)].get(source) is not None for source in _CLAIMS):
            message, hint = (
                f"volume {name!r} is not a claim, and only claims can be block devices",
                "mount it under volumeMounts",
            )
            yield mistakes.misplaced((*place, "name"), message, hint)
        yield from path_without_dotdot(device.get("devicePath"), (*place, "devicePath"))
