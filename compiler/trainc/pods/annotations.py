"""Pod metadata: annotation keys, their total size, and annotations that Kubernetes interprets.

Source: kubernetes pkg/apis/core/validation/validation.go, ValidatePodSpecificAnnotations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainc.findings import Finding, Path
from trainc.kube.documents import Json, items, mapping
from trainc.kube.names import length
from trainc.pods import mistakes
from trainc.pods.checks import LARGEST_INT32, is_key, labels, relative_path

_MOST_BYTES = 256 * 1024
_MIRROR = "kubernetes.io/config.mirror"
_TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_KEY_FORM = "letters, digits, '-', '_' and '.', at most 63, with or without a domain and '/' before"


def check_metadata(metadata: Json, path: Path) -> Iterator[Finding]:
    """Check the labels and annotations of any object."""
    if metadata.get("labels"):
        yield from labels(metadata["labels"], (*path, "labels"))
    if metadata.get("annotations"):
        yield from _annotations(mapping(metadata["annotations"]), path)


def _annotations(annotations: Json, path: Path) -> Iterator[Finding]:
    for key in annotations:
        if not is_key(str(key).lower()):
            message = f"{key!r} is not a valid key for an annotation"
            yield mistakes.bad_annotation((*path, "annotations", key), message, f"use {_KEY_FORM}")
    size = sum(length(str(key)) + length(str(value)) for key, value in annotations.items())
    if size > _MOST_BYTES:
        yield mistakes.too_long((*path, "annotations"), size, _MOST_BYTES)


def check_pod_annotations(metadata: Json, spec: Json, path: Path) -> Iterator[Finding]:
    """Check the annotations that affect how a pod runs; `path` is the path of its metadata."""
    annotations = {str(key): str(value) for key, value in mapping(metadata.get("annotations")).items()}
    for key, value in annotations.items():
        if "kubernetes.io/" in key:
            yield from _known(key, value, spec, (*path, "annotations", key))
    if any(key == _SECCOMP_POD or key.startswith((_SECCOMP, _APPARMOR)) for key in annotations):
        yield from _against_fields(annotations, spec, (*path[:-1], "spec"))


def _known(key: str, value: str, spec: Json, path: Path) -> Iterator[Finding]:
    if key == _MIRROR and not spec.get("nodeName"):
        message, hint = "a mirror pod is bound to a node", "remove the annotation: only the kubelet sets it"
        yield mistakes.bad_annotation(path, message, hint)
    elif key == _DELETION_COST and not _is_cost(value):
        yield mistakes.bad_annotation(path, f"{value!r} is not a 32-bit number", "write a number such as 100")
    elif key == _TOLERATIONS and value:
        yield from _tolerations(value, path)
    elif (key == _SECCOMP_POD or key.startswith(_SECCOMP)) and not _is_seccomp(value):
        message, hint = f"{value!r} is not a seccomp profile", "use securityContext.seccompProfile instead"
        yield mistakes.bad_annotation(path, message, hint)
    elif key.startswith(_APPARMOR):
        yield from _apparmor(key.removeprefix(_APPARMOR), value, spec, path)


def _against_fields(annotations: Mapping[str, str], spec: Json, path: Path) -> Iterator[Finding]:
    """Report profiles that differ between an annotation and a security context."""
    context = mapping(spec.get("securityContext"))
    given = [(_SECCOMP_POD, context.get("seccompProfile"), (*path, "securityContext", "seccompProfile"))]
    for kind in ("initContainers", "containers"):
        for i, container in enumerate(map(mapping, items(spec.get(kind)))):
            own, place = mapping(container.get("securityContext")), (*path, kind, i, "securityContext")
            name = str(container.get("name"))
            armor = own.get("appArmorProfile") or context.get("appArmorProfile")
            given.append((_SECCOMP + name, own.get("seccompProfile"), (*place, "seccompProfile")))
            given.append((_APPARMOR + name, armor, (*place, "appArmorProfile")))
    for key, profile, place in given:
        if key in annotations and isinstance(profile, dict) and annotations[key] not in _as_annotation(profile):
            message = f"the annotation {key} is {annotations[key]!r}, but the field is {profile.get('type')}"
            yield mistakes.conflict((*place, "type"), message, "remove the annotation")


def _as_annotation(profile: Json) -> tuple[str, ...]:
    kind = profile.get("type")
    if kind == "RuntimeDefault":
        return ("runtime/default", "docker/default")
    return ("unconfined",) if kind == "Unconfined" else (f"localhost/{profile.get('localhostProfile')}",)


def _is_cost(value: str) -> bool:
    digits = value.removeprefix("-")
    plain = digits.isascii() and digits.isdecimal() and len(digits) < 12
    return plain and (value[0] != "0" or value == "0") and -LARGEST_INT32 - 1 <= int(value) <= LARGEST_INT32


def _is_seccomp(value: str) -> bool:
    local = value.removeprefix("localhost/")
    if local != value:
        return not any(relative_path(local, ()))
    return value in ("runtime/default", "docker/default", "unconfined")


def _tolerations(value: str, path: Path) -> Iterator[Finding]:
    import json

    from trainc.pods.scheduling import tolerations

    try:
        given: Any = json.loads(value)
    except ValueError:
        given = None
    if not isinstance(given, list) or any(tolerations(given, path)):
        hint = "remove the annotation, and set spec.tolerations of the pod"
        yield mistakes.bad_annotation(path, "its value is not a list of tolerations", hint)


def _apparmor(container: str, value: str, spec: Json, path: Path) -> Iterator[Finding]:
    known = [mapping(c).get("name") for kind in ("containers", "initContainers") for c in items(spec.get(kind))]
    if container not in known:
        yield mistakes.not_in_pod(path, "container", container, map(str, known))
    if value not in ("", "runtime/default", "unconfined") and not value.startswith("localhost/"):
        message, hint = f"{value!r} is not an AppArmor profile", "use securityContext.appArmorProfile instead"
        yield mistakes.bad_annotation(path, message, hint)
