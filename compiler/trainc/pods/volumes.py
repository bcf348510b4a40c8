"""Volumes: exactly one source each, what each kind of source needs, and how containers mount them.

Source: kubernetes pkg/apis/core/validation/validation.go, ValidateVolumes, validate*VolumeSource,
validateProjectionSources, validateDownwardAPIVolumeFile, ValidatePersistentVolumeClaimTemplate, ValidateVolumeMounts
and ValidateVolumeDevices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from trainc.findings import Finding, Path, write
from trainc.kube.documents import Json, items, mapping, objects
from trainc.kube.names import is_subdomain
from trainc.kube.quantity import read_quantity
from trainc.pods import errors
from trainc.pods.checks import (
    PULL_POLICY,
    Check,
    check_metadata,
    dns_label,
    dns_subdomain,
    duplicates,
    exactly_one,
    field_ref,
    label_selector,
    list_of,
    name_form,
    number,
    one_of,
    path_without_dotdot,
    relative_file,
    relative_path,
    resource_ref,
    struct,
    unless_empty,
)
from trainc.startup.patterns import pattern
from trainc.startup.records import replace
from trainc.startup.typing import Any


def check_volumes(volumes: Any, path: Path) -> Iterator[Finding]:
    """Check the volumes of a pod."""
    yield from duplicates(volumes, "name", path)
    for i, volume in enumerate(objects(volumes)):
        name, volume_path = volume.get("name"), (*path, i)
        if not name:
            yield errors.missing((*volume_path, "name"))
        else:
            yield from dns_label(name, (*volume_path, "name"))
        yield from _source(volume, volume_path)


def _source(volume: Json, path: Path) -> Iterator[Finding]:
    name = volume.get("name")
    sources = [field for field, value in volume.items() if field != "name" and value is not None]
    # A volume without a source becomes an emptyDir.
    if len(sources) > 1:
        message = f"volume {name!r} has {len(sources)} sources: {', '.join(map(str, sources))}"
        yield Finding("TwoVolumeSources", "error", message, "keep one of them", path)
    elif sources and sources[0] in _SOURCES:
        yield from _SOURCES[sources[0]](volume[sources[0]], (*path, sources[0]))
        portal = mapping(volume.get("iscsi"))
        if portal.get("initiatorName") is not None and len(f"{name}:{portal.get('targetPortal')}") > 64:
            message = "the volume's name and its targetPortal have more than 63 characters together"
            yield Finding("TooLong", "error", message, "shorten the name", (*path, "name"))


def _size_limit(value: Any, path: Path) -> Iterable[Finding]:
    size = read_quantity(value)
    return (errors.out_of_range(path, value, 0),) if size is not None and size.nanos < 0 else ()


def _medium(value: Any, path: Path) -> Iterable[Finding]:
    """The API server takes any medium, but the kubelet does not. Source: kubernetes pkg/volume/emptydir/empty_dir.go."""
    if isinstance(value, str) and value.startswith("HugePages-"):
        return ()
    return one_of("", "Memory", "HugePages")(value, path)


def _absolute(value: Any, path: Path) -> Iterable[Finding]:
    if not isinstance(value, str) or value[:1] == "/":
        return ()
    return (errors.bad_path(path, value, f"write an absolute path: /{value}"),)


def _driver(value: Any, path: Path) -> Iterable[Finding]:
    if isinstance(value, str) and len(value) > _LONGEST_DRIVER:
        return (errors.too_long(path, len(value), _LONGEST_DRIVER),)
    return dns_subdomain(value.lower(), path) if isinstance(value, str) else ()


_HOST_PATH_TYPES = (
    *("", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"),
)
_LONGEST_DRIVER = 63
_FILE_MODE = number(0, 0o777)
_KEYS_TO_PATHS = list_of(struct({"path": relative_file, "mode": _FILE_MODE}, needs=("key", "path")))
_FILES = {"items": _KEYS_TO_PATHS, "defaultMode": _FILE_MODE}
_SECRET = struct({"name": dns_subdomain}, needs=("name",))


# Files that Kubernetes writes: downward API and projected volumes.

_REFERENCES = ("fieldRef", "resourceFieldRef")
_DOWNWARD_FIELDS = ("metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid")
_DOWNWARD_FILES = list_of(
    struct(
        {
            "path": relative_file,
            "mode": _FILE_MODE,
            "fieldRef": field_ref(_DOWNWARD_FIELDS),
            "resourceFieldRef": struct({}, needs=("containerName", "resource"), also=resource_ref),
        },
        needs=("path",),
        also=exactly_one(_REFERENCES, "an item of downwardAPI"),
    )
)
# The feature gates of clusterTrustBundle and podCertificate are off in 1.36, so the API server drops both.
_PROJECTIONS = {
    "secret": struct({"items": _KEYS_TO_PATHS}, needs=("name",)),
    "configMap": struct({"items": _KEYS_TO_PATHS}, needs=("name",)),
    "downwardAPI": struct({"items": _DOWNWARD_FILES}),
    "serviceAccountToken": struct({"path": relative_file, "expirationSeconds": number(600, 2**32)}, needs=("path",)),
}


def _projected(value: Any, path: Path) -> Iterator[Finding]:
    """Check the sources of a projected volume, and that no two of them write the same file."""
    if value.get("sources") is None:
        # Go serializes a missing list as null, which JobSet's CRD rejects.
        yield errors.missing((*path, "sources"))
    seen: set[str] = set()
    for i, source in enumerate(objects(value.get("sources"))):
        source_path = (*path, "sources", i)
        present = [name for name in source if source[name] is not None]
        if len(present) > 1:
            message = f"an item of sources has {' and '.join(map(str, present))}"
            yield errors.conflict(source_path, message, "split it into one item each")
        for name in present:
            if name in _PROJECTIONS:
                yield from _PROJECTIONS[name](source[name], (*source_path, name))
        for where, file in _projected_files(source, source_path):
            if file in seen:
                message, hint = f"two sources write to {file!r}", "rename one of them"
                yield Finding("ConflictingFields", "error", message, hint, path, source_path=where)
            seen.add(file)


def _projected_files(source: Json, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of a source with the paths of their fields."""
    for name in ("secret", "configMap", "downwardAPI"):
        for i, item in enumerate(objects(mapping(source.get(name)).get("items"))):
            if item.get("path"):
                yield (*path, name, "items", i, "path"), str(item["path"])


# The claim template of an ephemeral volume.

_ACCESS_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
_SHORT = {"RWO": "ReadWriteOnce", "ROX": "ReadOnlyMany", "RWX": "ReadWriteMany", "RWOP": "ReadWriteOncePod"}
_IDENTITY = ("apiGroup", "kind", "name")


def _claim_template(ephemeral: Any, path: Path) -> Iterator[Finding]:
    template, template_path = ephemeral.get("volumeClaimTemplate"), (*path, "volumeClaimTemplate")
    if not isinstance(template, dict):
        return
    metadata = mapping(template.get("metadata"))
    yield from check_metadata(metadata, (*template_path, "metadata"))
    for field in metadata:
        if field not in ("labels", "annotations", "creationTimestamp") and metadata[field]:
            message = f"a claim that is created with its pod cannot have {field}"
            yield errors.misplaced((*template_path, "metadata", field), message, "keep only labels and annotations")
    yield from _CLAIM(mapping(template.get("spec")), (*template_path, "spec"))


def _claim(spec: Any, path: Path) -> Iterator[Finding]:
    modes = items(spec.get("accessModes"))
    for i, mode in enumerate(modes):
        if mode not in _ACCESS_MODES:
            short = _SHORT.get(str(mode))
            finding = errors.unsupported((*path, "accessModes"), mode, _ACCESS_MODES if short is None else (short,))
            yield replace(finding, source_path=(*path, "accessModes", i))
    if "ReadWriteOncePod" in modes and len({mode for mode in modes if mode in _ACCESS_MODES}) > 1:
        message = "ReadWriteOncePod cannot be combined with other access modes"
        yield errors.conflict((*path, "accessModes"), message)
    yield from _storage(mapping(spec.get("resources")), (*path, "resources"))
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is not None:
        if mapping(reference).get("namespace"):
            yield errors.conflict(path, "dataSource and a dataSourceRef with a namespace cannot be used together")
        elif any(mapping(source).get(field) != mapping(reference).get(field) for field in _IDENTITY):
            yield errors.conflict(path, "dataSource and dataSourceRef differ", "keep dataSourceRef")


def _storage(resources: Json, path: Path) -> Iterator[Finding]:
    amount = mapping(resources.get("requests")).get("storage")
    if amount is None:
        message, hint = "the claim does not request any storage", "add resources: {requests: {storage: 100Gi}}"
        yield Finding("MissingRequired", "error", message, hint, path)
        return
    quantity = read_quantity(amount)
    if quantity is not None and quantity.nanos <= 0:
        storage_path = (*path, "requests", "storage")
        yield Finding("OutOfRange", "error", f"storage cannot be {amount}", "request more than 0", storage_path)


def _data_source(source: Any, path: Path) -> Iterator[Finding]:
    group = source.get("apiGroup")
    if not group and source.get("kind") and source["kind"] != "PersistentVolumeClaim":
        hint = "add apiGroup, or use kind: PersistentVolumeClaim"
        yield errors.conflict(path, f"{source['kind']} needs its apiGroup", hint)
    if isinstance(group, str) and group and not is_subdomain(group):
        yield errors.malformed((*path, "apiGroup"), group, "a domain such as snapshot.storage.k8s.io")


_DATA_SOURCE = struct({}, needs=("kind", "name"), also=_data_source)
_CLAIM = struct(
    {
        "selector": label_selector,
        "storageClassName": unless_empty(dns_subdomain),
        "volumeAttributesClassName": unless_empty(dns_subdomain),
        "volumeMode": one_of("Block", "Filesystem"),
        "dataSource": _DATA_SOURCE,
        "dataSourceRef": _DATA_SOURCE,
    },
    needs=("accessModes",),
    also=_claim,
)


# Storage systems. Of those that are deprecated, only the required fields are checked.

_LUN = number(0, 255)
_INITIATORS = (
    ("iqn", pattern(r"iqn\.\d{4}-\d{2}\.([a-zA-Z0-9\-.]+)(:[^,;*&$|\s]+)$")),
    ("eui", pattern(r"^eui.[a-zA-Z0-9]{16}$")),
    ("naa", pattern(r"^naa.[a-zA-Z0-9]{32}$")),
)


_initiator = name_form(
    lambda value: any(value.startswith(prefix) and form.search(value) for prefix, form in _INITIATORS),
    "a name such as iqn.2001-04.com.example:storage",
)


def _iscsi(value: Any, path: Path) -> Iterator[Finding]:
    if value.get("secretRef") is None and (value.get("chapAuthDiscovery") or value.get("chapAuthSession")):
        yield errors.missing((*path, "secretRef"), "CHAP needs it")


def _fc(value: Any, path: Path) -> Iterator[Finding]:
    names, ids, names_path = value.get("targetWWNs"), value.get("wwids"), (*path, "targetWWNs")
    if not names and not ids:
        yield errors.missing_choice(names_path, ("targetWWNs", "wwids"), "fc")
    if names and ids:
        yield errors.conflict(names_path, "targetWWNs and wwids cannot be used together")
    if names and value.get("lun") is None:
        yield errors.missing((*path, "lun"), "targetWWNs needs it")
    elif names:
        yield from _LUN(value["lun"], (*path, "lun"))


_ISCSI = {"iqn": _initiator, "initiatorName": _initiator, "lun": _LUN}
_SOURCES: Mapping[str, Check] = {
    "awsElasticBlockStore": struct({"partition": _LUN}, needs=("volumeID",)),
    "azureDisk": struct({}, needs=("diskName", "diskURI")),
    "azureFile": struct({}, needs=("secretName", "shareName")),
    "cephfs": struct({}, needs=("monitors",)),
    "cinder": struct({"secretRef": struct({}, needs=("name",))}, needs=("volumeID",)),
    "configMap": struct(_FILES, needs=("name",)),
    "csi": struct({"driver": _driver, "nodePublishSecretRef": _SECRET}, needs=("driver",)),
    "downwardAPI": struct({"items": _DOWNWARD_FILES, "defaultMode": _FILE_MODE}),
    "emptyDir": struct({"sizeLimit": _size_limit, "medium": _medium}),
    "ephemeral": struct({}, needs=("volumeClaimTemplate",), also=_claim_template),
    "fc": struct({}, also=_fc),
    "flexVolume": struct({}, needs=("driver",)),
    "flocker": struct({}, also=exactly_one(("datasetName", "datasetUUID"), "flocker")),
    "gcePersistentDisk": struct({"partition": _LUN}, needs=("pdName",)),
    "gitRepo": struct({"directory": relative_path}, needs=("repository",)),
    "glusterfs": struct({}, needs=("endpoints", "path")),
    "hostPath": struct({"path": path_without_dotdot, "type": one_of(*_HOST_PATH_TYPES)}, needs=("path",)),
    "image": struct({"pullPolicy": PULL_POLICY}),
    "iscsi": struct(_ISCSI, needs=("targetPortal", "iqn"), also=_iscsi),
    "nfs": struct({"path": _absolute}, needs=("server", "path")),
    "persistentVolumeClaim": struct({}, needs=("claimName",)),
    "photonPersistentDisk": struct({}, needs=("pdID",)),
    "portworxVolume": struct({}, needs=("volumeID",)),
    "projected": struct({"defaultMode": _FILE_MODE}, also=_projected),
    "quobyte": struct({}, needs=("registry", "volume")),
    "rbd": struct({}, needs=("monitors", "image")),
    "scaleIO": struct({}, needs=("gateway", "system", "volumeName")),
    "secret": struct(_FILES, needs=("secretName",)),
    "storageos": struct({}, needs=("volumeName",)),
    "vsphereVolume": struct({}, needs=("volumePath",)),
}


# Mounts and block devices of a container.

_PROPAGATION = one_of("None", "HostToContainer", "Bidirectional")
_READ_ONLY = one_of("Disabled", "IfPossible", "Enabled")
_CLAIM_SOURCES = ("persistentVolumeClaim", "ephemeral")


def check_mounts(container: Json, path: Path, volumes: Mapping[str, Json]) -> Iterator[Finding]:
    """Check the volume mounts of a container; `volumes` are those of its pod, by name."""
    devices = [mapping(device) for device in items(container.get("volumeDevices"))]
    yield from duplicates(container.get("volumeMounts"), "mountPath", (*path, "volumeMounts"))
    for i, mount in enumerate(objects(container.get("volumeMounts"))):
        item_path = (*path, "volumeMounts", i)
        name, mounted = mount.get("name"), mount.get("mountPath")
        if not name or not mounted:
            yield from (errors.missing((*item_path, field)) for field in ("name", "mountPath") if not mount.get(field))
        elif str(name) not in volumes:
            yield errors.not_in_pod((*item_path, "name"), "volume", str(name), volumes)
        for field, other in (("name", "name"), ("mountPath", "devicePath")):
            if mount.get(field) and any(device.get(other) == mount[field] for device in devices):
                message = f"{mount[field]!r} is used both in volumeMounts and in volumeDevices"
                yield errors.conflict((*item_path, field), message)
        if len(mount) > 2:
            yield from _mount_options(mount, item_path, container)


def _mount_options(mount: Json, path: Path, container: Json) -> Iterator[Finding]:
    for field in ("subPath", "subPathExpr"):
        if mount.get(field):
            yield from relative_path(mount[field], (*path, field))
    if mount.get("subPath") and mount.get("subPathExpr"):
        yield errors.conflict((*path, "subPathExpr"), "subPath and subPathExpr cannot be used together")
    propagation, recursive = mount.get("mountPropagation"), mount.get("recursiveReadOnly")
    if propagation is not None:
        yield from _PROPAGATION(propagation, (*path, "mountPropagation"))
        if propagation == "Bidirectional" and mapping(container.get("securityContext")).get("privileged") is not True:
            message = "mountPropagation Bidirectional needs a privileged container"
            yield errors.misplaced(
                (*path, "mountPropagation"), message, write("HostToContainer", field="mountPropagation", verb="use")
            )
    recursive_path = (*path, "recursiveReadOnly")
    if recursive is not None:
        yield from _READ_ONLY(recursive, recursive_path)
    if recursive in ("IfPossible", "Enabled"):
        if mount.get("readOnly") is not True:
            yield errors.conflict(
                recursive_path, "recursiveReadOnly needs readOnly: true", write("true", field="readOnly", verb="add")
            )
        if propagation not in (None, "None"):
            message = f"recursiveReadOnly and mountPropagation {propagation} cannot be used together"
            yield errors.conflict(recursive_path, message)


def check_devices(container: Json, path: Path, volumes: Mapping[str, Json]) -> Iterator[Finding]:
    """Check the volumes that a container uses as block devices."""
    for field in ("name", "devicePath"):
        yield from duplicates(container.get("volumeDevices"), field, (*path, "volumeDevices"))
    for i, device in enumerate(objects(container.get("volumeDevices"))):
        device_path = (*path, "volumeDevices", i)
        name = device.get("name")
        yield from (errors.missing((*device_path, field)) for field in ("name", "devicePath") if not device.get(field))
        if name and str(name) not in volumes:
            yield errors.not_in_pod((*device_path, "name"), "volume", str(name), volumes)
        elif name and not any(volumes[str(name)].get(source) is not None for source in _CLAIM_SOURCES):
            message = f"volume {name!r} is not a claim, and only claims can be block devices"
            yield errors.misplaced((*device_path, "name"), message, "mount it under volumeMounts")
        yield from path_without_dotdot(device.get("devicePath"), (*device_path, "devicePath"))
