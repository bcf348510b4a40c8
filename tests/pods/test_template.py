"""The fields of a pod: scheduling, network, security, resources, metadata."""

from __future__ import annotations

from typing import Any

import pytest
from pod_templates import found, in_pod, template

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

DEVICE = [{"name": "claim", "devicePath": "/dev/x"}]


def node_affinity(**requirement: Any) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "zone", **requirement}]}
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}}


def pod_affinity(**fields: Any) -> dict[str, Any]:
    return {"affinity": {"podAffinity": {REQUIRED: [{"topologyKey": "zone", **fields}]}}}


def toleration(**fields: Any) -> dict[str, Any]:
    return {"tolerations": [fields]}


def spread(**fields: Any) -> dict[str, Any]:
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **fields}
    return {"topologySpreadConstraints": [constraint]}


NODE = f"affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]"
TERM = f"affinity.podAffinity.{REQUIRED}[0]"
SPREAD = "topologySpreadConstraints[0]"
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "a node selector's key with a blank": (
        {"nodeSelector": {"gpu type": "a"}},
        "InvalidLabel",
        'nodeSelector["gpu type"]',
    ),
    "a node selector's value with a blank": ({"nodeSelector": {"gpu": "h 100"}}, "InvalidLabel", "nodeSelector.gpu"),
    "In without values": (node_affinity(operator="In"), "InvalidSelector", f"{NODE}.values"),
    "Exists with values": (node_affinity(operator="Exists", values=["a"]), "InvalidSelector", f"{NODE}.values"),
    "Gt with two values": (node_affinity(operator="Gt", values=["1", "2"]), "InvalidSelector", f"{NODE}.values"),
    "an operator in small letters": (
        node_affinity(operator="in", values=["a"]),
        "UnsupportedValue",
        f"{NODE}.operator",
    ),
    "a value that no label has": (
        node_affinity(operator="In", values=["a b"]),
        "InvalidLabel",
        f"{NODE}.values[0]",
    ),
    "no terms": (
        {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}},
        "MissingRequired",
        f"affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms",
    ),
    "a weight of 0": (
        {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 0, "preference": {}}]}}},
        "OutOfRange",
        f"affinity.nodeAffinity.{PREFERRED}[0].weight",
    ),
    "a field that nodes are not selected by": (
        {
            "affinity": {
                "nodeAffinity": {
                    REQUIRED: {
                        "nodeSelectorTerms": [{"matchFields": [{"key": "spec.x", "operator": "In", "values": ["a"]}]}]
                    }
                }
            }
        },
        "InvalidSelector",
        f"affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchFields[0].key",
    ),
    "an affinity without a topology key": (pod_affinity(topologyKey=""), "MissingRequired", f"{TERM}.topologyKey"),
    "a namespace that none can be called": (
        pod_affinity(namespaces=["Bad_NS"]),
        "InvalidName",
        f"{TERM}.namespaces[0]",
    ),
    "label keys without a selector": (
        pod_affinity(matchLabelKeys=["a"]),
        "ConflictingFields",
        f"{TERM}.matchLabelKeys",
    ),
    "a key that must and must not match": (
        pod_affinity(labelSelector={}, matchLabelKeys=["a"], mismatchLabelKeys=["a"]),
        "ConflictingFields",
        f"{TERM}.matchLabelKeys[0]",
    ),
    "a toleration with Exists and a value": (
        toleration(key="gpu", operator="Exists", value="1"),
        "InvalidSelector",
        "tolerations[0].operator",
    ),
    "a toleration without key and operator": (toleration(value="1"), "InvalidSelector", "tolerations[0].operator"),
    "a toleration for a while of a lasting effect": (
        toleration(key="gpu", operator="Exists", effect="NoSchedule", tolerationSeconds=10),
        "InvalidSelector",
        "tolerations[0].effect",
    ),
    "a toleration that compares, which 1.36 has off": (
        toleration(key="gpu", operator="Gt", value="1"),
        "UnsupportedValue",
        "tolerations[0].operator",
    ),
    "an effect in small letters": (
        toleration(key="gpu", operator="Exists", effect="noschedule"),
        "UnsupportedValue",
        "tolerations[0].effect",
    ),
    "no skew": (spread(maxSkew=0), "OutOfRange", f"{SPREAD}.maxSkew"),
    "domains without a must": (
        spread(minDomains=2, whenUnsatisfiable="ScheduleAnyway"),
        "ConflictingFields",
        f"{SPREAD}.minDomains",
    ),
    "a key in matchLabelKeys and twice in the selector": (
        spread(
            matchLabelKeys=["a"],
            labelSelector={"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]},
        ),
        "ConflictingFields",
        f"{SPREAD}.matchLabelKeys[0]",
    ),
    "two constraints of a kind": (
        {"topologySpreadConstraints": spread()["topologySpreadConstraints"] * 2},
        "DuplicateItem",
        "topologySpreadConstraints[1]",
    ),
    "a gate that none can be called": (
        {"schedulingGates": [{"name": "bad gate"}]},
        "InvalidName",
        "schedulingGates[0].name",
    ),
    "no name server": ({"dnsPolicy": "None"}, "MissingRequired", "dnsConfig"),
    "a name server by name": ({"dnsConfig": {"nameservers": ["dns"]}}, "InvalidAddress", "dnsConfig.nameservers[0]"),
    "four name servers": ({"dnsConfig": {"nameservers": ["1.1.1.1"] * 4}}, "TooMany", "dnsConfig.nameservers"),
    "a leading zero": ({"dnsConfig": {"nameservers": ["010.0.0.1"]}}, "InvalidAddress", "dnsConfig.nameservers[0]"),
    "a domain with a blank": ({"dnsConfig": {"searches": ["a b"]}}, "InvalidName", "dnsConfig.searches[0]"),
    "an option without a name": ({"dnsConfig": {"options": [{}]}}, "MissingRequired", "dnsConfig.options[0].name"),
    "a host of an underscore": (
        {"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a_b"]}]},
        "InvalidName",
        "hostAliases[0].hostnames[0]",
    ),
    "a short address": ({"hostAliases": [{"ip": "10.0.0"}]}, "InvalidAddress", "hostAliases[0].ip"),
    "a host name with a dot": ({"hostname": "a.b"}, "InvalidName", "hostname"),
    "two ways to name the host": (
        {"hostnameOverride": "a.b", "setHostnameAsFQDN": True},
        "ConflictingFields",
        "hostnameOverride",
    ),
    "a host name of 65 characters": ({"hostnameOverride": f"{'a' * 60}.{'b' * 60}"}, "TooLong", "hostnameOverride"),
    "a priority class with capitals": ({"priorityClassName": "High"}, "InvalidName", "priorityClassName"),
    "a deadline of nothing": ({"activeDeadlineSeconds": 0}, "OutOfRange", "activeDeadlineSeconds"),
    "an unknown preemption policy": ({"preemptionPolicy": "never"}, "UnsupportedValue", "preemptionPolicy"),
    "an empty preemption policy": ({"preemptionPolicy": ""}, "UnsupportedValue", "preemptionPolicy"),
    "a claim without a source": ({"resourceClaims": [{"name": "gpu"}]}, "MissingRequired", "resourceClaims[0]"),
    "a claim with two sources": (
        {"resourceClaims": [{"name": "gpu", "resourceClaimName": "a", "resourceClaimTemplateName": "b"}]},
        "ConflictingFields",
        "resourceClaims[0]",
    ),
    "containers that are for debugging": (
        {"ephemeralContainers": [{"name": "debug", "image": "d"}]},
        "NotAllowedHere",
        "ephemeralContainers",
    ),
    "a user below zero": ({"securityContext": {"runAsUser": -1}}, "OutOfRange", "securityContext.runAsUser"),
    "a group beyond 31 bits": (
        {"securityContext": {"supplementalGroups": [2**31]}},
        "OutOfRange",
        "securityContext.supplementalGroups[0]",
    ),
    "a profile on the host without a name": (
        {"securityContext": {"seccompProfile": {"type": "Localhost"}}},
        "MissingRequired",
        "securityContext.seccompProfile.localhostProfile",
    ),
    "a profile's name without need": (
        {"securityContext": {"appArmorProfile": {"type": "Unconfined", "localhostProfile": "a"}}},
        "ConflictingFields",
        "securityContext.appArmorProfile.localhostProfile",
    ),
    "a sysctl with two dots": (
        {"securityContext": {"sysctls": [{"name": "net..x", "value": "1"}]}},
        "InvalidName",
        "securityContext.sysctls[0].name",
    ),
    "a sysctl of the host's network": (
        {"hostNetwork": True, "securityContext": {"sysctls": [{"name": "net.core.somaxconn", "value": "1"}]}},
        "ConflictingFields",
        "securityContext.sysctls[0].name",
    ),
    "own users must be equal": ({"hostUsers": False, "hostNetwork": True}, "ConflictingFields", "hostNetwork"),
    "relabelling by mount option, which is off until 1.37": (
        {"securityContext": {"seLinuxChangePolicy": "MountOption"}},
        "UnsupportedValue",
        "securityContext.seLinuxChangePolicy",
    ),
    "a block device in a user namespace": (
        {"hostUsers": False, "containers": [{"name": "n", "image": "x", "volumeDevices": DEVICE}]},
        "ConflictingFields",
        "containers[0].volumeDevices",
    ),
    "one process namespace too many": (
        {"hostPID": True, "shareProcessNamespace": True},
        "ConflictingFields",
        "shareProcessNamespace",
    ),
    "an unknown system": ({"os": {"name": "Linux"}}, "UnsupportedValue", "os.name"),
    "a user on Windows": (
        {"os": {"name": "windows"}, "securityContext": {"runAsUser": 1}},
        "NotAllowedHere",
        "securityContext.runAsUser",
    ),
    "Windows on Linux": (
        {"os": {"name": "linux"}, "securityContext": {"windowsOptions": {}}},
        "NotAllowedHere",
        "securityContext.windowsOptions",
    ),
    "devices for the whole pod": (
        {"resources": {"limits": {"nvidia.com/gpu": 1}}},
        "UnknownResource",
        'resources.limits["nvidia.com/gpu"]',
    ),
    "less than the limit of the pod": (
        {"resources": {"requests": {"cpu": 9}, "limits": {"cpu": 8}}},
        "RequestExceedsLimit",
        "resources.requests.cpu",
    ),
    "a negative overhead": ({"overhead": {"cpu": -1}}, "OutOfRange", "overhead.cpu"),
}


@pytest.mark.parametrize(("fields", "code", "place"), REFUSED.values(), ids=REFUSED)
def test_it_refuses(fields: dict[str, Any], code: str, place: str) -> None:
    assert in_pod(**fields) == [(code, place)]


ACCEPTED: dict[str, dict[str, Any]] = {
    "Gt with a word, which no node fits": node_affinity(operator="Gt", values=["x"]),
    "a preferred value that no label has": {
        "affinity": {
            "nodeAffinity": {
                PREFERRED: [
                    {
                        "weight": 1,
                        "preference": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["a b"]}]},
                    }
                ]
            }
        }
    },
    "label keys beside their selector": pod_affinity(labelSelector={"matchLabels": {"a": "b"}}, matchLabelKeys=["a"]),
    "spread by a label of the selector": spread(matchLabelKeys=["a"], labelSelector={"matchLabels": {"a": "b"}}),
    "a toleration of everything": toleration(operator="Exists"),
    "a toleration without an operator": toleration(key="gpu", value="true"),
    "names of schedulers, which are free": {"schedulerName": "Kube Scheduler"},
    "secrets without a name": {"imagePullSecrets": [{}]},
    "a grace period below zero, which becomes 1": {"terminationGracePeriodSeconds": -5},
    "an absolute search domain": {"dnsConfig": {"searches": ["a_b.svc.", "."]}},
    "IPv6": {"dnsConfig": {"nameservers": ["2001:db8::1"]}},
    "a Windows pod": {"os": {"name": "windows"}},
    "relabelling of every file": {"securityContext": {"seLinuxChangePolicy": "Recursive"}},
    "a block device without a user namespace": {"containers": [{"name": "n", "image": "x", "volumeDevices": DEVICE}]},
    "an empty service account": {"serviceAccountName": ""},
    "a limit of the pod alone": {"resources": {"limits": {"cpu": 8, "memory": "64Gi"}}},
}


@pytest.mark.parametrize("fields", ACCEPTED.values(), ids=ACCEPTED)
def test_it_accepts(fields: dict[str, Any]) -> None:
    assert in_pod(**fields) == []


ANNOTATIONS: dict[str, tuple[dict[str, str], list[str]]] = {
    "free text": ({"note": "any text: at all"}, []),
    "a key with capitals": ({"A/B": ""}, []),
    "a key with a blank": ({"bad key": "x"}, ["InvalidAnnotation"]),
    "more than 256 KiB": ({"a": "x" * 2**18}, ["TooLong"]),
}


@pytest.mark.parametrize(("annotations", "codes"), ANNOTATIONS.values(), ids=ANNOTATIONS)
def test_annotations(annotations: dict[str, str], codes: list[str]) -> None:
    assert [code for code, _ in found(template(annotations=annotations))] == codes


def test_labels() -> None:
    assert found(template(labels={"team": "a b"})) == [("InvalidLabel", "template.metadata.labels.team")]
    assert found(template(labels={"x/y/z": "1"})) == [("InvalidLabel", 'template.metadata.labels["x/y/z"]')]


def test_on_the_network_of_the_host_a_port_is_the_hosts() -> None:
    ports = [{"containerPort": 80, "hostPort": 81}]
    assert found(template({"ports": ports}, pod={"hostNetwork": True})) == [
        ("ConflictingFields", "containers[0].ports[0].hostPort")
    ]


def test_own_users_may_see_all_of_proc() -> None:
    context = {"securityContext": {"procMount": "Unmasked"}}
    assert found(template(context)) == [("ConflictingFields", "containers[0].securityContext.procMount")]
    assert found(template(context, pod={"hostUsers": False})) == []
