"""Probes and lifecycle hooks: one handler each, and consistent times.

Source: kubernetes pkg/apis/core/validation/validation.go, validateProbe, validateHandler and validateLifecycle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainc.findings import Finding, Path
from trainc.kube.documents import Json, items, mapping
from trainc.pods import mistakes
from trainc.pods.checks import Check, number, one_of, port, struct

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HEADER_CHARACTERS = frozenset("-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")


def _headers(value: Any, path: Path) -> Iterator[Finding]:
    for i, header in enumerate(map(mapping, items(value))):
        name = header.get("name")
        if isinstance(name, str) and not (name and _HEADER_CHARACTERS.issuperset(name)):
            yield mistakes.malformed((*path, i, "name"), name, "letters, digits and '-'")


_EXEC = struct({}, needs=("command",))
_TCP = struct({"port": port})
_HTTP = struct({"port": port, "scheme": one_of("", "HTTP", "HTTPS"), "httpHeaders": _headers})
_PROBE_HANDLERS: dict[str, Check] = {
    "exec": _EXEC,
    "httpGet": _HTTP,
    "tcpSocket": _TCP,
    "grpc": struct({"port": number(1, 65535)}),
}
_AT_LEAST_0 = number(0)
_TIMES = struct(
    {
        **dict.fromkeys(("initialDelaySeconds", "timeoutSeconds", "periodSeconds"), _AT_LEAST_0),
        **dict.fromkeys(("successThreshold", "failureThreshold"), _AT_LEAST_0),
        "terminationGracePeriodSeconds": number(1),
    }
)


def check_probes(container: Json, path: Path) -> Iterator[Finding]:
    """Check the probes of a container."""
    for name in PROBES:
        probe, place = container.get(name), (*path, name)
        if not isinstance(probe, dict):
            continue
        yield from _handler(probe, place, _PROBE_HANDLERS)
        yield from _TIMES(probe, place)
        if name == "readinessProbe":
            if probe.get("terminationGracePeriodSeconds") is not None:
                message = "a readiness probe does not stop the container, so it has no grace period"
                yield mistakes.misplaced((*place, "terminationGracePeriodSeconds"), message, "remove it")
        elif isinstance(count := probe.get("successThreshold"), int) and count > 1:
            hint = "write 1, or remove it"
            message = f"successThreshold of a {name} must be 1"
            yield Finding("OutOfRange", "error", message, hint=hint, path=(*place, "successThreshold"))


def check_lifecycle(lifecycle: Any, path: Path, grace_period: int | None) -> Iterator[Finding]:
    """Check the hooks of a container; `grace_period` is that of its pod, in seconds."""

    def sleep(value: Any, place: Path) -> Iterator[Finding]:
        seconds = value.get("seconds")
        if isinstance(seconds, int) and grace_period is not None and not 0 <= seconds <= grace_period:
            message = f"the hook sleeps {seconds} seconds, but the pod has only {grace_period} seconds to stop"
            yield Finding(
                "OutOfRange", "error", message, hint="increase terminationGracePeriodSeconds, or sleep less", path=place
            )

    handlers = {"exec": _EXEC, "httpGet": _HTTP, "tcpSocket": _TCP, "sleep": struct({}, also=sleep)}
    for name in ("postStart", "preStop"):
        if isinstance(hook := mapping(lifecycle).get(name), dict):
            yield from _handler(hook, (*path, name), handlers)


def _handler(holder: Json, path: Path, handlers: Mapping[str, Check]) -> Iterator[Finding]:
    given = [name for name in handlers if holder.get(name) is not None]
    if not given:
        yield mistakes.missing_choice(path, tuple(handlers), str(path[-1]))
        return
    yield from handlers[given[0]](holder[given[0]], (*path, given[0]))
    for name in given[1:]:
        yield mistakes.conflict((*path, name), f"{path[-1]} has {given[0]} and {name}")
