"""Containers: what the API server refuses of their names, ports, environment, mounts, probes and restarts."""

from __future__ import annotations

from typing import Any

import pytest
from pod_templates import found, in_container, in_pod, template

TWO_PORTS = [{"containerPort": 80, "hostPort": 80}, {"containerPort": 81, "hostPort": 80}]


def variable(source: Any, **fields: Any) -> dict[str, Any]:
    return {"env": [{"name": "A", "valueFrom": source, **fields}]}


def mount(**fields: Any) -> dict[str, Any]:
    return {"volumeMounts": [{"name": "data", "mountPath": "/data", **fields}]}


def probe(**fields: Any) -> dict[str, Any]:
    return {"livenessProbe": {"exec": {"command": ["ls"]}, **fields}}


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "no image": ({"image": ""}, "MissingRequired", "image"),
    "a name with capitals": ({"name": "Node"}, "InvalidName", "name"),
    "a pull policy in small letters": ({"imagePullPolicy": "always"}, "UnsupportedValue", "imagePullPolicy"),
    "an unknown message policy": (
        {"terminationMessagePolicy": "file"},
        "UnsupportedValue",
        "terminationMessagePolicy",
    ),
    "an unknown restart policy": ({"restartPolicy": "Sometimes"}, "UnsupportedValue", "restartPolicy"),
    "restart rules without a policy": (
        {"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]},
        "MissingRequired",
        "restartPolicy",
    ),
    "a restart rule of an unknown action": (
        {
            "restartPolicy": "Never",
            "restartPolicyRules": [{"action": "Stop", "exitCodes": {"operator": "In", "values": [1]}}],
        },
        "UnsupportedValue",
        "restartPolicyRules[0].action",
    ),
    "port 0": ({"ports": [{"containerPort": 0}]}, "MissingRequired", "ports[0].containerPort"),
    "port 70000": ({"ports": [{"containerPort": 70000}]}, "OutOfRange", "ports[0].containerPort"),
    "a port called by a number": ({"ports": [{"containerPort": 80, "name": "80"}]}, "InvalidName", "ports[0].name"),
    "a protocol in small letters": (
        {"ports": [{"containerPort": 80, "protocol": "tcp"}]},
        "UnsupportedValue",
        "ports[0].protocol",
    ),
    "one host port for two ports": ({"ports": TWO_PORTS}, "DuplicateItem", "ports[1].hostPort"),
    "a variable with = in its name": ({"env": [{"name": "A=B"}]}, "InvalidName", "env[0].name"),
    "a variable without a name": ({"env": [{"name": ""}]}, "MissingRequired", "env[0].name"),
    "a source without a kind": (variable({}), "MissingRequired", "env[0].valueFrom"),
    "a value beside a source": (
        variable({"fieldRef": {"fieldPath": "metadata.name"}}, value="x"),
        "ValueAndValueFrom",
        "env[0].valueFrom",
    ),
    "two sources": (
        variable({"secretKeyRef": {"name": "s", "key": "k"}, "configMapKeyRef": {"name": "c", "key": "k"}}),
        "ConflictingFields",
        "env[0].valueFrom",
    ),
    "a field that the environment does not have": (
        variable({"fieldRef": {"fieldPath": "status.phase"}}),
        "UnsupportedValue",
        "env[0].valueFrom.fieldRef.fieldPath",
    ),
    "a label that none can be called": (
        variable({"fieldRef": {"fieldPath": "metadata.labels['a b']"}}),
        "InvalidLabel",
        "env[0].valueFrom.fieldRef",
    ),
    "a subscript of a field that has none": (
        variable({"fieldRef": {"fieldPath": "metadata.name['a']"}}),
        "UnsupportedValue",
        "env[0].valueFrom.fieldRef.fieldPath",
    ),
    "a resource that is not exposed": (
        variable({"resourceFieldRef": {"resource": "limits.nvidia.com/gpu"}}),
        "UnsupportedValue",
        "env[0].valueFrom.resourceFieldRef.resource",
    ),
    "a divisor of processors in bytes": (
        variable({"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1Mi"}}),
        "UnsupportedValue",
        "env[0].valueFrom.resourceFieldRef.divisor",
    ),
    "a Secret that none can be called": (
        variable({"secretKeyRef": {"name": "Hub_Token", "key": "k"}}),
        "InvalidName",
        "env[0].valueFrom.secretKeyRef.name",
    ),
    "a key with a slash": (
        variable({"secretKeyRef": {"name": "s", "key": "a/b"}}),
        "InvalidName",
        "env[0].valueFrom.secretKeyRef.key",
    ),
    "a file of a volume that is not there": (
        variable({"fileKeyRef": {"volumeName": "dta", "path": "a", "key": "K"}}),
        "NotInPod",
        "env[0].valueFrom.fileKeyRef.volumeName",
    ),
    "a file of a claim": (
        variable({"fileKeyRef": {"volumeName": "claim", "path": "a", "key": "K"}}),
        "NotAllowedHere",
        "env[0].valueFrom.fileKeyRef.volumeName",
    ),
    "an empty item of envFrom": ({"envFrom": [{}]}, "MissingRequired", "envFrom[0]"),
    "both in one item of envFrom": (
        {"envFrom": [{"configMapRef": {"name": "c"}, "secretRef": {"name": "s"}}]},
        "ConflictingFields",
        "envFrom[0]",
    ),
    "a prefix with =": (
        {"envFrom": [{"prefix": "A=", "configMapRef": {"name": "c"}}]},
        "InvalidName",
        "envFrom[0].prefix",
    ),
    "a mount of no volume": (mount(name="dta"), "NotInPod", "volumeMounts[0].name"),
    "two mounts at one place": (
        {"volumeMounts": [{"name": "data", "mountPath": "/d"}, {"name": "claim", "mountPath": "/d"}]},
        "DuplicateItem",
        "volumeMounts[1].mountPath",
    ),
    "an absolute subPath": (mount(subPath="/runs"), "InvalidPath", "volumeMounts[0].subPath"),
    "a subPath that goes up": (mount(subPath="a/../b"), "InvalidPath", "volumeMounts[0].subPath"),
    "subPath beside subPathExpr": (
        mount(subPath="a", subPathExpr="$(B)"),
        "ConflictingFields",
        "volumeMounts[0].subPathExpr",
    ),
    "propagation in both directions without privileges": (
        mount(mountPropagation="Bidirectional"),
        "NotAllowedHere",
        "volumeMounts[0].mountPropagation",
    ),
    "recursively read-only, but not read-only": (
        mount(recursiveReadOnly="Enabled"),
        "ConflictingFields",
        "volumeMounts[0].recursiveReadOnly",
    ),
    "a device that is not a claim": (
        {"volumeDevices": [{"name": "data", "devicePath": "/dev/x"}]},
        "NotAllowedHere",
        "volumeDevices[0].name",
    ),
    "a device of no volume": (
        {"volumeDevices": [{"name": "c", "devicePath": "/dev/x"}]},
        "NotInPod",
        "volumeDevices[0].name",
    ),
    "a probe without a handler": ({"livenessProbe": {}}, "MissingRequired", "livenessProbe"),
    "a probe with two handlers": (
        probe(tcpSocket={"port": 80}),
        "ConflictingFields",
        "livenessProbe.tcpSocket",
    ),
    "a probe without a command": ({"livenessProbe": {"exec": {}}}, "MissingRequired", "livenessProbe.exec.command"),
    "a probe of a port with capitals": (
        {"readinessProbe": {"httpGet": {"port": "HTTP"}}},
        "InvalidName",
        "readinessProbe.httpGet.port",
    ),
    "a scheme in small letters": (
        {"startupProbe": {"httpGet": {"port": 80, "scheme": "http"}}},
        "UnsupportedValue",
        "startupProbe.httpGet.scheme",
    ),
    "a header with a blank": (
        {"startupProbe": {"httpGet": {"port": 80, "httpHeaders": [{"name": "a b", "value": ""}]}}},
        "InvalidName",
        "startupProbe.httpGet.httpHeaders[0].name",
    ),
    "a period below zero": (probe(periodSeconds=-1), "OutOfRange", "livenessProbe.periodSeconds"),
    "two successes of a liveness probe": (probe(successThreshold=2), "OutOfRange", "livenessProbe.successThreshold"),
    "a grace period of a readiness probe": (
        {"readinessProbe": {"exec": {"command": ["ls"]}, "terminationGracePeriodSeconds": 5}},
        "NotAllowedHere",
        "readinessProbe.terminationGracePeriodSeconds",
    ),
    "a hook without a handler": ({"lifecycle": {"postStart": {}}}, "MissingRequired", "lifecycle.postStart"),
    "a hook that outlasts the pod": (
        {"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}},
        "OutOfRange",
        "lifecycle.preStop.sleep",
    ),
}


@pytest.mark.parametrize(("fields", "code", "place"), REFUSED.values(), ids=REFUSED)
def test_it_refuses(fields: dict[str, Any], code: str, place: str) -> None:
    assert in_container(**fields) == [(code, place)]


ACCEPTED: dict[str, dict[str, Any]] = {
    "empty words, which the defaults replace": {"imagePullPolicy": "", "terminationMessagePolicy": ""},
    "a restart policy of its own": {"restartPolicy": "Always"},
    "rules that restart the whole pod": {
        "restartPolicy": "Never",
        "restartPolicyRules": [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}],
    },
    "a variable with a blank": {"env": [{"name": "my var", "value": "x"}]},
    "one label": variable({"fieldRef": {"fieldPath": "metadata.labels['a']"}}),
    "an annotation whose key has capitals": variable({"fieldRef": {"fieldPath": "metadata.annotations['A/B']"}}),
    "memory in mebibytes": variable({"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}),
    "a file of an emptyDir": variable({"fileKeyRef": {"volumeName": "data", "path": "a", "key": "K"}}),
    "a mount in both directions with privileges": {
        **mount(mountPropagation="Bidirectional"),
        "securityContext": {"privileged": True},
    },
    "a block device": {"volumeDevices": [{"name": "claim", "devicePath": "/dev/x"}]},
    "two protocols on one host port": {
        "ports": [{"containerPort": 80, "hostPort": 80}, {"containerPort": 80, "hostPort": 80, "protocol": "UDP"}]
    },
    "a probe by port name": {"livenessProbe": {"httpGet": {"port": "http"}}},
    "a hook that does not sleep": {"lifecycle": {"preStop": {"sleep": {"seconds": 0}}}},
    "an image with blanks, which the kubelet trims": {"image": " example.com/a:1 "},
}


@pytest.mark.parametrize("fields", ACCEPTED.values(), ids=ACCEPTED)
def test_it_accepts(fields: dict[str, Any]) -> None:
    assert in_container(**fields) == []


def test_an_init_container_that_ends_has_no_probes_and_one_that_stays_has() -> None:
    container = {"name": "side", "image": "s", **probe()}
    assert in_pod(initContainers=[container]) == [("NotAllowedHere", "initContainers[0].livenessProbe")]
    assert in_pod(initContainers=[{**container, "restartPolicy": "Always"}]) == []


def test_names_differ_between_all_containers() -> None:
    assert in_pod(initContainers=[{"name": "node", "image": "s"}]) == [("DuplicateItem", "initContainers[0].name")]


def test_init_containers_run_one_by_one_and_share_ports_of_the_host() -> None:
    ports = [{"containerPort": 80, "hostPort": 80}]
    first, second = ({"name": name, "image": "s", "ports": ports} for name in ("a", "b"))
    assert in_pod(initContainers=[first, second]) == []


def test_the_grace_period_of_the_pod_bounds_its_hooks() -> None:
    hook = {"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}}
    assert found(template(hook, pod={"terminationGracePeriodSeconds": 31})) == []
