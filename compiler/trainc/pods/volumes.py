"""Volumes: exactly one source each, and the requirements of each kind of source.

Source: kubernetes pkg/apis/core/validation/validation.go, ValidateVolumes and validateVolumeSource.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from trainc.findings import Finding, Path
from trainc.kube.documents import Json, items, mapping
from trainc.kube.quantity import parse_quantity
from trainc.pods import mistakes
from trainc.pods.checks import (
    Check,
    dns_label,
    dns_subdomain,
    duplicates,
    list_of,
    number,
    one_of,
    path_without_dotdot,
    relative_file,
    struct,
)

_HOST_PATH_TYPES = (
    *("", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"),
)
_LONGEST_DRIVER = 63
PULL_POLICY = one_of("", "Always", "IfNotPresent", "Never")
FILE_MODE = number(0, 0o777)
KEYS_TO_PATHS = list_of(struct({"path": relative_file, "mode": FILE_MODE}, needs=("key", "path")))
NAMED = struct({}, needs=("name",))


def _size_limit(value: Any, path: Path) -> Iterable[Finding]:
    try:
        negative = parse_quantity(str(value)).nanos < 0
    except ValueError:
        return ()  # Reported by the schema stage.
    return (mistakes.out_of_range(path, value, 0),) if negative else ()


def _absolute(value: Any, path: Path) -> Iterable[Finding]:
    if not isinstance(value, str) or value[:1] == "/":
        return ()
    return (mistakes.bad_path(path, value, f"write an absolute path: /{value}"),)


def _driver(value: Any, path: Path) -> Iterable[Finding]:
    if isinstance(value, str) and len(value) > _LONGEST_DRIVER:
        return (mistakes.too_long(path, len(value), _LONGEST_DRIVER),)
    return dns_subdomain(value.lower(), path) if isinstance(value, str) else ()


def _projected(value: Any, path: Path) -> Iterator[Finding]:
    from trainc.pods.projected import check_projected

    yield from check_projected(value, path)


def _downward_api(value: Any, path: Path) -> Iterator[Finding]:
    from trainc.pods.projected import check_downward_api

    yield from check_downward_api(value, path)


def _ephemeral(value: Any, path: Path) -> Iterator[Finding]:
    from trainc.pods.volume_claim import check_claim_template

    yield from check_claim_template(value, path)


def _rare(value: Any, path: Path) -> Iterator[Finding]:
    from trainc.pods.storage_systems import SYSTEMS

    yield from SYSTEMS[str(path[-1])](value, path)


_FILES = {"items": KEYS_TO_PATHS, "defaultMode": FILE_MODE}
_SOURCES: dict[str, Check] = {
    "emptyDir": struct({"sizeLimit": _size_limit}),
    "hostPath": struct({"path": path_without_dotdot, "type": one_of(*_HOST_PATH_TYPES)}, needs=("path",)),
    "secret": struct(_FILES, needs=("secretName",)),
    "configMap": struct(_FILES, needs=("name",)),
    "persistentVolumeClaim": struct({}, needs=("claimName",)),
    "nfs": struct({"path": _absolute}, needs=("server", "path")),
    "csi": struct({"driver": _driver, "nodePublishSecretRef": struct({"name": dns_subdomain}, ("name",))}, ("driver",)),
    "image": struct({"pullPolicy": PULL_POLICY}),
    "downwardAPI": struct({"defaultMode": FILE_MODE}, also=_downward_api),
    "projected": struct({"defaultMode": FILE_MODE}, also=_projected),
    "ephemeral": struct({}, needs=("volumeClaimTemplate",), also=_ephemeral),
    **dict.fromkeys(
        (
            *("awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "fc", "flexVolume", "flocker"),
            *("gcePersistentDisk", "gitRepo", "glusterfs", "iscsi", "photonPersistentDisk", "portworxVolume"),
            *("quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume"),
        ),
        _rare,
    ),
}


def check_volumes(volumes: Any, path: Path) -> Iterator[Finding]:
    """Check the volumes of a pod."""
    yield from duplicates(volumes, "name", path)
    for i, volume in enumerate(map(mapping, items(volumes))):
        name, place = volume.get("name"), (*path, i)
        if not name:
            yield mistakes.missing((*place, "name"))
        else:
            yield from dns_label(name, (*place, "name"))
        yield from _source(volume, place)


def _source(volume: Json, path: Path) -> Iterator[Finding]:
    name = volume.get("name")
    sources = [field for field, value in volume.items() if field != "name" and value is not None]
    # A volume without a source becomes an emptyDir.
    if len(sources) > 1:
        message = f"volume {name!r} has {len(sources)} sources: {', '.join(map(str, sources))}"
        yield Finding("TwoVolumeSources", "error", message, hint="keep one of them", path=path)
    elif sources and sources[0] in _SOURCES:
        yield from _SOURCES[sources[0]](volume[sources[0]], (*path, sources[0]))
        portal = mapping(volume.get("iscsi"))
        if portal.get("initiatorName") is not None and len(f"{name}:{portal.get('targetPortal')}") > 64:
            message = "the volume's name and its targetPortal have more than 63 characters together"
            yield Finding("TooLong", "error", message, hint="shorten the name", path=(*path, "name"))
