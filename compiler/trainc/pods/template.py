"""Pod templates: host names and DNS, and the other fields of the spec with their rules.

Source: kubernetes pkg/apis/core/validation/validation.go, ValidatePodTemplateSpec, ValidatePodSpec,
validatePodDNSConfig and ValidateHostAliases.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding, Path, remove
from trainc.kube.documents import Json, items, mapping, objects
from trainc.kube.names import is_subdomain, length
from trainc.pods import errors
from trainc.pods.checks import (
    LARGEST_INT32,
    Check,
    address,
    check_metadata,
    containers_of,
    dns_label,
    dns_subdomain,
    duplicates,
    exactly_one,
    labels,
    list_of,
    number,
    one_of,
    qualified_name,
    struct,
)
from trainc.pods.containers import Pod, check_containers
from trainc.pods.resources import check_overhead, check_pod_resources
from trainc.startup.typing import Any

_GRACE_PERIOD = 30


def check_template(template: Json, path: Path) -> Iterator[Finding]:
    """Check a pod template."""
    metadata, spec = mapping(template.get("metadata")), mapping(template.get("spec"))
    if metadata:
        yield from check_metadata(metadata, (*path, "metadata"))
    yield from _check_spec(spec, (*path, "spec"))


def _check_spec(spec: Json, path: Path) -> Iterator[Finding]:
    yield from check_containers(spec, path, _pod(spec))
    for field, value in spec.items():
        if field in _FIELDS and value is not None and (value != "" or field in _EMPTY_IS_WRONG):
            yield from _FIELDS[field](value, (*path, field))
    if not _HOST_NAMES.isdisjoint(spec):
        yield from _host_names(spec, path)
    if spec.get("resources") is not None:
        yield from check_pod_resources(spec, path)
    holders = (spec, *(container for _, container in containers_of(spec, path)))
    if not _SECURITY.isdisjoint(spec) or any("securityContext" in holder for holder in holders):
        from trainc.pods.security import check_pod_security

        yield from check_pod_security(spec, path)


def _pod(spec: Json) -> Pod:
    volumes = {str(v["name"]): v for v in objects(spec.get("volumes")) if v.get("name")}
    claims = [str(c["name"]) for c in objects(spec.get("resourceClaims")) if c.get("name")]
    grace = spec.get("terminationGracePeriodSeconds")
    grace_period = _GRACE_PERIOD if grace is None else grace if isinstance(grace, int) else None
    return Pod(volumes, claims, spec.get("restartPolicy"), grace_period, spec.get("hostUsers") is not False)


_CLAIM_SOURCES = ("resourceClaimName", "resourceClaimTemplateName")
_CLAIM = struct(
    {"name": dns_label, **dict.fromkeys(_CLAIM_SOURCES, dns_subdomain)},
    ("name",),
    exactly_one(_CLAIM_SOURCES, "a resource claim"),
)


def _claims(value: Any, path: Path) -> Iterator[Finding]:
    yield from duplicates(value, "name", path)
    yield from list_of(_CLAIM)(value, path)


def _ephemeral_containers(value: Any, path: Path) -> Iterator[Finding]:
    if value:
        hint = remove("remove them: `kubectl debug` adds them to a running pod")
        yield errors.misplaced(path, "a template has no ephemeral containers", hint)


# These modules are only imported if a pod has one of their fields.
def _volumes(value: Any, path: Path) -> Iterator[Finding]:
    from trainc.pods.volumes import check_volumes

    yield from check_volumes(value, path)


def _scheduling(value: Any, path: Path) -> Iterator[Finding]:
    from trainc.pods.scheduling import FIELDS

    yield from FIELDS[str(path[-1])](value, path)


# Host names and DNS.

_MOST = {"nameservers": 3, "searches": 32}
_LONGEST_SEARCHES = 2048
_LONGEST_HOSTNAME = 64
_SEARCH_FORM = "lowercase letters, digits, '-', '_' and '.', with a letter or digit first and last in every part"
_HOST_NAMES = frozenset(("dnsPolicy", "hostNetwork", "hostnameOverride"))


def _amounts(value: Any, path: Path) -> Iterator[Finding]:
    for name, most in _MOST.items():
        if (count := len(items(value.get(name)))) > most:
            yield errors.too_many((*path, name), count, most)
    if (size := length(" ".join(map(str, items(value.get("searches")))))) > _LONGEST_SEARCHES:
        yield errors.too_long((*path, "searches"), size, _LONGEST_SEARCHES)


def _search(value: Any, path: Path) -> Iterator[Finding]:
    # Underscores count as letters; a trailing dot marks an absolute name.
    if isinstance(value, str) and value != "." and not is_subdomain(value.removesuffix(".").replace("_", "0")):
        yield errors.malformed(path, value, _SEARCH_FORM)


def _alias(value: Any, path: Path) -> Iterator[Finding]:
    yield from address(value.get("ip") or "", (*path, "ip"))


def _host_names(spec: Json, path: Path) -> Iterator[Finding]:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None" and not items(mapping(config).get("nameservers")):
        config_path = (*path, "dnsConfig") if config is None else (*path, "dnsConfig", "nameservers")
        source = (*path, "dnsPolicy") if config is None else None
        message = "with dnsPolicy None, the pod has no name server"
        hint = "add dnsConfig: {nameservers: [10.0.0.10]}, or use dnsPolicy: ClusterFirst"
        yield Finding("MissingRequired", "error", message, hint, config_path, source_path=source)
    if spec.get("hostNetwork") is True:
        yield from _host_ports(spec, path)
    name, override_path = spec.get("hostnameOverride"), (*path, "hostnameOverride")
    if name in (None, ""):
        return
    yield from dns_subdomain(name, override_path)
    if isinstance(name, str) and len(name) > _LONGEST_HOSTNAME:
        yield errors.too_long(override_path, len(name), _LONGEST_HOSTNAME)
    for other in ("hostNetwork", "setHostnameAsFQDN"):
        if spec.get(other) is True:
            yield errors.conflict(override_path, f"hostnameOverride and {other} cannot be used together")


def _host_ports(spec: Json, path: Path) -> Iterator[Finding]:
    """Check that host ports equal container ports, as pods on the host network need."""
    for i, container in enumerate(objects(spec.get("containers"))):
        for k, port in enumerate(objects(container.get("ports"))):
            if port.get("hostPort") and port["hostPort"] != port.get("containerPort"):
                message = f"with hostNetwork, hostPort {port['hostPort']} and containerPort {port.get('containerPort')} must be equal"
                port_path = (*path, "containers", i, "ports", k, "hostPort")
                yield errors.conflict(port_path, message, remove("remove hostPort, or make them equal"))


# Empty strings count as absent, except in fields that are pointers in Go.
_EMPTY_IS_WRONG = ("preemptionPolicy", "runtimeClassName")
_SECURITY = frozenset(("hostUsers", "os", "shareProcessNamespace"))
_FIELDS: dict[str, Check] = {
    "activeDeadlineSeconds": number(1, LARGEST_INT32),
    "affinity": _scheduling,
    "dnsConfig": struct(
        {
            "nameservers": list_of(address),
            "searches": list_of(_search),
            "options": list_of(struct({}, needs=("name",))),
        },
        also=_amounts,
    ),
    "dnsPolicy": one_of("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
    "ephemeralContainers": _ephemeral_containers,
    "hostAliases": list_of(struct({"hostnames": list_of(dns_subdomain)}, also=_alias)),
    "hostname": dns_label,
    "nodeName": dns_subdomain,
    "nodeSelector": labels,
    "overhead": check_overhead,
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
