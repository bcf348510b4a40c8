"""Environment variables: names and sources.

Source: kubernetes pkg/apis/core/validation/validation.go, ValidateEnv and ValidateEnvFrom.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trainc.findings import Finding, Path
from trainc.kube.documents import Json, items, mapping
from trainc.kube.quantity import canonical
from trainc.pods import mistakes
from trainc.pods.checks import (
    Check,
    config_map_key,
    dns_label,
    dns_subdomain,
    is_key,
    is_variable_name,
    relative_path,
    struct,
    variable_name,
)

ENV_FIELDS = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
VOLUME_FIELDS = ("metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid")
# From podshelper.ConvertDownwardAPIFieldLabel; `spec.host` is the old name of spec.nodeName.
_RENAMED = {"spec.host": "spec.nodeName"}
_RESOURCES = tuple(
    f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage")
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_CPU_DIVISORS = ("1m", "1")
_BYTE_DIVISORS = (
    "1",
    *(f"1{prefix}{base}" for base in ("", "i") for prefix in "kMGTPE" if prefix + base != "ki"),
    "1Ki",
)
_FROM = ("configMapRef", "secretRef")


def field_ref(allowed: tuple[str, ...]) -> Check:
    """A reference to a field of the pod: one of `allowed`, or a single label or annotation."""

    def check(value: Any, path: Path) -> Iterable[Finding]:
        written = value.get("fieldPath")
        if not isinstance(written, str) or not written:
            return ()
        place = (*path, "fieldPath")
        name, bracket, key = written.partition("['")
        if bracket and written.endswith("']"):
            return _subscripted(place, path, name, key[:-2])
        return () if _RENAMED.get(written, written) in allowed else (mistakes.unsupported(place, written, allowed),)

    return struct({"apiVersion": _api_version}, needs=("fieldPath",), also=check)


def _subscripted(place: Path, path: Path, name: str, key: str) -> Iterable[Finding]:
    if name not in ("metadata.labels", "metadata.annotations"):
        return (
            mistakes.unsupported(place, f"{name}['{key}']", ("metadata.labels['KEY']", "metadata.annotations['KEY']")),
        )
    if is_key(key.lower() if name == "metadata.annotations" else key):
        return ()
    message = f"{key!r} is not a valid key for a label or annotation"
    hint = "write the key exactly as in the pod's metadata"
    return (Finding("InvalidLabel", "error", message, hint=hint, path=path, source_path=place),)


def _api_version(value: Any, path: Path) -> Iterable[Finding]:
    return () if value in ("", "v1") else (mistakes.unsupported(path, value, ("v1",)),)


def resource_ref(value: Any, path: Path) -> Iterator[Finding]:
    """A reference to a resource of a container."""
    name = value.get("resource")
    if not isinstance(name, str) or not name:
        return
    if name not in _RESOURCES and not name.startswith(_HUGE_PAGES):
        yield mistakes.unsupported((*path, "resource"), name, _RESOURCES)
    divisor = _divisor(value.get("divisor"))
    allowed = _CPU_DIVISORS if name.endswith(".cpu") else _BYTE_DIVISORS
    if divisor not in ("0", *allowed) and (name in _RESOURCES or name.startswith(_HUGE_PAGES)):
        yield mistakes.unsupported((*path, "divisor"), divisor, allowed)


def _divisor(value: Any) -> str:
    try:
        return canonical(str(value)) if value is not None else "0"
    except ValueError:
        return "0"  # Reported by the schema stage.


_OBJECT_KEY = struct(
    {"key": config_map_key},
    needs=("key",),
    also=lambda value, path: dns_subdomain(value.get("name") or "", (*path, "name")),
)
_SOURCES: dict[str, Check] = {
    "fieldRef": field_ref(ENV_FIELDS),
    "resourceFieldRef": struct({}, needs=("resource",), also=resource_ref),
    "configMapKeyRef": _OBJECT_KEY,
    "secretKeyRef": _OBJECT_KEY,
    "fileKeyRef": struct(
        {"key": variable_name, "volumeName": dns_label, "path": relative_path}, needs=("key", "volumeName", "path")
    ),
}


def check_env(variables: Any, path: Path, volumes: Mapping[str, Json]) -> Iterator[Finding]:
    """Check the variables of a container; `volumes` are those of the pod."""
    for i, variable in enumerate(items(variables)):
        if not isinstance(variable, dict):
            continue
        name = variable.get("name")
        if not name:
            yield mistakes.missing((*path, i, "name"))
        elif not is_variable_name(str(name)):
            yield from variable_name(name, (*path, i, "name"))
        if "valueFrom" in variable and variable["valueFrom"] is not None:
            yield from _value_from(variable, (*path, i))
            if isinstance(file := mapping(variable["valueFrom"]).get("fileKeyRef"), dict):
                yield from _from_file(file, (*path, i, "valueFrom", "fileKeyRef", "volumeName"), volumes)


def _value_from(variable: Json, path: Path) -> Iterator[Finding]:
    place = (*path, "valueFrom")
    sources = [
        (name, value)
        for name, value in mapping(variable["valueFrom"]).items()
        if value is not None and name in _SOURCES
    ]
    for name, value in sources:
        yield from _SOURCES[name](value, (*place, name))
    if not sources:
        yield mistakes.missing_choice(place, tuple(_SOURCES), "valueFrom")
    elif variable.get("value"):
        message = f"variable {variable.get('name')!r} has both value and valueFrom"
        yield Finding("ValueAndValueFrom", "error", message, hint="keep one of them", path=place)
    elif len(sources) > 1:
        names = " and ".join(name for name, _ in sources)
        yield mistakes.conflict(place, f"variable {variable.get('name')!r} has more than one source: {names}")


def _from_file(file: Json, path: Path, volumes: Mapping[str, Json]) -> Iterator[Finding]:
    name = file.get("volumeName")
    if not name:
        return
    if str(name) not in volumes:
        yield mistakes.not_in_pod(path, "volume", str(name), volumes)
    elif any(field not in ("name", "emptyDir") and value is not None for field, value in volumes[str(name)].items()):
        message = "fileKeyRef can only read files of an emptyDir volume"
        yield mistakes.misplaced(path, message, "use the name of an emptyDir volume of the pod")


def check_env_from(sources: Any, path: Path) -> Iterator[Finding]:
    """Check the ConfigMaps and Secrets that are imported as a whole."""
    for i, source in enumerate(map(mapping, items(sources))):
        if source.get("prefix"):
            yield from variable_name(source["prefix"], (*path, i, "prefix"))
        named = [name for name in _FROM if source.get(name) is not None]
        for name in named:
            yield from struct({"name": dns_subdomain}, needs=("name",))(source[name], (*path, i, name))
        if not named:
            yield mistakes.missing_choice((*path, i), _FROM, "an item of envFrom")
        elif len(named) > 1:
            yield mistakes.conflict(
                (*path, i), "an item of envFrom has both configMapRef and secretRef", "split it into two items"
            )
