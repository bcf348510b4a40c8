"""The Pod Security Standards that a namespace's labels ask for, checked as the admission plugin checks a pod.

Source: kubernetes/pod-security-admission policy/ and api/helpers.go, v0.36 and v0.37.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.findings import Path
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

_LABEL = "pod-security.kubernetes.io"
_LEVELS = ("privileged", "baseline", "restricted")
_VERSION = pattern(r"v1\.(0|[1-9][0-9]{0,2})")
_NEWEST = 37

Pod: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Standard:
    """A level and the minor of Kubernetes whose rules it has; None is the cluster's own."""

    level: str
    minor: int | None

    def __str__(self) -> str:
        return f"{self.level}:{'latest' if self.minor is None else f'v1.{self.minor}'}"


@dataclass(frozen=True, slots=True)
class Violation:
    """A check that a pod fails: the reason and detail of the API server's message, the field, and what to write."""

    reason: str
    detail: str
    path: Path
    hint: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})"


def standards(labels: Mapping[str, str]) -> dict[str, Standard]:
    """What a namespace's labels enforce, warn about and audit."""
    found = {}
    for mode in ("enforce", "warn", "audit"):
        level = labels.get(f"{_LABEL}/{mode}", "privileged")
        if level not in _LEVELS:
            # An unknown level is taken for the strictest one where it is enforced, and for none elsewhere.
            level = "restricted" if mode == "enforce" else "privileged"
        found[mode] = Standard(level, _minor(labels.get(f"{_LABEL}/{mode}-version", "latest")))
    if f"{_LABEL}/warn" not in labels and labels.get(f"{_LABEL}/enforce") in _LEVELS:
        warned = found["enforce"].minor if f"{_LABEL}/warn-version" not in labels else found["warn"].minor
        found["warn"] = Standard(found["enforce"].level, warned)
    return found


def _minor(text: str) -> int | None:
    match = _VERSION.fullmatch(text)
    return int(match[1]) if match else None


def violations(standard: Standard, pod: Pod, cluster: int) -> list[Violation]:
    """The checks of a standard that a pod fails, in the order of the API server's message.

    `pod` is a Pod or the template of one; `cluster` is the minor of Kubernetes.
    """
    if standard.level == "privileged":
        return []
    newest = min(cluster, _NEWEST)
    minor = newest if standard.minor is None else min(standard.minor, newest)
    checks = [
        check
        for check in CHECKS
        if check.since <= minor and check.level in _LEVELS[1 : _LEVELS.index(standard.level) + 1]
    ]
    overridden = {check.overrides for check in checks}
    ordered = sorted((check for check in checks if check.name not in overridden), key=lambda c: (c.level, c.name))
    return [violation for check in ordered if (violation := check.run(pod, minor)) is not None]


Run: TypeAlias = Callable[[Pod, int], "Violation | None"]


@dataclass(frozen=True, slots=True)
class Check:
    """A check of a level, from a minor of Kubernetes on. A stricter check can take the place of another one."""

    name: str
    level: str
    since: int
    overrides: str
    run: Run


CHECKS: list[Check] = []


def _check(name: str, level: str, *, since: int = 0, overrides: str = "") -> Callable[[Run], Run]:
    def defined(run: Run) -> Run:
        CHECKS.append(Check(name, level, since, overrides, run))
        return run

    return defined


@dataclass(frozen=True, slots=True)
class _Container:
    name: str
    path: Path
    data: Mapping[str, Any]

    @property
    def security(self) -> Mapping[str, Any]:
        return self.data.get("securityContext") or {}


def _containers(pod: Pod) -> list[_Container]:
    return [
        _Container(one.get("name", ""), ("spec", kind, i), one)
        for kind in ("initContainers", "containers")
        for i, one in enumerate(pod["spec"].get(kind) or ())
    ]


def _security(pod: Pod) -> Mapping[str, Any]:
    return pod["spec"].get("securityContext") or {}


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


def _plural(word: str, words: Sequence[Any]) -> str:
    return word if len(words) == 1 else f"{word}s"


def _named(bad: Sequence[_Container]) -> str:
    return f"{_plural('container', bad)} {_quoted(one.name for one in bad)}"


def _setters(pod_is_bad: bool, bad: Sequence[_Container]) -> str:
    return " and ".join([*(["pod"] if pod_is_bad else []), *([_named(bad)] if bad else [])])


def _at(bad: Sequence[_Container], *steps: str | int) -> Path:
    """The field of the first bad container, or of the pod if there is none."""
    return (*bad[0].path, "securityContext", *steps) if bad else ("spec", "securityContext", *steps)


def _is_windows(pod: Pod) -> bool:
    return bool((pod["spec"].get("os") or {}).get("name") == "windows")


def _is_relaxed(pod: Pod, minor: int) -> bool:
    """Return whether a pod in a user namespace may do what others may not."""
    return minor >= 35 and pod["spec"].get("hostUsers") is False


_DEFAULT_CAPABILITIES = frozenset(
    [
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    ]
)
_SAFE_SYSCTLS: Mapping[str, int] = {
    **dict.fromkeys(
        (
            "kernel.shm_rmid_forced",
            "net.ipv4.ip_local_port_range",
            "net.ipv4.tcp_syncookies",
            "net.ipv4.ping_group_range",
            "net.ipv4.ip_unprivileged_port_start",
        ),
        0,
    ),
    "net.ipv4.ip_local_reserved_ports": 27,
    **{f"net.ipv4.tcp_{word}": 29 for word in ("keepalive_time", "fin_timeout", "keepalive_intvl", "keepalive_probes")},
    **{f"net.ipv4.tcp_{word}": 32 for word in ("rmem", "wmem")},
    **{f"net.ipv4.tcp_{word}": 37 for word in ("slow_start_after_idle", "notsent_lowat")},
}
_OPEN_VOLUMES = frozenset(
    [
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    ]
)
_ANNOTATION = "seccomp.security.alpha.kubernetes.io/pod"
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"


@_check("appArmorProfile", "baseline")
def _app_armor(pod: Pod, _: int) -> Violation | None:
    def is_bad(context: Mapping[str, Any]) -> bool:
        profile = context.get("appArmorProfile")
        return profile is not None and profile.get("type") not in ("RuntimeDefault", "Localhost")

    bad = [one for one in _containers(pod) if is_bad(one.security)]
    values = {str(one.security["appArmorProfile"].get("type", "")) for one in bad}
    if is_bad(_security(pod)):
        values.add(str(_security(pod)["appArmorProfile"].get("type", "")))
    annotations = sorted(
        f'{key}="{value}"'
        for key, value in (pod["metadata"].get("annotations") or {}).items()
        if key.startswith(_APP_ARMOR) and value not in ("", "runtime/default") and not value.startswith("localhost/")
    )
    setters = _setters(is_bad(_security(pod)), bad)
    if annotations:
        setters = " and ".join(filter(None, [setters, _plural("annotation", annotations)]))
    if not setters:
        return None
    wrong = [*sorted(values), *annotations]
    detail = f"{setters} must not set AppArmor profile type to {_quoted(wrong)}"
    reason = _plural("forbidden AppArmor profile", wrong)
    path = ("metadata", "annotations") if not values else _at(bad, "appArmorProfile")
    return Violation(reason, detail, path, "write `appArmorProfile: {type: RuntimeDefault}`, or remove it")


@_check("capabilities_baseline", "baseline")
def _capabilities(pod: Pod, _: int) -> Violation | None:
    added = [(one, set((one.security.get("capabilities") or {}).get("add") or ()) - _DEFAULT_CAPABILITIES) for one in _containers(pod)]  # fmt: skip
    bad = [one for one, forbidden in added if forbidden]
    if not bad:
        return None
    forbidden = sorted({word for _, words in added for word in words})
    detail = f"{_named(bad)} must not include {_quoted(forbidden)} in securityContext.capabilities.add"
    hint = f"remove {', '.join(forbidden)} from `capabilities.add`; of devices, the device plugin gives what they need"
    return Violation("non-default capabilities", detail, _at(bad, "capabilities", "add"), hint)


@_check("hostNamespaces", "baseline")
def _host_namespaces(pod: Pod, _: int) -> Violation | None:
    bad = [word for word in ("hostNetwork", "hostPID", "hostIPC") if pod["spec"].get(word)]
    if not bad:
        return None
    hint = f"remove {', '.join(f'`{word}`' for word in bad)}, or run the job in a namespace that allows it"
    return Violation("host namespaces", ", ".join(f"{word}=true" for word in bad), ("spec", bad[0]), hint)


@_check("hostPathVolumes", "baseline")
def _host_paths(pod: Pod, _: int) -> Violation | None:
    volumes = [(i, one) for i, one in enumerate(pod["spec"].get("volumes") or ()) if one.get("hostPath") is not None]
    if not volumes:
        return None
    names = [one.get("name", "") for _, one in volumes]
    detail = f"{_plural('volume', names)} {_quoted(names)}"
    hint = "use a persistentVolumeClaim, or `emptyDir: {medium: Memory}` for shared memory"
    return Violation("hostPath volumes", detail, ("spec", "volumes", volumes[0][0], "hostPath"), hint)


@_check("hostPorts", "baseline")
def _host_ports(pod: Pod, _: int) -> Violation | None:
    bad = [one for one in _containers(pod) if any(port.get("hostPort") for port in one.data.get("ports") or ())]
    if not bad:
        return None
    ports = sorted({str(port["hostPort"]) for one in bad for port in one.data["ports"] if port.get("hostPort")})
    detail = f"{_named(bad)} {'uses' if len(bad) == 1 else 'use'} {_plural('hostPort', ports)} {', '.join(ports)}"
    return Violation("hostPort", detail, (*bad[0].path, "ports"), "remove `hostPort`; pods reach each other without it")


@_check("hostProbesAndHostLifecycle", "baseline", since=34)
def _host_probes(pod: Pod, _: int) -> Violation | None:
    def hosts(container: _Container) -> Iterator[str]:
        lifecycle = container.data.get("lifecycle") or {}
        handlers = [container.data.get(kind) for kind in ("livenessProbe", "readinessProbe", "startupProbe")]
        for handler in [*handlers, lifecycle.get("postStart"), lifecycle.get("preStop")]:
            for kind in ("httpGet", "tcpSocket"):
                host = ((handler or {}).get(kind) or {}).get("host")
                if host:
                    yield str(host)

    found = {one.name: sorted(hosts(one)) for one in _containers(pod)}
    bad = sorted(name for name, words in found.items() if words)
    if not bad:
        return None
    forbidden = sorted({word for words in found.values() for word in words})
    uses = "uses" if len(bad) == 1 else "use"
    detail = f"{_plural('container', bad)} {_quoted(bad)} {uses} {_plural('probe or lifecycle host', forbidden)} {_quoted(forbidden)}"
    first = next(one for one in _containers(pod) if one.name in bad)
    return Violation(
        "probe or lifecycle host", detail, first.path, "remove `host` from the probe; it is the pod itself"
    )


@_check("privileged", "baseline")
def _privileged(pod: Pod, _: int) -> Violation | None:
    bad = [one for one in _containers(pod) if one.security.get("privileged")]
    if not bad:
        return None
    detail = f"{_named(bad)} must not set securityContext.privileged=true"
    return Violation("privileged", detail, _at(bad, "privileged"), "remove `privileged: true`")


@_check("procMount", "baseline")
def _proc_mount(pod: Pod, minor: int) -> Violation | None:
    return None if _is_relaxed(pod, minor) else _any_proc_mount(pod, minor)


@_check("procMount_restricted", "restricted", since=35, overrides="procMount")
def _any_proc_mount(pod: Pod, _: int) -> Violation | None:
    bad = [one for one in _containers(pod) if one.security.get("procMount", "Default") != "Default"]
    if not bad:
        return None
    values = sorted({str(one.security["procMount"]) for one in bad})
    detail = f"{_named(bad)} must not set securityContext.procMount to {_quoted(values)}"
    return Violation("procMount", detail, _at(bad, "procMount"), "remove `procMount`")


@_check("seLinuxOptions", "baseline")
def _se_linux(pod: Pod, minor: int) -> Violation | None:
    allowed = {
        "",
        "container_t",
        "container_init_t",
        "container_kvm_t",
        *(["container_engine_t"] if minor >= 31 else []),
    }

    def wrong(context: Mapping[str, Any]) -> list[str]:
        options = context.get("seLinuxOptions") or {}
        kind = options.get("type") or ""
        return [
            *([f"type {kind}"] if kind not in allowed else []),
            *(word for word in ("user", "role") if options.get(word)),
        ]

    found = [(one, wrong(one.security)) for one in _containers(pod)]
    bad = [one for one, words in found if words]
    words = {word for _, some in found for word in some} | set(wrong(_security(pod)))
    if not words:
        return None
    kinds = sorted(word.removeprefix("type ") for word in words if word.startswith("type "))
    data = [f"{_plural('type', kinds)} {_quoted(kinds)}"] if kinds else []
    data += [f"{word} may not be set" for word in ("user", "role") if word in words]
    detail = (
        f"{_setters(bool(wrong(_security(pod))), bad)} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"
    )
    return Violation(
        "seLinuxOptions", detail, _at(bad, "seLinuxOptions"), "remove `user`, `role` and the custom `type`"
    )


def _bad_seccomp(context: Mapping[str, Any]) -> str | None:
    profile = context.get("seccompProfile")
    if profile is None or profile.get("type") in ("RuntimeDefault", "Localhost"):
        return None
    return str(profile.get("type", ""))


@_check("seccompProfile_baseline", "baseline")
def _seccomp(pod: Pod, minor: int) -> Violation | None:
    if minor < 19:
        return _seccomp_annotations(pod)
    bad = [one for one in _containers(pod) if _bad_seccomp(one.security) is not None]
    of_pod = _bad_seccomp(_security(pod))
    if not bad and of_pod is None:
        return None
    values = {str(_bad_seccomp(one.security)) for one in bad} | ({of_pod} if of_pod is not None else set())
    detail = f"{_setters(of_pod is not None, bad)} must not set securityContext.seccompProfile.type to {_quoted(sorted(values))}"
    path = _at(bad if of_pod is None else (), "seccompProfile", "type")
    return Violation("seccompProfile", detail, path, "write `seccompProfile: {type: RuntimeDefault}`")


def _seccomp_annotations(pod: Pod) -> Violation | None:
    annotations = pod["metadata"].get("annotations") or {}
    keys = [_ANNOTATION, *(f"container.seccomp.security.alpha.kubernetes.io/{one.name}" for one in _containers(pod))]
    bad = sorted(
        f'{key}="{annotations[key]}"'
        for key in keys
        if key in annotations
        and annotations[key] not in ("runtime/default", "docker/default")
        and not annotations[key].startswith("localhost/")
    )
    if not bad:
        return None
    detail = f"forbidden {_plural('annotation', bad)} {', '.join(bad)}"
    return Violation("seccompProfile", detail, ("metadata", "annotations"), "remove the annotation")


@_check("seccompProfile_restricted", "restricted", since=19, overrides="seccompProfile_baseline")
def _some_seccomp(pod: Pod, minor: int) -> Violation | None:
    if minor >= 25 and _is_windows(pod):
        return None
    explicit = _seccomp(pod, 19)
    if explicit is not None:
        return explicit
    if _security(pod).get("seccompProfile") is not None:
        return None
    bad = [one for one in _containers(pod) if one.security.get("seccompProfile") is None]
    if not bad:
        return None
    detail = f'pod or {_named(bad)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    hint = "write in the pod's spec: `securityContext: {seccompProfile: {type: RuntimeDefault}}`"
    return Violation("seccompProfile", detail, ("spec", "securityContext"), hint)


@_check("sysctls", "baseline")
def _sysctls(pod: Pod, minor: int) -> Violation | None:
    sysctls = [one.get("name", "") for one in _security(pod).get("sysctls") or ()]
    bad = [name for name in sysctls if _SAFE_SYSCTLS.get(name, 99) > minor]
    if not bad:
        return None
    return Violation(
        "forbidden sysctls", ", ".join(bad), ("spec", "securityContext", "sysctls"), "remove these sysctls"
    )


@_check("windowsHostProcess", "baseline")
def _host_process(pod: Pod, _: int) -> Violation | None:
    def is_bad(context: Mapping[str, Any]) -> bool:
        return bool((context.get("windowsOptions") or {}).get("hostProcess"))

    bad = [one for one in _containers(pod) if is_bad(one.security)]
    setters = _setters(is_bad(_security(pod)), bad)
    if not setters:
        return None
    detail = f"{setters} must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", detail, _at(bad, "windowsOptions"), "remove `hostProcess`")


@_check("allowPrivilegeEscalation", "restricted", since=8)
def _escalation(pod: Pod, minor: int) -> Violation | None:
    bad = [one for one in _containers(pod) if one.security.get("allowPrivilegeEscalation") is not False]
    if not bad or (minor >= 25 and _is_windows(pod)):
        return None
    detail = f"{_named(bad)} must set securityContext.allowPrivilegeEscalation=false"
    hint = "write in the container: `securityContext: {allowPrivilegeEscalation: false}`"
    return Violation("allowPrivilegeEscalation != false", detail, _at(bad, "allowPrivilegeEscalation"), hint)


@_check("capabilities_restricted", "restricted", since=22, overrides="capabilities_baseline")
def _few_capabilities(pod: Pod, minor: int) -> Violation | None:
    if minor >= 25 and _is_windows(pod):
        return None
    each = [(one, one.security.get("capabilities") or {}) for one in _containers(pod)]
    kept = [one for one, capabilities in each if "ALL" not in (capabilities.get("drop") or ())]
    added = {one.name: set(capabilities.get("add") or ()) - {"NET_BIND_SERVICE"} for one, capabilities in each}
    adding = [one for one, _ in each if added[one.name]]
    forbidden = sorted({word for words in added.values() for word in words})
    details = [f'{_named(kept)} must set securityContext.capabilities.drop=["ALL"]'] if kept else []
    if adding:
        details.append(f"{_named(adding)} must not include {_quoted(forbidden)} in securityContext.capabilities.add")
    if not details:
        return None
    hint = (
        "write in the container: `securityContext: {capabilities: {drop: [ALL]}}`"
        if kept
        else f"remove {', '.join(forbidden)}"
    )
    return Violation("unrestricted capabilities", "; ".join(details), _at(kept or adding, "capabilities"), hint)


@_check("restrictedVolumes", "restricted", overrides="hostPathVolumes")
def _volumes(pod: Pod, _: int) -> Violation | None:
    volumes = list(enumerate(pod["spec"].get("volumes") or ()))
    bad = [(i, one) for i, one in volumes if not any(one.get(kind) is not None for kind in _OPEN_VOLUMES)]
    if not bad:
        return None
    names = [one.get("name", "") for _, one in bad]
    kinds = sorted({next((kind for kind in one if kind != "name"), "unknown") for _, one in bad})
    uses = "uses" if len(names) == 1 else "use"
    detail = f"{_plural('volume', names)} {_quoted(names)} {uses} {_plural('restricted volume type', kinds)} {_quoted(kinds)}"
    hint = "use a persistentVolumeClaim, emptyDir, configMap, secret, projected, csi or image volume"
    return Violation("restricted volume types", detail, ("spec", "volumes", bad[0][0]), hint)


@_check("runAsNonRoot", "restricted")
def _non_root(pod: Pod, minor: int) -> Violation | None:
    if _is_relaxed(pod, minor):
        return None
    reason, of_pod = "runAsNonRoot != true", _security(pod).get("runAsNonRoot")
    explicit = [one for one in _containers(pod) if one.security.get("runAsNonRoot") is False]
    if explicit or of_pod is False:
        detail = f"{_setters(of_pod is False, explicit)} must not set securityContext.runAsNonRoot=false"
        return Violation(
            reason, detail, _at(explicit if of_pod is not False else (), "runAsNonRoot"), "write `runAsNonRoot: true`"
        )
    bad = [one for one in _containers(pod) if one.security.get("runAsNonRoot") is None]
    if of_pod or not bad:
        return None
    detail = f"pod or {_named(bad)} must set securityContext.runAsNonRoot=true"
    hint = "write in the pod's spec: `securityContext: {runAsNonRoot: true}`, with an image whose user is not root"
    return Violation(reason, detail, ("spec", "securityContext"), hint)


@_check("runAsUser", "restricted", since=23)
def _user(pod: Pod, minor: int) -> Violation | None:
    if _is_relaxed(pod, minor):
        return None
    bad = [one for one in _containers(pod) if one.security.get("runAsUser") == 0]
    of_pod = _security(pod).get("runAsUser") == 0
    if not bad and not of_pod:
        return None
    detail = f"{_setters(of_pod, bad)} must not set runAsUser=0"
    return Violation(
        "runAsUser=0", detail, _at(() if of_pod else bad, "runAsUser"), "write another user, such as `runAsUser: 1000`"
    )
