"""Windows options of security contexts.

Source: kubernetes pkg/apis/core/validation/validation.go, validateWindowsSecurityContextOptions.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding, Path
from trainc.kube.documents import Json, items, mapping
from trainc.kube.names import length
from trainc.pods import mistakes
from trainc.pods.checks import dns_subdomain
from trainc.startup.patterns import pattern

_LARGEST_SPEC = 64 * 1024
_LONGEST_DOMAIN = 255
_LONGEST_USER = 104
_CONTROL = pattern(r"[\x00-\x1f\x7f]")
_NETBIOS = pattern(r"""[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}""")
_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DOMAIN = pattern(rf"{_LABEL}(?:\.{_LABEL})*")
_NOT_IN_USER = frozenset('"/\\:;|=,+*?<>@[]')


def check_options(options: Json, path: Path) -> Iterator[Finding]:
    """Check the `windowsOptions` of a pod or a container."""
    options = mapping(options)
    yield from dns_subdomain(options.get("gmsaCredentialSpecName"), (*path, "gmsaCredentialSpecName"))
    spec, user = options.get("gmsaCredentialSpec"), options.get("runAsUserName")
    if spec == "":
        yield mistakes.missing((*path, "gmsaCredentialSpec"))
    elif isinstance(spec, str) and length(spec) > _LARGEST_SPEC:
        yield mistakes.too_long((*path, "gmsaCredentialSpec"), length(spec), _LARGEST_SPEC)
    if isinstance(user, str) and not _is_user(user):
        yield mistakes.malformed((*path, "runAsUserName"), user, "USER or DOMAIN\\USER, as Windows has them")


def _is_user(value: str) -> bool:
    domain, slash, user = value.rpartition("\\")
    if not user or len(user) > _LONGEST_USER or not user.strip(". ") or _NOT_IN_USER.intersection(user):
        return False
    if _CONTROL.search(value) or "\\" in domain:
        return False
    return not slash or (
        len(domain) <= _LONGEST_DOMAIN and bool(_NETBIOS.fullmatch(domain) or _DOMAIN.fullmatch(domain))
    )


def check_host_process(spec: Json, path: Path) -> Iterator[Finding]:
    """Check `hostProcess`: all containers of a pod or none, and only on the host network."""
    own = _host_process(spec)
    running: list[bool] = []
    for kind in ("initContainers", "containers"):
        for i, container in enumerate(map(mapping, items(spec.get(kind)))):
            given = _host_process(container)
            if own is not None and given is not None and own != given:
                place = (*path, kind, i, "securityContext", "windowsOptions", "hostProcess")
                yield mistakes.conflict(
                    place, "hostProcess differs between the pod and the container", "make them equal"
                )
            running.append(bool(own if given is None else given))
    if any(running):
        if not all(running):
            message = "either all containers of a pod are host processes, or none"
            yield mistakes.conflict(path, message, "set hostProcess in the pod's windowsOptions")
        if spec.get("hostNetwork") is not True:
            message = "host processes need the host's network"
            yield mistakes.conflict((*path, "hostNetwork"), message, "set hostNetwork: true")


def _host_process(holder: Json) -> bool | None:
    given = mapping(mapping(holder.get("securityContext")).get("windowsOptions")).get("hostProcess")
    return given if isinstance(given, bool) else None
