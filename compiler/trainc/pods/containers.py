"""Containers: names, images, ports, restarts, and fields that only some kinds of containers can have.

Source: kubernetes pkg/apis/core/validation/validation.go, validateContainers and validateInitContainers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from trainc.findings import Finding, Path
from trainc.kube.documents import Json, items, mapping
from trainc.pods import mistakes
from trainc.pods.checks import dns_label, duplicates, list_of, number, one_of, port_name, struct, unless_empty
from trainc.pods.environment import check_env, check_env_from
from trainc.pods.mounts import check_devices, check_mounts
from trainc.pods.resources import check_resize_policy, check_resources
from trainc.pods.volumes import PULL_POLICY
from trainc.startup.records import dataclass

_PORT = number(1, 65535)
_MESSAGE_POLICY = one_of("", "File", "FallbackToLogsOnError")
# Fast path: most containers have no other fields.
_OFTEN_SET = frozenset(
    ("name", "image", "command", "args", "env", "resources", "ports", "volumeMounts", "volumeDevices", "workingDir")
)
_HOOKS = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
_MOST_RULES = 20
_MOST_EXIT_CODES = 255


@dataclass(frozen=True, slots=True)
class Pod:
    """What the rules for containers need to know about the pod.

    Volumes by name, names of claims, and a few fields of the spec.
    """

    volumes: Mapping[str, Json]
    claims: Collection[str]
    restart_policy: object
    grace_period: int | None
    host_users: bool


def check_containers(spec: Json, path: Path, pod: Pod) -> Iterator[Finding]:
    """Check all containers of a pod, whose names must be unique."""
    if spec.get("containers") == []:
        yield mistakes.missing((*path, "containers"))
    seen: set[str] = set()
    for kind in ("containers", "initContainers"):
        ports: set[tuple[str, ...]] = set()
        for i, container in enumerate(items(spec.get(kind))):
            if not isinstance(container, dict):
                continue
            place = (*path, kind, i)
            name = container.get("name")
            if name and str(name) in seen:
                yield mistakes.duplicate((*place, "name"), name)
            seen.add(str(name))
            if container.get("ports"):
                # Init containers run one at a time, so they can use the same ports.
                yield from _host_ports(container, place, ports if kind == "containers" else set())
            yield from _container(container, place, pod)
            if not _OFTEN_SET.issuperset(container):
                starts_and_ends = kind == "initContainers" and container.get("restartPolicy") != "Always"
                yield from (_no_hooks if starts_and_ends else _hooks)(container, place, pod)


def _container(container: Json, path: Path, pod: Pod) -> Iterator[Finding]:
    name = container.get("name")
    if not name:
        yield mistakes.missing((*path, "name"))
    else:
        yield from dns_label(name, (*path, "name"))
    if not container.get("image"):
        yield mistakes.missing((*path, "image"))
    if container.get("env"):
        yield from check_env(container["env"], (*path, "env"), pod.volumes)
    if container.get("resources"):
        yield from check_resources(container["resources"], (*path, "resources"), pod.claims)
    if container.get("ports"):
        yield from _ports(container["ports"], (*path, "ports"))
    if container.get("volumeMounts"):
        yield from check_mounts(container, path, pod.volumes)
    if container.get("volumeDevices"):
        yield from check_devices(container, path, pod.volumes)
    if not _OFTEN_SET.issuperset(container):
        yield from _FIELDS(container, path)
        yield from _rarely_set(container, path, pod)


def _rarely_set(container: Json, path: Path, pod: Pod) -> Iterator[Finding]:
    if container.get("envFrom"):
        yield from check_env_from(container["envFrom"], (*path, "envFrom"))
    if container.get("securityContext"):
        from trainc.pods.security import check_container_security

        context = container["securityContext"]
        yield from check_container_security(context, (*path, "securityContext"), host_users=pod.host_users)
    if container.get("resizePolicy"):
        yield from check_resize_policy(container["resizePolicy"], (*path, "resizePolicy"), pod.restart_policy)
    if container.get("restartPolicyRules"):
        yield from _restart_rules(container, path)


def _hooks(container: Json, path: Path, pod: Pod) -> Iterator[Finding]:
    if not any(name in container for name in _HOOKS):
        return
    from trainc.pods.probes import check_lifecycle, check_probes

    yield from check_probes(container, path)
    yield from check_lifecycle(container.get("lifecycle"), (*path, "lifecycle"), pod.grace_period)


def _no_hooks(container: Json, path: Path, pod: Pod) -> Iterator[Finding]:
    for name in _HOOKS:
        if container.get(name) is not None:
            message = f"an init container that runs to completion cannot have {name}"
            hint = "remove it, or set restartPolicy: Always to make the container a sidecar"
            yield mistakes.misplaced((*path, name), message, hint)


def _missing_number(value: Any, path: Path) -> Iterator[Finding]:
    if value.get("containerPort") == 0:
        yield mistakes.missing((*path, "containerPort"))


def _ports(value: Any, path: Path) -> Iterator[Finding]:
    yield from duplicates(value, "name", path)
    yield from list_of(_PORT_FIELDS)(value, path)


_PORT_FIELDS = struct(
    {
        "name": unless_empty(port_name),
        "containerPort": unless_empty(_PORT),
        "hostPort": unless_empty(_PORT),
        "protocol": one_of("", "TCP", "UDP", "SCTP"),
    },
    also=_missing_number,
)
_FIELDS = struct(
    {
        "imagePullPolicy": PULL_POLICY,
        "terminationMessagePolicy": _MESSAGE_POLICY,
        "restartPolicy": one_of("Always", "OnFailure", "Never"),
    }
)


def _host_ports(container: Json, path: Path, seen: set[tuple[str, ...]]) -> Iterator[Finding]:
    """Report host ports that several containers use at the same time."""
    for i, port in enumerate(map(mapping, items(container.get("ports")))):
        if port.get("hostPort"):
            key = (str(port.get("protocol") or "TCP"), str(port.get("hostIP") or ""), str(port["hostPort"]))
            if key in seen:
                yield mistakes.duplicate((*path, "ports", i, "hostPort"), port["hostPort"])
            seen.add(key)


def _restart_rules(container: Json, path: Path) -> Iterator[Finding]:
    rules, place = items(container["restartPolicyRules"]), (*path, "restartPolicyRules")
    if container.get("restartPolicy") is None:
        yield mistakes.missing((*path, "restartPolicy"), "restartPolicyRules needs it")
    if len(rules) > _MOST_RULES:
        yield mistakes.too_many(place, len(rules), _MOST_RULES)
    yield from list_of(_RULE)(rules, place)


def _exit_codes(value: Any, path: Path) -> Iterator[Finding]:
    if (count := len(items(value.get("values")))) > _MOST_EXIT_CODES:
        yield mistakes.too_many((*path, "values"), count, _MOST_EXIT_CODES)


_RULE = struct(
    {
        "action": one_of("Restart", "RestartAllContainers"),
        "exitCodes": struct({"operator": one_of("In", "NotIn")}, ("operator", "values"), _exit_codes),
    },
    needs=("action", "exitCodes"),
)
