"""Pod Security Standards: each check with what fails it, and what is close to it and does not."""

from __future__ import annotations

from typing import Any

import pytest

from trainc.features.cluster.policies.pod_security import CHECKS, Standard, standards, violations

SAFE = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def pod(
    security: dict[str, Any] | None = None, *, annotations: dict[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    """A pod that the strictest level takes, changed in its container's securityContext or in its spec."""
    context = {key: value for key, value in {**SAFE, **(security or {})}.items() if value is not None}
    container = {"name": "node", "image": "a", "securityContext": context, **spec.pop("container", {})}
    return {"metadata": {"annotations": annotations or {}}, "spec": {"containers": [container], **spec}}


def failed(level: str, changed: dict[str, Any], minor: int | None = None, cluster: int = 36) -> list[str]:
    return [one.reason for one in violations(Standard(level, minor), changed, cluster)]


def test_a_careful_pod_is_allowed_everywhere() -> None:
    assert failed("restricted", pod()) == []


def test_everything_is_allowed_to_the_privileged() -> None:
    assert failed("privileged", pod({"privileged": True}, hostNetwork=True)) == []


# what -> (the pod, the level that refuses it first, the reason, a pod close to it that the level takes)
CASES: dict[str, tuple[dict[str, Any], str, str, dict[str, Any]]] = {
    "an AppArmor profile of nobody": (
        pod({"appArmorProfile": {"type": "Unconfined"}}), "baseline", "forbidden AppArmor profile", pod({"appArmorProfile": {"type": "Localhost"}}),
    ),
    "an AppArmor annotation": (
        pod(annotations={"container.apparmor.security.beta.kubernetes.io/node": "unconfined"}), "baseline", "forbidden AppArmor profile",
        pod(annotations={"container.apparmor.security.beta.kubernetes.io/node": "localhost/mine"}),
    ),
    "a capability that containers do not have": (
        pod({"capabilities": {"add": ["IPC_LOCK"], "drop": ["ALL"]}}), "baseline", "non-default capabilities",
        pod({"capabilities": {"add": ["CHOWN"], "drop": ["ALL"]}}),
    ),
    "a capability that they do have": (
        pod({"capabilities": {"add": ["CHOWN"], "drop": ["ALL"]}}), "restricted", "unrestricted capabilities",
        pod({"capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]}}),
    ),
    "capabilities that are kept": (pod({"capabilities": {"drop": ["KILL"]}}), "restricted", "unrestricted capabilities", pod()),
    "the host's network": (pod(hostNetwork=True), "baseline", "host namespaces", pod(hostNetwork=False)),
    "the host's processes": (pod(hostPID=True), "baseline", "host namespaces", pod(shareProcessNamespace=True)),
    "a folder of the host": (
        pod(volumes=[{"name": "v", "hostPath": {"path": "/"}}]), "baseline", "hostPath volumes", pod(volumes=[{"name": "v", "emptyDir": {}}]),
    ),
    "a file server": (
        pod(volumes=[{"name": "v", "nfs": {"server": "s", "path": "/"}}]), "restricted", "restricted volume types",
        pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]),
    ),
    "a port of the host": (
        pod(container={"ports": [{"containerPort": 1, "hostPort": 1}]}), "baseline", "hostPort", pod(container={"ports": [{"containerPort": 1, "hostPort": 0}]}),
    ),
    "a probe of another host": (
        pod(container={"livenessProbe": {"httpGet": {"host": "h", "port": 1}}}), "baseline", "probe or lifecycle host",
        pod(container={"livenessProbe": {"httpGet": {"port": 1}}}),
    ),
    "a hook of another host": (
        pod(container={"lifecycle": {"preStop": {"tcpSocket": {"host": "h", "port": 1}}}}), "baseline", "probe or lifecycle host",
        pod(container={"lifecycle": {"preStop": {"exec": {"command": ["true"]}}}}),
    ),
    "a privileged container": (pod({"privileged": True}), "baseline", "privileged", pod({"privileged": False})),
    "an unmasked /proc": (pod({"procMount": "Unmasked"}), "baseline", "procMount", pod({"procMount": "Default"})),
    "a type of SELinux": (
        pod({"seLinuxOptions": {"type": "spc_t"}}), "baseline", "seLinuxOptions", pod({"seLinuxOptions": {"type": "container_t", "level": "s0"}}),
    ),
    "a user of SELinux": (pod(securityContext={"seLinuxOptions": {"user": "u"}}), "baseline", "seLinuxOptions", pod(securityContext={"seLinuxOptions": {}})),
    "no seccomp at all": (
        pod({"seccompProfile": {"type": "Unconfined"}}), "baseline", "seccompProfile", pod({"seccompProfile": {"type": "Localhost"}}),
    ),
    "a seccomp profile that is not said": (
        pod({"seccompProfile": None}), "restricted", "seccompProfile", pod({"seccompProfile": None}, securityContext={"seccompProfile": {"type": "RuntimeDefault"}}),
    ),
    "a sysctl": (
        pod(securityContext={"sysctls": [{"name": "net.core.somaxconn", "value": "1"}]}), "baseline", "forbidden sysctls",
        pod(securityContext={"sysctls": [{"name": "net.ipv4.tcp_rmem", "value": "1"}]}),
    ),
    "a process of a Windows host": (
        pod({"windowsOptions": {"hostProcess": True}}), "baseline", "hostProcess", pod({"windowsOptions": {"hostProcess": False}}),
    ),
    "more privileges than its parent": (pod({"allowPrivilegeEscalation": None}), "restricted", "allowPrivilegeEscalation != false", pod()),
    "root, as nobody says otherwise": (
        pod({"runAsNonRoot": None}), "restricted", "runAsNonRoot != true", pod({"runAsNonRoot": None}, securityContext={"runAsNonRoot": True}),
    ),
    "root, on purpose": (pod({"runAsNonRoot": False}, securityContext={"runAsNonRoot": True}), "restricted", "runAsNonRoot != true", pod()),
    "the user root": (pod({"runAsUser": 0}), "restricted", "runAsUser=0", pod({"runAsUser": 1000})),
    "an init container is a container": (
        pod(initContainers=[{"name": "init", "securityContext": {**SAFE, "privileged": True}}]), "baseline", "privileged",
        pod(initContainers=[{"name": "init", "securityContext": SAFE}]),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("wrong", "level", "reason", "right"), CASES.values(), ids=CASES)
def test_a_check(wrong: dict[str, Any], level: str, reason: str, right: dict[str, Any]) -> None:
    assert reason in failed(level, wrong)
    assert failed(level, right) == []
    if level == "restricted":
        assert failed("baseline", wrong) == []


def test_every_check_has_a_case() -> None:
    # Of these two, others of the same reason have one.
    shadowed = {"procMount_restricted", "seccompProfile_restricted"}
    ran = {
        check.name
        for wrong, _, _, _ in CASES.values()
        for check in CHECKS
        if check.run(wrong, 36) is not None
    }  # fmt: skip
    assert ran | shadowed == {check.name for check in CHECKS}


VERSIONS: dict[str, tuple[dict[str, Any], str, int, int]] = {
    "probes of other hosts": (CASES["a probe of another host"][0], "baseline", 33, 34),
    "dropped capabilities": (CASES["capabilities that are kept"][0], "restricted", 21, 22),
    "the user root": (CASES["the user root"][0], "restricted", 22, 23),
    "a seccomp profile": (CASES["a seccomp profile that is not said"][0], "restricted", 18, 19),
}


@pytest.mark.parametrize(("changed", "level", "before", "since"), VERSIONS.values(), ids=VERSIONS)
def test_a_check_begins_with_a_version(changed: dict[str, Any], level: str, before: int, since: int) -> None:
    assert failed(level, changed, before) == []
    assert failed(level, changed, since) != []


def test_sysctls_become_safe() -> None:
    changed = pod(securityContext={"sysctls": [{"name": "net.ipv4.tcp_rmem", "value": "1"}]})
    assert failed("baseline", changed, 31) == ["forbidden sysctls"]
    assert failed("baseline", changed, 32) == []


def test_a_user_namespace_relaxes_what_it_makes_harmless() -> None:
    changed = pod({"runAsNonRoot": False, "runAsUser": 0}, hostUsers=False)
    assert failed("restricted", changed, 34) == ["runAsNonRoot != true", "runAsUser=0"]
    assert failed("restricted", changed) == []
    unmasked = pod({"procMount": "Unmasked"}, hostUsers=False)
    assert (failed("baseline", unmasked), failed("restricted", unmasked)) == ([], ["procMount"])


def test_windows_pods_cannot_set_what_only_linux_has() -> None:
    changed = pod(
        {"allowPrivilegeEscalation": None, "capabilities": None, "seccompProfile": None}, os={"name": "windows"}
    )
    assert failed("restricted", changed) == []
    assert len(failed("restricted", changed, 24)) == 3


def test_the_latest_version_is_the_clusters() -> None:
    assert failed("baseline", CASES["a probe of another host"][0], None, cluster=33) == []
    assert failed("baseline", CASES["a probe of another host"][0], 36, cluster=33) == []


def test_the_strict_check_takes_the_place_of_the_weaker_one() -> None:
    assert failed("restricted", pod(volumes=[{"name": "v", "hostPath": {"path": "/"}}])) == ["restricted volume types"]


def labelled(**labels: str) -> dict[str, str]:
    return {mode: str(found) for mode, found in standards({f"pod-security.kubernetes.io/{key.replace('_', '-')}": value for key, value in labels.items()}).items()}  # fmt: skip


LABELS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "without labels": ({}, {"enforce": "privileged:latest", "warn": "privileged:latest", "audit": "privileged:latest"}),
    "what is enforced is warned about": ({"enforce": "baseline", "enforce_version": "v1.30"}, {"enforce": "baseline:v1.30", "warn": "baseline:v1.30"}),
    "unless the label says otherwise": ({"enforce": "baseline", "warn": "restricted"}, {"enforce": "baseline:latest", "warn": "restricted:latest"}),
    "or its version does": ({"enforce": "baseline", "enforce_version": "v1.30", "warn_version": "v1.31"}, {"warn": "baseline:v1.31"}),
    "an unknown level is the strictest": ({"enforce": "strict"}, {"enforce": "restricted:latest", "warn": "privileged:latest"}),
    "where it is enforced": ({"warn": "strict"}, {"warn": "privileged:latest"}),
    "an unknown version is the latest": ({"enforce": "baseline", "enforce_version": "1.30"}, {"enforce": "baseline:latest"}),
}  # fmt: skip


@pytest.mark.parametrize(("labels", "expected"), LABELS.values(), ids=LABELS)
def test_the_labels_of_a_namespace(labels: dict[str, str], expected: dict[str, str]) -> None:
    assert expected.items() <= labelled(**labels).items()


def test_the_message_is_that_of_the_api_server() -> None:
    found = violations(
        Standard("restricted", None), {"metadata": {}, "spec": {"containers": [{"name": "a"}, {"name": "b"}]}}, 36
    )
    assert ", ".join(map(str, found)) == (
        'allowPrivilegeEscalation != false (containers "a", "b" must set securityContext.allowPrivilegeEscalation=false), '
        'unrestricted capabilities (containers "a", "b" must set securityContext.capabilities.drop=["ALL"]), '
        'runAsNonRoot != true (pod or containers "a", "b" must set securityContext.runAsNonRoot=true), '
        'seccompProfile (pod or containers "a", "b" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")'
    )
