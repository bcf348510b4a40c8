"""Host names and DNS of pods: DNS configuration, host aliases, host names.

Source: kubernetes pkg/apis/core/validation/validation.go, validatePodDNSConfig and ValidateHostAliases.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.findings import Finding, Path
from trainc.kube.documents import Json, items, mapping
from trainc.kube.names import length
from trainc.pods import mistakes
from trainc.pods.checks import address, dns_subdomain, is_subdomain, list_of, struct

_MOST_NAMESERVERS = 3
_MOST_SEARCHES = 32
_LONGEST_SEARCHES = 2048
_LONGEST_HOSTNAME = 64
_SEARCH_FORM = "lowercase letters, digits, '-', '_' and '.', with a letter or digit first and last in every part"

host_aliases = list_of(
    struct(
        {"hostnames": list_of(dns_subdomain)}, also=lambda value, path: address(value.get("ip") or "", (*path, "ip"))
    )
)


def own_nameservers(spec: Json, path: Path) -> Iterator[Finding]:
    """Require name servers with `dnsPolicy: None`, because the pod has no others."""
    if spec.get("dnsPolicy") != "None":
        return
    config = spec.get("dnsConfig")
    hint = "add dnsConfig: {nameservers: [10.0.0.10]}, or use dnsPolicy: ClusterFirst"
    message = "with dnsPolicy None, the pod has no name server"
    if config is None:
        yield Finding(
            "MissingRequired", "error", message, hint=hint, path=(*path, "dnsConfig"), source_path=(*path, "dnsPolicy")
        )
    elif not items(mapping(config).get("nameservers")):
        yield Finding("MissingRequired", "error", message, hint=hint, path=(*path, "dnsConfig", "nameservers"))


def _amounts(value: Any, path: Path) -> Iterator[Finding]:
    for name, most in (("nameservers", _MOST_NAMESERVERS), ("searches", _MOST_SEARCHES)):
        if (count := len(items(value.get(name)))) > most:
            yield mistakes.too_many((*path, name), count, most)
    if (size := length(" ".join(map(str, items(value.get("searches")))))) > _LONGEST_SEARCHES:
        yield mistakes.too_long((*path, "searches"), size, _LONGEST_SEARCHES)
    for i, option in enumerate(items(value.get("options"))):
        if not mapping(option).get("name"):
            yield mistakes.missing((*path, "options", i, "name"))


def _search(value: Any, path: Path) -> Iterator[Finding]:
    # Underscores count as letters; a trailing dot marks an absolute name.
    if isinstance(value, str) and value != "." and not is_subdomain(value.removesuffix(".").replace("_", "0")):
        yield mistakes.malformed(path, value, _SEARCH_FORM)


dns_config = struct({"nameservers": list_of(address), "searches": list_of(_search)}, also=_amounts)


def hostname_override(spec: Json, path: Path) -> Iterator[Finding]:
    """Check `hostnameOverride`, which excludes other fields for the host name."""
    name, place = spec.get("hostnameOverride"), (*path, "hostnameOverride")
    yield from dns_subdomain(name, place)
    if isinstance(name, str) and len(name) > _LONGEST_HOSTNAME:
        yield mistakes.too_long(place, len(name), _LONGEST_HOSTNAME)
    for other in ("hostNetwork", "setHostnameAsFQDN"):
        if spec.get(other) is True:
            yield mistakes.conflict(place, f"hostnameOverride and {other} cannot be used together")


def host_ports(spec: Json, path: Path) -> Iterator[Finding]:
    """Check that host ports equal container ports in pods on the host network."""
    for i, container in enumerate(map(mapping, items(spec.get("containers")))):
        for k, port in enumerate(map(mapping, items(container.get("ports")))):
            if port.get("hostPort") and port["hostPort"] != port.get("containerPort"):
                message = f"with hostNetwork, hostPort {port['hostPort']} and containerPort {port.get('containerPort')} must be equal"
                place = (*path, "containers", i, "ports", k, "hostPort")
                yield mistakes.conflict(place, message, "remove hostPort, or make them equal")
