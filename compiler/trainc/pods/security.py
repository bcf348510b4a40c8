"""Security contexts of pods and containers: users, profiles, sysctls, and fields that exclude each other.

Source: kubernetes pkg/apis/core/validation/validation.go, validatePodSpecSecurityContext, ValidateSecurityContext.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.findings import Finding, Path
from trainc.kube.documents import Json, items, mapping
from trainc.pods import mistakes
from trainc.pods.checks import LARGEST_INT32, list_of, number, one_of, relative_path, struct
from trainc.startup.patterns import pattern

_ID = number(0, LARGEST_INT32)
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_LONGEST_PATH = 4095
_LONGEST_SYSCTL = 253
_SYSCTL = pattern(r"[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*")
_NETWORK_SYSCTLS = ("net.",)
_IPC_SYSCTLS = ("kernel.msg", "kernel.sem", "kernel.shm", "fs.mqueue.")
_OUTSIDE_WINDOWS = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged"),
    *("allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup", "fsGroup", "fsGroupChangePolicy", "sysctls"),
    *("supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy"),
)
_POD_OUTSIDE_WINDOWS = ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace")


def _profile(value: Any, path: Path) -> Iterator[Finding]:
    kind, name, place = value.get("type"), value.get("localhostProfile"), (*path, "localhostProfile")
    if kind == "Localhost" and not name:
        yield mistakes.missing(place, "type Localhost needs it")
    elif kind in _PROFILES and kind != "Localhost" and name is not None:
        yield mistakes.conflict(place, f"localhostProfile needs type Localhost, not {kind}", "remove it")


def _app_armor(value: Any, path: Path) -> Iterator[Finding]:
    yield from _profile(value, path)
    name, place = value.get("localhostProfile"), (*path, "localhostProfile")
    if value.get("type") == "Localhost" and isinstance(name, str):
        if name != name.strip():
            yield mistakes.malformed(place, name, "a name without spaces around it")
        if len(name) > _LONGEST_PATH:
            yield mistakes.too_long(place, len(name), _LONGEST_PATH)


def _windows(value: Any, path: Path) -> Iterator[Finding]:
    from trainc.pods.windows import check_options

    yield from check_options(value, path)


_BOTH = {
    "runAsUser": _ID,
    "runAsGroup": _ID,
    "seccompProfile": struct({"type": one_of(*_PROFILES), "localhostProfile": relative_path}, ("type",), _profile),
    "appArmorProfile": struct({"type": one_of(*_PROFILES)}, ("type",), _app_armor),
    "windowsOptions": _windows,
}
_POD = struct(
    {
        **_BOTH,
        "fsGroup": _ID,
        "supplementalGroups": list_of(_ID),
        "fsGroupChangePolicy": one_of("OnRootMismatch", "Always"),
        "supplementalGroupsPolicy": one_of("Merge", "Strict"),
        # MountOption needs the feature gate SELinuxMount, which is off in 1.36.
        "seLinuxChangePolicy": one_of("Recursive"),
    }
)
_CONTAINER = struct({**_BOTH, "procMount": one_of("Default", "Unmasked")})


def check_pod_security(spec: Json, path: Path) -> Iterator[Finding]:
    """Check the security context of a pod, including its sysctls."""
    context, place = mapping(spec.get("securityContext")), (*path, "securityContext")
    yield from _POD(context, place)
    if context.get("sysctls"):
        yield from _sysctls(context["sysctls"], (*place, "sysctls"), spec)


def check_host_namespaces(spec: Json, path: Path) -> Iterator[Finding]:
    """Check the fields of a pod that share namespaces with the host and exclude each other."""
    if spec.get("shareProcessNamespace") is True and spec.get("hostPID") is True:
        yield mistakes.conflict(
            (*path, "shareProcessNamespace"), "shareProcessNamespace and hostPID cannot be used together"
        )
    if spec.get("hostUsers") is False:
        for name in ("hostNetwork", "hostPID", "hostIPC"):
            if spec.get(name) is True:
                yield mistakes.conflict(
                    (*path, name), f"{name} needs the user namespace of the host", "remove hostUsers: false"
                )
        for kind in ("initContainers", "containers"):
            for i, container in enumerate(map(mapping, items(spec.get(kind)))):
                if container.get("volumeDevices"):
                    place = (*path, kind, i, "volumeDevices")
                    message = "block devices need the user namespace of the host"
                    yield mistakes.conflict(place, message, "remove hostUsers: false, or mount the volume instead")


def _sysctls(value: Any, path: Path, spec: Json) -> Iterator[Finding]:
    seen: set[str] = set()
    for i, sysctl in enumerate(map(mapping, items(value))):
        name, place = str(sysctl.get("name") or ""), (*path, i, "name")
        if not name:
            yield mistakes.missing(place)
        elif len(name) > _LONGEST_SYSCTL or not _SYSCTL.fullmatch(name):
            yield mistakes.malformed(place, name, "a kernel parameter such as net.core.somaxconn")
        elif name in seen:
            yield mistakes.duplicate(place, name)
        seen.add(name)
        dotted = name.replace("/", ".")
        for field, prefixes in (("hostNetwork", _NETWORK_SYSCTLS), ("hostIPC", _IPC_SYSCTLS)):
            if spec.get(field) is True and dotted.startswith(prefixes):
                yield mistakes.conflict(place, f"{name} and {field} cannot be used together")


def check_container_security(context: Any, path: Path, *, host_users: bool) -> Iterator[Finding]:
    """Check the security context of a container; `host_users` is whether its pod shares the host's user namespace."""
    context = mapping(context)
    yield from _CONTAINER(context, path)
    if context.get("procMount") == "Unmasked" and host_users:
        hint = "set hostUsers: false in the pod, or remove procMount"
        yield mistakes.conflict((*path, "procMount"), "procMount Unmasked needs a user namespace of the pod", hint)
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged") is True:
            message = "a privileged container can always escalate its privileges"
            yield mistakes.conflict(path, message, "remove allowPrivilegeEscalation: false, or privileged: true")
        if "CAP_SYS_ADMIN" in items(mapping(context.get("capabilities")).get("add")):
            message = "a container with CAP_SYS_ADMIN can always escalate its privileges"
            yield mistakes.conflict(path, message, "remove allowPrivilegeEscalation: false, or the capability")


def check_operating_system(spec: Json, path: Path) -> Iterator[Finding]:
    """Check `os`, and fields that pods of that system cannot have."""
    name = mapping(spec["os"]).get("name")
    if name == "linux":
        yield from _forbidden(spec, path, ("windowsOptions",), "Linux")
    elif name == "windows":
        yield from _forbidden(spec, path, _OUTSIDE_WINDOWS, "Windows")
        for field in _POD_OUTSIDE_WINDOWS:
            if spec.get(field) is not None and (
                spec[field] is not False or field in ("hostUsers", "shareProcessNamespace")
            ):
                yield _not_on((*path, field), "Windows")
    elif name:
        yield mistakes.unsupported((*path, "os", "name"), name, ("linux", "windows"))


def _forbidden(spec: Json, path: Path, fields: tuple[str, ...], system: str) -> Iterator[Finding]:
    places = [(path, spec)]
    for kind in ("initContainers", "containers"):
        places += [((*path, kind, i), container) for i, container in enumerate(items(spec.get(kind)))]
    for place, holder in places:
        context = mapping(mapping(holder).get("securityContext"))
        yield from (
            _not_on((*place, "securityContext", name), system) for name in fields if context.get(name) is not None
        )


def _not_on(path: Path, system: str) -> Finding:
    return mistakes.misplaced(path, f"a {system} pod cannot have {path[-1]}", "remove it, or change os")
