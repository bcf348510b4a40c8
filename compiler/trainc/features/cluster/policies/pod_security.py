"""The Pod Security Standards that a namespace's labels ask for, checked as the admission plugin checks a pod.

Source: kubernetes/pod-security-admission policy/ and api/helpers.go, v0.36 and v0.37.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

from trainc.api.documents import opening
from trainc.api.findings import Finding, Path, did_you_mean
from trainc.api.kube import Json, mapping
from trainc.api.records import dataclass, pattern

LABEL = "pod-security.kubernetes.io"
_LEVELS = ("privileged", "baseline", "restricted")
_SECURITY = "securityContext"
# A hint that says what to write in the security context of a pod or container.
_WRITTEN = pattern(r"(write in [^:]*: `securityContext: )\{(.*)\}`(.*)")
_VERSION = pattern(r"v1\.(0|[1-9][0-9]{0,2})")
_NEWEST = 37

Pod: TypeAlias = Json


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

    @property
    def part(self) -> Path:
        """The pod or container whose security context is meant; the field itself where none is."""
        return self.path[: self.path.index(_SECURITY)] if _SECURITY in self.path else self.path


def together(violated: Sequence[Violation]) -> str:
    """What to write for all violations of a pod or container at once, or for the first one."""
    written = [match for violation in violated if (match := _WRITTEN.fullmatch(violation.hint))]
    first = written[0] if written else None
    if first is None or len(written) < len(violated) or any(match[1] != first[1] for match in written):
        return violated[0].hint
    return f"{first[1]}{{{', '.join(match[2] for match in written)}}}`{''.join(match[3] for match in written)}"


def standards(labels: Mapping[str, str]) -> dict[str, Standard]:
    """What a namespace's labels enforce, warn about and audit."""
    by_mode = {}
    for mode in ("enforce", "warn", "audit"):
        level = labels.get(f"{LABEL}/{mode}", "privileged")
        if level not in _LEVELS:
            # An unknown level is taken for the strictest one where it is enforced, and for none elsewhere.
            level = "restricted" if mode == "enforce" else "privileged"
        version = _VERSION.fullmatch(labels.get(f"{LABEL}/{mode}-version", "latest"))
        by_mode[mode] = Standard(level, int(version[1]) if version else None)
    if f"{LABEL}/warn" not in labels and labels.get(f"{LABEL}/enforce") in _LEVELS:
        warned = by_mode["enforce"].minor if f"{LABEL}/warn-version" not in labels else by_mode["warn"].minor
        by_mode["warn"] = Standard(by_mode["enforce"].level, warned)
    return by_mode


def misspelt(namespace: Json) -> Iterator[Finding]:
    """What of a Namespace's labels the API server refuses, or takes for somebody else's."""
    labels = mapping(mapping(namespace.get("metadata")).get("labels"))
    keys = {f"{LABEL}/{mode}{part}": None for mode in ("enforce", "warn", "audit") for part in ("", "-version")}
    for key, value in labels.items():
        path, text = ("metadata", "labels", key), str(value)
        if key not in keys:
            near = did_you_mean(key, keys, 0.9 if LABEL not in key else 0.6)
            if near or key.startswith(f"{LABEL}/"):
                message = f"{key} is not a label of Pod Security, so it enforces nothing"
                yield Finding("PolicyNotEvaluated", "warning", message, near or f"write {LABEL}/enforce", path)
        elif key.endswith("-version"):
            if text != "latest" and not _VERSION.fullmatch(text):
                message = f"{text!r} is not a version of Pod Security, and the API server refuses it"
                yield Finding("PolicyInvalid", "error", message, "write latest, or a minor such as v1.33", path)
        elif text not in _LEVELS:
            hint = did_you_mean(text, _LEVELS) or f"write one of {', '.join(_LEVELS)}"
            message = f"{text!r} is not a level of Pod Security, and the API server refuses it"
            yield Finding("PolicyInvalid", "error", message, hint, path)


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
    def register(run: Run) -> Run:
        CHECKS.append(Check(name, level, since, overrides, run))
        return run

    return register


@dataclass(frozen=True, slots=True)
class _Part:
    """A container, or the pod itself, which has no name."""

    name: str
    path: Path
    data: Json

    @property
    def security(self) -> Json:
        return self.data.get("securityContext") or {}


def _pod(pod: Pod) -> _Part:
    return _Part("", ("spec",), pod["spec"])


def _containers(pod: Pod) -> list[_Part]:
    return [
        _Part(container.get("name", ""), ("spec", kind, i), container)
        for kind in ("initContainers", "containers")
        for i, container in enumerate(pod["spec"].get(kind) or ())
    ]


def _quote(texts: Iterable[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


def _plural(noun: str, items: Sequence[Any]) -> str:
    return noun if len(items) == 1 else f"{noun}s"


def _uses(items: Sequence[Any]) -> str:
    return "uses" if len(items) == 1 else "use"


def _describe(parts: Sequence[_Part]) -> str:
    """`pod and containers "a", "b"`."""
    containers = [part.name for part in parts if part.path != ("spec",)]
    texts = [f"{_plural('container', containers)} {_quote(containers)}"] if containers else []
    return " and ".join([*(["pod"] if len(containers) < len(parts) else []), *texts])


def _violation(reason: str, bad: Sequence[_Part], text: str, hint: str, *field: str) -> Violation | None:
    """What is wrong with some parts of a pod, shown at a field of the first one; None if nothing is."""
    return Violation(reason, f"{_describe(bad)} {text}", (*bad[0].path, *field), hint) if bad else None


def _is_windows(pod: Pod, minor: int) -> bool:
    """Return whether a pod is one of Windows, which cannot set what only Linux has."""
    return minor >= 25 and (pod["spec"].get("os") or {}).get("name") == "windows"


def _is_relaxed(pod: Pod, minor: int) -> bool:
    """Return whether a pod in a user namespace may do what others may not."""
    return minor >= 35 and pod["spec"].get("hostUsers") is False


# The capabilities of a container by default, the kinds of volumes that are open to all, and the minors since which sysctls
# are safe.
_DATA = opening.read_data(__file__, "pods.json")
_DEFAULT_CAPABILITIES, _OPEN_VOLUMES = frozenset(_DATA["capabilities"]), frozenset(_DATA["volumes"])
_SAFE_SYSCTLS: Mapping[str, int] = _DATA["sysctls"]
_SECCOMP = "seccomp.security.alpha.kubernetes.io"
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"


def _profile(part: _Part, kind: str) -> str | None:
    """The type of a part's profile, if it is one that the baseline does not take."""
    profile = part.security.get(kind)
    if profile is None or profile.get("type") in ("RuntimeDefault", "Localhost"):
        return None
    return str(profile.get("type", ""))


@_check("appArmorProfile", "baseline")
def _app_armor(pod: Pod, _: int) -> Violation | None:
    bad = [part for part in (_pod(pod), *_containers(pod)) if _profile(part, "appArmorProfile") is not None]
    annotations = sorted(
        f'{key}="{value}"'
        for key, value in (pod["metadata"].get("annotations") or {}).items()
        if key.startswith(_APP_ARMOR) and value not in ("", "runtime/default") and not value.startswith("localhost/")
    )
    wrong = [*sorted({str(_profile(part, "appArmorProfile")) for part in bad}), *annotations]
    if not wrong:
        return None
    setters = " and ".join(filter(None, [_describe(bad), _plural("annotation", annotations) if annotations else ""]))
    path: Path = (*bad[0].path, _SECURITY, "appArmorProfile") if bad else ("metadata", "annotations")
    detail = f"{setters} must not set AppArmor profile type to {_quote(wrong)}"
    hint = "write `appArmorProfile: {type: RuntimeDefault}`, or remove it"
    return Violation(_plural("forbidden AppArmor profile", wrong), detail, path, hint)


def _added_capabilities(part: _Part) -> set[str]:
    return set((part.security.get("capabilities") or {}).get("add") or ())


@_check("capabilities_baseline", "baseline")
def _capabilities(pod: Pod, _: int) -> Violation | None:
    bad = [part for part in _containers(pod) if _added_capabilities(part) - _DEFAULT_CAPABILITIES]
    forbidden = sorted(set().union(*map(_added_capabilities, bad)) - _DEFAULT_CAPABILITIES)
    text = f"must not include {_quote(forbidden)} in securityContext.capabilities.add"
    hint = f"remove {', '.join(forbidden)} from `capabilities.add`"
    return _violation("non-default capabilities", bad, text, hint, _SECURITY, "capabilities", "add")


@_check("capabilities_restricted", "restricted", since=22, overrides="capabilities_baseline")
def _few_capabilities(pod: Pod, minor: int) -> Violation | None:
    if _is_windows(pod, minor):
        return None
    undropped = [
        part for part in _containers(pod) if "ALL" not in ((part.security.get("capabilities") or {}).get("drop") or ())
    ]
    adding = [part for part in _containers(pod) if _added_capabilities(part) - {"NET_BIND_SERVICE"}]
    forbidden = sorted(set().union(*map(_added_capabilities, adding)) - {"NET_BIND_SERVICE"})
    details = [f'{_describe(undropped)} must set securityContext.capabilities.drop=["ALL"]'] if undropped else []
    if adding:
        details.append(f"{_describe(adding)} must not include {_quote(forbidden)} in securityContext.capabilities.add")
    if not details:
        return None
    drop = "write in the container: `securityContext: {capabilities: {drop: [ALL]}}`"
    hint = drop if undropped else f"remove {', '.join(forbidden)}"
    path = (*(undropped or adding)[0].path, _SECURITY, "capabilities")
    return Violation("unrestricted capabilities", "; ".join(details), path, hint)


@_check("hostNamespaces", "baseline")
def _host_namespaces(pod: Pod, _: int) -> Violation | None:
    bad = [field for field in ("hostNetwork", "hostPID", "hostIPC") if pod["spec"].get(field)]
    if not bad:
        return None
    hint = f"remove {', '.join(f'`{field}`' for field in bad)}, or run the job in a namespace that allows it"
    return Violation("host namespaces", ", ".join(f"{field}=true" for field in bad), ("spec", bad[0]), hint)


@_check("hostPathVolumes", "baseline")
def _host_paths(pod: Pod, _: int) -> Violation | None:
    volumes = [(i, v) for i, v in enumerate(pod["spec"].get("volumes") or ()) if v.get("hostPath") is not None]
    if not volumes:
        return None
    names = [volume.get("name", "") for _, volume in volumes]
    detail = f"{_plural('volume', names)} {_quote(names)}"
    hint = "use a persistentVolumeClaim, or `emptyDir: {medium: Memory}` for shared memory"
    return Violation("hostPath volumes", detail, ("spec", "volumes", volumes[0][0], "hostPath"), hint)


@_check("restrictedVolumes", "restricted", overrides="hostPathVolumes")
def _volumes(pod: Pod, _: int) -> Violation | None:
    volumes = list(enumerate(pod["spec"].get("volumes") or ()))
    bad = [(i, volume) for i, volume in volumes if not any(volume.get(kind) is not None for kind in _OPEN_VOLUMES)]
    if not bad:
        return None
    names = [volume.get("name", "") for _, volume in bad]
    kinds = sorted({next((kind for kind in volume if kind != "name"), "unknown") for _, volume in bad})
    detail = f"{_plural('volume', names)} {_quote(names)} {_uses(names)} {_plural('restricted volume type', kinds)} {_quote(kinds)}"
    hint = "use a persistentVolumeClaim, emptyDir, configMap, secret, projected, csi or image volume"
    return Violation("restricted volume types", detail, ("spec", "volumes", bad[0][0]), hint)


@_check("hostPorts", "baseline")
def _host_ports(pod: Pod, _: int) -> Violation | None:
    ports = {part.name: [port["hostPort"] for port in part.data.get("ports") or () if port.get("hostPort")] for part in _containers(pod)}  # fmt: skip
    bad = [part for part in _containers(pod) if ports[part.name]]
    numbers = sorted(set(map(str, chain.from_iterable(ports.values()))))
    text = f"{_uses(bad)} {_plural('hostPort', numbers)} {', '.join(numbers)}"
    return _violation("hostPort", bad, text, "remove `hostPort`; pods reach each other without it", "ports")


@_check("hostProbesAndHostLifecycle", "baseline", since=34)
def _host_probes(pod: Pod, _: int) -> Violation | None:
    hosts = {part.name: set(_probed_hosts(part.data)) for part in _containers(pod)}
    bad = sorted((part for part in _containers(pod) if hosts[part.name]), key=lambda part: part.name)
    host_names = sorted(set().union(*hosts.values()))
    text = f"{_uses(bad)} {_plural('probe or lifecycle host', host_names)} {_quote(host_names)}"
    return _violation("probe or lifecycle host", bad, text, "remove `host` from the probe; it is the pod itself")


def _probed_hosts(container: Json) -> Iterator[str]:
    lifecycle = container.get("lifecycle") or {}
    probes = [container.get(kind) for kind in ("livenessProbe", "readinessProbe", "startupProbe")]
    for handler in [*probes, lifecycle.get("postStart"), lifecycle.get("preStop")]:
        for kind in ("httpGet", "tcpSocket"):
            host = ((handler or {}).get(kind) or {}).get("host")
            if host:
                yield str(host)


@_check("privileged", "baseline")
def _privileged(pod: Pod, _: int) -> Violation | None:
    bad = [part for part in _containers(pod) if part.security.get("privileged")]
    text = "must not set securityContext.privileged=true"
    return _violation("privileged", bad, text, "remove `privileged: true`", _SECURITY, "privileged")


@_check("procMount", "baseline")
def _proc_mount(pod: Pod, minor: int) -> Violation | None:
    return None if _is_relaxed(pod, minor) else _any_proc_mount(pod, minor)


@_check("procMount_restricted", "restricted", since=35, overrides="procMount")
def _any_proc_mount(pod: Pod, _: int) -> Violation | None:
    bad = [part for part in _containers(pod) if part.security.get("procMount", "Default") != "Default"]
    values = sorted({str(part.security["procMount"]) for part in bad})
    text = f"must not set securityContext.procMount to {_quote(values)}"
    return _violation("procMount", bad, text, "remove `procMount`", _SECURITY, "procMount")


@_check("seLinuxOptions", "baseline")
def _se_linux(pod: Pod, minor: int) -> Violation | None:
    types = {"", "container_t", "container_init_t", "container_kvm_t", *(["container_engine_t"] if minor >= 31 else [])}
    parts = [(part, part.security.get("seLinuxOptions") or {}) for part in (_pod(pod), *_containers(pod))]
    kinds = sorted({options.get("type") or "" for _, options in parts} - types)
    data = [f"{_plural('type', kinds)} {_quote(kinds)}"] if kinds else []
    data += [f"{field} may not be set" for field in ("user", "role") if any(options.get(field) for _, options in parts)]
    bad = [part for part, o in parts if (o.get("type") or "") not in types or o.get("user") or o.get("role")]
    text = f"set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"
    hint = "remove `user`, `role` and the custom `type`"
    return _violation("seLinuxOptions", bad, text, hint, _SECURITY, "seLinuxOptions")


@_check("seccompProfile_baseline", "baseline")
def _seccomp(pod: Pod, minor: int) -> Violation | None:
    if minor < 19:
        return _seccomp_annotations(pod)
    bad = [part for part in (_pod(pod), *_containers(pod)) if _profile(part, "seccompProfile") is not None]
    values = sorted({str(_profile(part, "seccompProfile")) for part in bad})
    text = f"must not set securityContext.seccompProfile.type to {_quote(values)}"
    hint = "write `seccompProfile: {type: RuntimeDefault}`"
    return _violation("seccompProfile", bad, text, hint, _SECURITY, "seccompProfile", "type")


def _seccomp_annotations(pod: Pod) -> Violation | None:
    annotations = pod["metadata"].get("annotations") or {}
    keys = [f"{_SECCOMP}/pod", *(f"container.{_SECCOMP}/{part.name}" for part in _containers(pod))]
    defaults = (None, "runtime/default", "docker/default")
    wrong = {key: annotations[key] for key in keys if annotations.get(key) not in defaults}
    bad = sorted(f'{key}="{value}"' for key, value in wrong.items() if not value.startswith("localhost/"))
    if not bad:
        return None
    detail = f"forbidden {_plural('annotation', bad)} {', '.join(bad)}"
    return Violation("seccompProfile", detail, ("metadata", "annotations"), "remove the annotation")


@_check("seccompProfile_restricted", "restricted", since=19, overrides="seccompProfile_baseline")
def _some_seccomp(pod: Pod, minor: int) -> Violation | None:
    if _is_windows(pod, minor):
        return None
    explicit = _seccomp(pod, 19)
    if explicit is not None or _pod(pod).security.get("seccompProfile") is not None:
        return explicit
    bad = [part for part in _containers(pod) if part.security.get("seccompProfile") is None]
    detail = f'pod or {_describe(bad)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    hint = "write in the pod's spec: `securityContext: {seccompProfile: {type: RuntimeDefault}}`"
    return Violation("seccompProfile", detail, ("spec", _SECURITY), hint) if bad else None


@_check("sysctls", "baseline")
def _sysctls(pod: Pod, minor: int) -> Violation | None:
    sysctls = [sysctl.get("name", "") for sysctl in _pod(pod).security.get("sysctls") or ()]
    bad = [name for name in sysctls if _SAFE_SYSCTLS.get(name, minor + 1) > minor]
    hint = f"remove {', '.join(bad)} from `sysctls`"
    return Violation("forbidden sysctls", ", ".join(bad), ("spec", _SECURITY, "sysctls"), hint) if bad else None


@_check("windowsHostProcess", "baseline")
def _host_process(pod: Pod, _: int) -> Violation | None:
    parts = (_pod(pod), *_containers(pod))
    bad = [part for part in parts if (part.security.get("windowsOptions") or {}).get("hostProcess")]
    text = "must not set securityContext.windowsOptions.hostProcess=true"
    return _violation("hostProcess", bad, text, "remove `hostProcess`", _SECURITY, "windowsOptions")


@_check("allowPrivilegeEscalation", "restricted", since=8)
def _escalation(pod: Pod, minor: int) -> Violation | None:
    bad = [part for part in _containers(pod) if part.security.get("allowPrivilegeEscalation") is not False]
    text = "must set securityContext.allowPrivilegeEscalation=false"
    hint = "write in the container: `securityContext: {allowPrivilegeEscalation: false}`"
    bad = [] if _is_windows(pod, minor) else bad
    return _violation("allowPrivilegeEscalation != false", bad, text, hint, _SECURITY, "allowPrivilegeEscalation")


@_check("runAsNonRoot", "restricted")
def _non_root(pod: Pod, minor: int) -> Violation | None:
    if _is_relaxed(pod, minor):
        return None
    reason, parts = "runAsNonRoot != true", (_pod(pod), *_containers(pod))
    explicit = [part for part in parts if part.security.get("runAsNonRoot") is False]
    if explicit:
        text = "must not set securityContext.runAsNonRoot=false"
        return _violation(reason, explicit, text, "write `runAsNonRoot: true`", _SECURITY, "runAsNonRoot")
    bad = [part for part in _containers(pod) if part.security.get("runAsNonRoot") is None]
    if not bad or _pod(pod).security.get("runAsNonRoot"):
        return None
    hint = "write in the pod's spec: `securityContext: {runAsNonRoot: true}`, with an image whose user is not root"
    detail = f"pod or {_describe(bad)} must set securityContext.runAsNonRoot=true"
    return Violation(reason, detail, ("spec", _SECURITY), hint)


@_check("runAsUser", "restricted", since=23)
def _user(pod: Pod, minor: int) -> Violation | None:
    bad = [part for part in (_pod(pod), *_containers(pod)) if part.security.get("runAsUser") == 0]
    bad = [] if _is_relaxed(pod, minor) else bad
    hint = "write another user, such as `runAsUser: 1000`"
    return _violation("runAsUser=0", bad, "must not set runAsUser=0", hint, _SECURITY, "runAsUser")
