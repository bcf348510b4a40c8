"""Pod templates: metadata, and the fields of the spec with their rules.

Source: kubernetes pkg/apis/core/validation/validation.go, ValidatePodTemplateSpec and ValidatePodSpec.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from trainc.findings import Finding, Path
from trainc.kube.documents import Json, items, mapping
from trainc.pods import mistakes
from trainc.pods.annotations import check_metadata, check_pod_annotations
from trainc.pods.checks import (
    LARGEST_INT32,
    Check,
    dns_label,
    dns_subdomain,
    duplicates,
    labels,
    list_of,
    number,
    one_of,
    qualified_name,
    struct,
)
from trainc.pods.containers import Pod, check_containers

_GRACE_PERIOD = 30
_Together = Callable[[Json, Path], Iterator[Finding]]


def check_template(template: Json, path: Path) -> Iterator[Finding]:
    """Check a pod template."""
    metadata, spec = mapping(template.get("metadata")), mapping(template.get("spec"))
    if metadata:
        yield from check_metadata(metadata, (*path, "metadata"))
        if metadata.get("annotations"):
            yield from check_pod_annotations(metadata, spec, (*path, "metadata"))
    yield from _check_spec(spec, (*path, "spec"))


def _check_spec(spec: Json, path: Path) -> Iterator[Finding]:
    yield from check_containers(spec, path, _pod(spec))
    for field, value in spec.items():
        if value is None or (value == "" and field not in _EMPTY_IS_WRONG):
            continue
        if field in _FIELDS:
            yield from _FIELDS[field](value, (*path, field))
        if field in _TOGETHER:
            yield from _TOGETHER[field](spec, path)
    holders = (spec, *(mapping(c) for kind in ("initContainers", "containers") for c in items(spec.get(kind))))
    if any("windowsOptions" in mapping(holder["securityContext"]) for holder in holders if "securityContext" in holder):
        from trainc.pods.windows import check_host_process

        yield from check_host_process(spec, path)


def _pod(spec: Json) -> Pod:
    volumes = {str(v["name"]): v for v in map(mapping, items(spec.get("volumes"))) if v.get("name")}
    claims = [str(c["name"]) for c in map(mapping, items(spec.get("resourceClaims"))) if c.get("name")]
    grace = spec.get("terminationGracePeriodSeconds")
    grace_period = _GRACE_PERIOD if grace is None else grace if isinstance(grace, int) else None
    return Pod(volumes, claims, spec.get("restartPolicy"), grace_period, spec.get("hostUsers") is not False)


def _claim(value: Any, path: Path) -> Iterator[Finding]:
    names = [name for name in _CLAIM_SOURCES if value.get(name) is not None]
    if not names:
        yield mistakes.missing_choice(path, _CLAIM_SOURCES, "a resource claim")
    elif len(names) > 1:
        yield mistakes.conflict(path, "a resource claim has both a name and a template")


_CLAIM_SOURCES = ("resourceClaimName", "resourceClaimTemplateName")
_CLAIM = struct({"name": dns_label, **dict.fromkeys(_CLAIM_SOURCES, dns_subdomain)}, ("name",), _claim)


def _claims(value: Any, path: Path) -> Iterator[Finding]:
    yield from duplicates(value, "name", path)
    yield from list_of(_CLAIM)(value, path)


def _ephemeral_containers(value: Any, path: Path) -> Iterator[Finding]:
    if value:
        message, hint = (
            "a template has no ephemeral containers",
            "remove them: `kubectl debug` adds them to a running pod",
        )
        yield mistakes.misplaced(path, message, hint)


# These modules are only imported if a pod has one of their fields.
def _volumes(value: Any, path: Path) -> Iterator[Finding]:
    from trainc.pods.volumes import check_volumes

    yield from check_volumes(value, path)


def _affinity(value: Any, path: Path) -> Iterator[Finding]:
    from trainc.pods.affinity import affinity

    yield from affinity(value, path)


def _scheduling(value: Any, path: Path) -> Iterator[Finding]:
    from trainc.pods import scheduling

    checks: dict[str, Check] = {
        "tolerations": scheduling.tolerations,
        "topologySpreadConstraints": scheduling.topology_spread,
        "schedulingGates": scheduling.scheduling_gates,
    }
    yield from checks[str(path[-1])](value, path)


def _dns_config(value: Any, path: Path) -> Iterator[Finding]:
    from trainc.pods.network import dns_config

    yield from dns_config(value, path)


def _host_aliases(value: Any, path: Path) -> Iterator[Finding]:
    from trainc.pods.network import host_aliases

    yield from host_aliases(value, path)


def _overhead(value: Any, path: Path) -> Iterator[Finding]:
    from trainc.pods.resources import check_overhead

    yield from check_overhead(value, path)


def _own_nameservers(spec: Json, path: Path) -> Iterator[Finding]:
    if spec["dnsPolicy"] == "None":
        from trainc.pods.network import own_nameservers

        yield from own_nameservers(spec, path)


def _hostname_override(spec: Json, path: Path) -> Iterator[Finding]:
    from trainc.pods.network import hostname_override

    yield from hostname_override(spec, path)


def _host_network(spec: Json, path: Path) -> Iterator[Finding]:
    if spec["hostNetwork"] is True:
        from trainc.pods.network import host_ports

        yield from host_ports(spec, path)


def _security(spec: Json, path: Path) -> Iterator[Finding]:
    from trainc.pods.security import check_pod_security

    yield from check_pod_security(spec, path)


def _host_namespaces(spec: Json, path: Path) -> Iterator[Finding]:
    from trainc.pods.security import check_host_namespaces

    yield from check_host_namespaces(spec, path)


def _operating_system(spec: Json, path: Path) -> Iterator[Finding]:
    from trainc.pods.security import check_operating_system

    yield from check_operating_system(spec, path)


def _pod_resources(spec: Json, path: Path) -> Iterator[Finding]:
    from trainc.pods.resources import check_pod_resources

    yield from check_pod_resources(spec, path)


# Empty strings count as absent, except in fields that are pointers in Go.
_EMPTY_IS_WRONG = ("preemptionPolicy", "runtimeClassName")
# Checks of single fields.
_FIELDS: dict[str, Check] = {
    "activeDeadlineSeconds": number(1, LARGEST_INT32),
    "affinity": _affinity,
    "dnsConfig": _dns_config,
    "dnsPolicy": one_of("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
    "ephemeralContainers": _ephemeral_containers,
    "hostAliases": _host_aliases,
    "hostname": dns_label,
    "nodeName": dns_subdomain,
    "nodeSelector": labels,
    "overhead": _overhead,
    "preemptionPolicy": one_of("PreemptLowerPriority", "Never"),
    "priorityClassName": dns_subdomain,
    "readinessGates": list_of(struct({"conditionType": qualified_name})),
    "resourceClaims": _claims,
    "runtimeClassName": dns_subdomain,
    "schedulingGates": _scheduling,
    "serviceAccount": dns_subdomain,
    "serviceAccountName": dns_subdomain,
    "subdomain": dns_label,
    "tolerations": _scheduling,
    "topologySpreadConstraints": _scheduling,
    "volumes": _volumes,
}
# Checks of a field in combination with others.
_TOGETHER: dict[str, _Together] = {
    "dnsPolicy": _own_nameservers,
    "hostNetwork": _host_network,
    "hostUsers": _host_namespaces,
    "hostnameOverride": _hostname_override,
    "os": _operating_system,
    "resources": _pod_resources,
    "securityContext": _security,
    "shareProcessNamespace": _host_namespaces,
}
