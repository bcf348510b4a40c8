"""Containers: names, images, ports, variables, probes, restarts, and fields that only some kinds of containers have.

Source: kubernetes pkg/apis/core/validation/validation.go, validateContainers, validateInitContainers, ValidateEnv,
ValidateEnvFrom, validateProbe, validateHandler and validateLifecycle.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from trainc.findings import Finding, Path, remove, write
from trainc.kube.documents import Json, items, mapping, objects
from trainc.pods import errors
from trainc.pods.checks import (
    PULL_POLICY,
    Check,
    config_map_key,
    dns_label,
    dns_subdomain,
    duplicates,
    exactly_one,
    field_ref,
    is_variable_name,
    list_of,
    number,
    one_of,
    port,
    port_name,
    port_number,
    relative_path,
    resource_ref,
    struct,
    unless_empty,
    variable_name,
)
from trainc.pods.resources import check_resize_policy, check_resources
from trainc.startup.records import dataclass
from trainc.startup.typing import Any

# Fast path: most containers have no other fields.
_OFTEN_SET = frozenset(
    ("name", "image", "command", "args", "env", "resources", "ports", "volumeMounts", "volumeDevices", "workingDir")
)
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS = ("lifecycle", *_PROBES)
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
        yield errors.missing((*path, "containers"))
    seen: set[str] = set()
    for kind in ("containers", "initContainers"):
        ports: set[tuple[str, ...]] = set()
        for i, container in enumerate(items(spec.get(kind))):
            if not isinstance(container, dict):
                continue
            container_path = (*path, kind, i)
            name = container.get("name")
            if name and str(name) in seen:
                yield errors.duplicate((*container_path, "name"), name)
            seen.add(str(name))
            if container.get("ports"):
                # Init containers run one at a time, so they can use the same ports.
                yield from _host_ports(container, container_path, ports if kind == "containers" else set())
            yield from _container(container, container_path, pod)
            if not _OFTEN_SET.issuperset(container):
                starts_and_ends = kind == "initContainers" and container.get("restartPolicy") != "Always"
                yield from (_no_hooks if starts_and_ends else _hooks)(container, container_path, pod)


def _container(container: Json, path: Path, pod: Pod) -> Iterator[Finding]:
    name = container.get("name")
    if not name:
        yield errors.missing((*path, "name"))
    else:
        yield from dns_label(name, (*path, "name"))
    if not container.get("image"):
        yield errors.missing((*path, "image"))
    if container.get("env"):
        yield from _env(container["env"], (*path, "env"), pod.volumes)
    if container.get("resources"):
        yield from check_resources(container["resources"], (*path, "resources"), pod.claims)
    if container.get("ports"):
        yield from duplicates(container["ports"], "name", (*path, "ports"))
        yield from _PORTS(container["ports"], (*path, "ports"))
    if container.get("volumeMounts") or container.get("volumeDevices"):
        from trainc.pods.volumes import check_devices, check_mounts

        yield from check_mounts(container, path, pod.volumes)
        yield from check_devices(container, path, pod.volumes)
    if not _OFTEN_SET.issuperset(container):
        yield from _FIELDS(container, path)
        yield from _rare_fields(container, path, pod)


def _rare_fields(container: Json, path: Path, pod: Pod) -> Iterator[Finding]:
    if container.get("securityContext"):
        from trainc.pods.security import check_container_security

        context = container["securityContext"]
        yield from check_container_security(context, (*path, "securityContext"), host_users=pod.host_users)
    if container.get("resizePolicy"):
        yield from check_resize_policy(container["resizePolicy"], (*path, "resizePolicy"), pod.restart_policy)
    if container.get("restartPolicyRules"):
        rules, rules_path = items(container["restartPolicyRules"]), (*path, "restartPolicyRules")
        if container.get("restartPolicy") is None:
            yield errors.missing((*path, "restartPolicy"), "restartPolicyRules needs it")
        if len(rules) > _MOST_RULES:
            yield errors.too_many(rules_path, len(rules), _MOST_RULES)
        yield from list_of(_RULE)(rules, rules_path)


# Ports.


def _missing_number(value: Any, path: Path) -> Iterator[Finding]:
    if value.get("containerPort") == 0:
        yield errors.missing((*path, "containerPort"))


_PORTS = list_of(
    struct(
        {
            "name": unless_empty(port_name),
            "containerPort": unless_empty(port_number),
            "hostPort": unless_empty(port_number),
            "protocol": one_of("", "TCP", "UDP", "SCTP"),
        },
        also=_missing_number,
    )
)


def _host_ports(container: Json, path: Path, seen: set[tuple[str, ...]]) -> Iterator[Finding]:
    """Report host ports that several containers use at the same time."""
    for i, container_port in enumerate(objects(container.get("ports"))):
        if container_port.get("hostPort"):
            key = (
                str(container_port.get("protocol") or "TCP"),
                str(container_port.get("hostIP") or ""),
                str(container_port["hostPort"]),
            )
            if key in seen:
                yield errors.duplicate((*path, "ports", i, "hostPort"), container_port["hostPort"])
            seen.add(key)


# Restart rules.


def _exit_codes(value: Any, path: Path) -> Iterator[Finding]:
    if (count := len(items(value.get("values")))) > _MOST_EXIT_CODES:
        yield errors.too_many((*path, "values"), count, _MOST_EXIT_CODES)


_RULE = struct(
    {
        "action": one_of("Restart", "RestartAllContainers"),
        "exitCodes": struct({"operator": one_of("In", "NotIn")}, ("operator", "values"), _exit_codes),
    },
    needs=("action", "exitCodes"),
)


# Environment variables.

ENV_FIELDS = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)


def _object_key_name(value: Any, path: Path) -> Iterable[Finding]:
    return dns_subdomain(value.get("name") or "", (*path, "name"))


_OBJECT_KEY = struct({"key": config_map_key}, needs=("key",), also=_object_key_name)
_FILE_KEY = {"key": variable_name, "volumeName": dns_label, "path": relative_path}
_SOURCES: dict[str, Check] = {
    "fieldRef": field_ref(ENV_FIELDS),
    "resourceFieldRef": struct({}, needs=("resource",), also=resource_ref),
    "configMapKeyRef": _OBJECT_KEY,
    "secretKeyRef": _OBJECT_KEY,
    "fileKeyRef": struct(_FILE_KEY, needs=tuple(_FILE_KEY)),
}


def _env(variables: Any, path: Path, volumes: Mapping[str, Json]) -> Iterator[Finding]:
    """Check the variables of a container; `volumes` are those of the pod."""
    for i, variable in enumerate(items(variables)):
        if not isinstance(variable, dict):
            continue
        name = variable.get("name")
        if not name:
            yield errors.missing((*path, i, "name"))
        elif not is_variable_name(str(name)):
            yield from variable_name(name, (*path, i, "name"))
        if "valueFrom" in variable and variable["valueFrom"] is not None:
            yield from _value_from(variable, (*path, i))
            if isinstance(file := mapping(variable["valueFrom"]).get("fileKeyRef"), dict):
                yield from _from_file(file, (*path, i, "valueFrom", "fileKeyRef", "volumeName"), volumes)


def _value_from(variable: Json, path: Path) -> Iterator[Finding]:
    source_path, value_from = (*path, "valueFrom"), mapping(variable["valueFrom"])
    sources = [name for name, value in value_from.items() if value is not None and name in _SOURCES]
    for name in sources:
        yield from _SOURCES[name](value_from[name], (*source_path, name))
    if not sources:
        yield errors.missing_choice(source_path, tuple(_SOURCES), "valueFrom")
    elif variable.get("value"):
        message = f"variable {variable.get('name')!r} has both value and valueFrom"
        yield Finding("ValueAndValueFrom", "error", message, "keep one of them", source_path)
    elif len(sources) > 1:
        message = f"variable {variable.get('name')!r} has more than one source: {' and '.join(sources)}"
        yield errors.conflict(source_path, message)


def _from_file(file: Json, path: Path, volumes: Mapping[str, Json]) -> Iterator[Finding]:
    name = file.get("volumeName")
    if not name:
        return
    if str(name) not in volumes:
        yield errors.not_in_pod(path, "volume", str(name), volumes)
    elif any(field not in ("name", "emptyDir") and value is not None for field, value in volumes[str(name)].items()):
        message = "fileKeyRef can only read files of an emptyDir volume"
        yield errors.misplaced(path, message, "use the name of an emptyDir volume of the pod")


_NAMED = struct({"name": dns_subdomain}, needs=("name",))
_ENV_FROM = list_of(
    struct(
        {"prefix": unless_empty(variable_name), "configMapRef": _NAMED, "secretRef": _NAMED},
        also=exactly_one(("configMapRef", "secretRef"), "an item of envFrom", "split it into two items"),
    )
)
_FIELDS = struct(
    {
        "envFrom": _ENV_FROM,
        "imagePullPolicy": PULL_POLICY,
        "terminationMessagePolicy": one_of("", "File", "FallbackToLogsOnError"),
        "restartPolicy": one_of("Always", "OnFailure", "Never"),
    }
)


# Probes and lifecycle hooks: one handler each, and consistent times.

_HEADER_CHARACTERS = frozenset("-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")


def _header(value: Any, path: Path) -> Iterator[Finding]:
    name = mapping(value).get("name")
    if isinstance(name, str) and not (name and _HEADER_CHARACTERS.issuperset(name)):
        yield errors.malformed((*path, "name"), name, "letters, digits and '-'")


_HANDLERS: dict[str, Check] = {
    "exec": struct({}, needs=("command",)),
    "httpGet": struct({"port": port, "scheme": one_of("", "HTTP", "HTTPS"), "httpHeaders": list_of(_header)}),
    "tcpSocket": struct({"port": port}),
}
_PROBE_HANDLERS = {**_HANDLERS, "grpc": struct({"port": port_number})}
_TIMES = struct(
    {
        **dict.fromkeys(("initialDelaySeconds", "timeoutSeconds", "periodSeconds"), number(0)),
        **dict.fromkeys(("successThreshold", "failureThreshold"), number(0)),
        "terminationGracePeriodSeconds": number(1),
    }
)


def _no_hooks(container: Json, path: Path, _: Pod) -> Iterator[Finding]:
    for name in _HOOKS:
        if container.get(name) is not None:
            message = f"an init container that runs to completion cannot have {name}"
            hint = remove("remove it, or set restartPolicy: Always to make the container a sidecar")
            yield errors.misplaced((*path, name), message, hint)


def _hooks(container: Json, path: Path, pod: Pod) -> Iterator[Finding]:
    for name in _PROBES:
        if isinstance(probe := container.get(name), dict):
            yield from _handler(probe, (*path, name), _PROBE_HANDLERS)
            yield from _TIMES(probe, (*path, name))
            yield from _probe_of_kind(name, probe, (*path, name))

    def sleep(value: Any, path: Path) -> Iterator[Finding]:
        seconds, most = value.get("seconds"), pod.grace_period
        if isinstance(seconds, int) and most is not None and not 0 <= seconds <= most:
            message = f"the hook sleeps {seconds} seconds, but the pod has only {most} seconds to stop"
            hint = "increase terminationGracePeriodSeconds, or sleep less"
            yield Finding("OutOfRange", "error", message, hint, path)

    for name in ("postStart", "preStop"):
        if isinstance(hook := mapping(container.get("lifecycle")).get(name), dict):
            yield from _handler(hook, (*path, "lifecycle", name), {**_HANDLERS, "sleep": struct({}, also=sleep)})


def _probe_of_kind(name: str, probe: Json, path: Path) -> Iterator[Finding]:
    if name == "readinessProbe":
        if probe.get("terminationGracePeriodSeconds") is not None:
            message = "a readiness probe does not stop the container, so it has no grace period"
            yield errors.misplaced((*path, "terminationGracePeriodSeconds"), message, remove())
    elif isinstance(count := probe.get("successThreshold"), int) and count > 1:
        message = f"successThreshold of a {name} must be 1"
        threshold_path = (*path, "successThreshold")
        yield Finding("OutOfRange", "error", message, write(1, ", or remove it"), threshold_path)


def _handler(holder: Json, path: Path, handlers: Mapping[str, Check]) -> Iterator[Finding]:
    present = [name for name in handlers if holder.get(name) is not None]
    if not present:
        yield errors.missing_choice(path, tuple(handlers), str(path[-1]))
        return
    yield from handlers[present[0]](holder[present[0]], (*path, present[0]))
    for name in present[1:]:
        yield errors.conflict((*path, name), f"{path[-1]} has {present[0]} and {name}")
