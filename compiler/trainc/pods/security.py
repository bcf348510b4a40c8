"""Security contexts of pods and containers: users, profiles, sysctls, and fields that exclude each other.

What a Windows pod cannot have is checked, and not what only it can have: users, credentials and host processes.

Source: kubernetes pkg/apis/core/validation/validation.go, validatePodSpecSecurityContext, ValidateSecurityContext,
validateHostUsers and validateOS.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.findings import Finding, Path, remove, write
from trainc.kube.documents import Json, items, mapping, objects
from trainc.pods import errors
from trainc.pods.checks import LARGEST_INT32, containers_of, list_of, number, one_of, relative_path, struct
from trainc.startup.patterns import pattern

_ID = number(0, LARGEST_INT32)
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_LONGEST_PATH = 4095
_LONGEST_SYSCTL = 253
_SYSCTL = pattern(r"[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*")
# Field of a pod -> the kernel parameters that belong to the host if it is true.
_HOST_SYSCTLS = {"hostNetwork": ("net.",), "hostIPC": ("kernel.msg", "kernel.sem", "kernel.shm", "fs.mqueue.")}

# Operating system -> what the security contexts of its pods and containers cannot have.
_FORBIDDEN = {
    "linux": ("windowsOptions",),
    "windows": (
        *("appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem"),
        *("privileged", "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup", "fsGroup"),
        *("fsGroupChangePolicy", "sysctls", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy"),
    ),
}
# What the specs of Windows pods cannot have; False counts as absent where Go's type has no pointer.
_NOT_ON_WINDOWS = {"hostUsers": None, "hostPID": False, "hostIPC": False, "shareProcessNamespace": None}


def _profile(value: Any, path: Path) -> Iterator[Finding]:
    kind, name, profile_path = value.get("type"), value.get("localhostProfile"), (*path, "localhostProfile")
    if kind == "Localhost" and not name:
        yield errors.missing(profile_path, "type Localhost needs it")
    elif kind in _PROFILES and kind != "Localhost" and name is not None:
        yield errors.conflict(profile_path, f"localhostProfile needs type Localhost, not {kind}", remove())


def _app_armor(value: Any, path: Path) -> Iterator[Finding]:
    yield from _profile(value, path)
    name, profile_path = value.get("localhostProfile"), (*path, "localhostProfile")
    if value.get("type") == "Localhost" and isinstance(name, str):
        if name != name.strip():
            yield errors.malformed(profile_path, name, "a name without spaces around it")
        if len(name) > _LONGEST_PATH:
            yield errors.too_long(profile_path, len(name), _LONGEST_PATH)


def _selinux_change(value: Any, path: Path) -> Iterator[Finding]:
    """Without the feature gate SELinuxMount, which is off until 1.37, there is only one policy."""
    if value == "MountOption":
        hint = write("Recursive", ", or remove it: MountOption is accepted from Kubernetes 1.37 on")
        yield Finding("UnsupportedValue", "error", "MountOption is not accepted by Kubernetes 1.36", hint, path)
    else:
        yield from one_of("Recursive")(value, path)


_BOTH = {
    "runAsUser": _ID,
    "runAsGroup": _ID,
    "seccompProfile": struct({"type": one_of(*_PROFILES), "localhostProfile": relative_path}, ("type",), _profile),
    "appArmorProfile": struct({"type": one_of(*_PROFILES)}, ("type",), _app_armor),
}
_POD = struct(
    {
        **_BOTH,
        "fsGroup": _ID,
        "supplementalGroups": list_of(_ID),
        "fsGroupChangePolicy": one_of("OnRootMismatch", "Always"),
        "supplementalGroupsPolicy": one_of("Merge", "Strict"),
        "seLinuxChangePolicy": _selinux_change,
    }
)
_CONTAINER = struct({**_BOTH, "procMount": one_of("Default", "Unmasked")})


def check_pod_security(spec: Json, path: Path) -> Iterator[Finding]:
    """Check the security context of a pod, its namespaces and its operating system."""
    context, context_path = mapping(spec.get("securityContext")), (*path, "securityContext")
    yield from _POD(context, context_path)
    yield from _sysctls(context.get("sysctls"), (*context_path, "sysctls"), spec)
    yield from _host_namespaces(spec, path)
    yield from _operating_system(spec, path)


def check_container_security(context: Any, path: Path, *, host_users: bool) -> Iterator[Finding]:
    """Check the security context of a container; `host_users` is whether its pod shares the host's user namespace."""
    context = mapping(context)
    yield from _CONTAINER(context, path)
    if context.get("procMount") == "Unmasked" and host_users:
        hint = "set hostUsers: false in the pod, or remove procMount"
        yield errors.conflict((*path, "procMount"), "procMount Unmasked needs a user namespace of the pod", hint)
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged") is True:
            message = "a privileged container can always escalate its privileges"
            yield errors.conflict(path, message, "remove allowPrivilegeEscalation: false, or privileged: true")
        if "CAP_SYS_ADMIN" in items(mapping(context.get("capabilities")).get("add")):
            message = "a container with CAP_SYS_ADMIN can always escalate its privileges"
            yield errors.conflict(path, message, "remove allowPrivilegeEscalation: false, or the capability")


def _sysctls(value: Any, path: Path, spec: Json) -> Iterator[Finding]:
    seen: set[str] = set()
    for i, sysctl in enumerate(objects(value)):
        name, name_path = str(sysctl.get("name") or ""), (*path, i, "name")
        if not name:
            yield errors.missing(name_path)
        elif len(name) > _LONGEST_SYSCTL or not _SYSCTL.fullmatch(name):
            yield errors.malformed(name_path, name, "a kernel parameter such as net.core.somaxconn")
        elif name in seen:
            yield errors.duplicate(name_path, name)
        seen.add(name)
        for field, prefixes in _HOST_SYSCTLS.items():
            if spec.get(field) is True and name.replace("/", ".").startswith(prefixes):
                yield errors.conflict(name_path, f"{name} and {field} cannot be used together")


def _host_namespaces(spec: Json, path: Path) -> Iterator[Finding]:
    if spec.get("shareProcessNamespace") is True and spec.get("hostPID") is True:
        message = "shareProcessNamespace and hostPID cannot be used together"
        yield errors.conflict((*path, "shareProcessNamespace"), message)
    if spec.get("hostUsers") is not False:
        return
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(name) is True:
            message = f"{name} needs the user namespace of the host"
            yield errors.conflict((*path, name), message, "remove hostUsers: false")
    for container_path, container in containers_of(spec, path):
        if container.get("volumeDevices"):
            message = "block devices need the user namespace of the host"
            hint = "remove hostUsers: false, or mount the volume instead"
            yield errors.conflict((*container_path, "volumeDevices"), message, hint)


def _operating_system(spec: Json, path: Path) -> Iterator[Finding]:
    name = mapping(spec.get("os")).get("name")
    if not name:
        return
    if name not in ("linux", "windows"):
        yield errors.unsupported((*path, "os", "name"), name, ("linux", "windows"))
        return
    for holder_path, holder in ((path, spec), *containers_of(spec, path)):
        context = mapping(holder.get("securityContext"))
        for field in _FORBIDDEN[name]:
            if context.get(field) is not None:
                yield _not_on((*holder_path, "securityContext", field), name)
    if name == "windows":
        for field, absent in _NOT_ON_WINDOWS.items():
            if spec.get(field) not in (None, absent):
                yield _not_on((*path, field), name)


def _not_on(path: Path, system: str) -> Finding:
    return errors.misplaced(
        path, f"a {system.capitalize()} pod cannot have {path[-1]}", remove("remove it, or change os")
    )
