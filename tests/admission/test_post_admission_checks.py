"""What JobSet accepts and later fails on, and what looks like it but works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trainc.admission.admit import creation_refusals
from trainc.admission.defaults import bake_defaults
from trainc.admission.post_admission import post_admission_checks
from trainc.admission.versions import jobset_version
from trainc.findings import Finding, Severity, format_path
from trainc.kube.jobset import JobSet

Bend = Callable[..., dict[str, Any]]

ALL = ("0.8", "0.10", "0.11", "0.12")
NODE = "spec.replicatedJobs[1]"
JOB = f"{NODE}.template.spec"
POD = f"{JOB}.template.spec"
CONTAINER = f"{POD}.containers[0]"
RESOURCES = f"{CONTAINER}.resources"


def pattern(text: str) -> dict[str, Any]:
    rule = {"name": "rule", "action": "FailJobSet", "onJobFailureMessagePatterns": [text]}
    return {"spec.failurePolicy": {"rules": [rule]}}


def later_failures(jobset: dict[str, Any], version: str, severity: Severity) -> list[Finding]:
    return post_admission_checks(JobSet.read(jobset), jobset_version(version), severity)


def codes(jobset: dict[str, Any], version: str = "0.12") -> list[str]:
    baked = bake_defaults(jobset, version)
    assert creation_refusals(baked, version) == []
    return [f.code for f in later_failures(baked, version, "warning")]


# What is bent, the finding, and its place.
FAILS = {
    "a job that waits for itself": (
        {f"{NODE}.dependsOn[0].name": "node"},
        "DependsOnSelf",
        f"{NODE}.dependsOn[0].name",
    ),
    "a message pattern with a look-ahead": (
        pattern("(?=x)"),
        "InvalidMessagePattern",
        "spec.failurePolicy.rules[0].onJobFailureMessagePatterns[0]",
    ),
    "pods that are always restarted": (
        {f"{POD}.restartPolicy": "Always"},
        "InvalidRestartPolicy",
        f"{POD}.restartPolicy",
    ),
    "a pod failure policy where pods restart in place": (
        {f"{JOB}.podFailurePolicy": {"rules": []}},
        "PodFailurePolicyNeedsNever",
        f"{POD}.restartPolicy",
    ),
    "parallelism without completions in an indexed job": (
        {f"{JOB}.completions": None},
        "CompletionsMissing",
        f"{JOB}.completions",
    ),
    "fewer retries than none": (
        {f"{JOB}.backoffLimit": -1},
        "OutOfRange",
        f"{JOB}.backoffLimit",
    ),
    "a retry limit per index without indexes": (
        {f"{JOB}.completionMode": "NonIndexed", f"{JOB}.backoffLimitPerIndex": 1},
        "BackoffLimitPerIndexNeedsIndexed",
        f"{JOB}.backoffLimitPerIndex",
    ),
    "a device requested without a limit": (
        {RESOURCES: {"requests": {"nvidia.com/gpu": 1}}},
        "ExtendedResourceUnequal",
        f"{RESOURCES}.limits",
    ),
    "a device requested and limited differently": (
        {RESOURCES: {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": 2}}},
        "ExtendedResourceUnequal",
        f'{RESOURCES}.requests["nvidia.com/gpu"]',
    ),
    "half a device": (
        {RESOURCES: {"limits": {"nvidia.com/gpu": "500m"}}},
        "ExtendedResourceNotInteger",
        f'{RESOURCES}.limits["nvidia.com/gpu"]',
    ),
    "huge pages requested without a limit": (
        {RESOURCES: {"requests": {"hugepages-2Mi": "4Mi", "memory": "1Gi"}}},
        "ExtendedResourceUnequal",
        f"{RESOURCES}.limits",
    ),
    "a device of an init container": (
        {f"{POD}.initContainers": [{"name": "i", "image": "i", "resources": {"requests": {"amd.com/gpu": 1}}}]},
        "ExtendedResourceUnequal",
        f"{POD}.initContainers[0].resources.limits",
    ),
    "a resource that no node offers": (
        {RESOURCES: {"limits": {"gpu": 1}}},
        "UnknownResource",
        f"{RESOURCES}.limits.gpu",
    ),
    "more memory than the limit": (
        {RESOURCES: {"requests": {"memory": "8G"}, "limits": {"memory": "2Gi"}}},
        "RequestExceedsLimit",
        f"{RESOURCES}.requests.memory",
    ),
    "two volume sources": (
        {f"{POD}.volumes": [{"name": "v", "emptyDir": {}, "secret": {"secretName": "s"}}]},
        "TwoVolumeSources",
        f"{POD}.volumes[0]",
    ),
    "value beside valueFrom": (
        {f"{CONTAINER}.env": [{"name": "A", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]},
        "ValueAndValueFrom",
        f"{CONTAINER}.env[0].valueFrom",
    ),
    "a volume called by 64 characters": (
        {f"{POD}.volumes": [{"name": "v" * 64, "emptyDir": {}}]},
        "DerivedNameTooLong",
        f"{POD}.volumes[0].name",
    ),
    "a label of 64 characters": (
        {f"{JOB}.template.metadata.labels": {"a": "v" * 64}},
        "DerivedNameTooLong",
        f"{JOB}.template.metadata.labels.a",
    ),
    "a label with a slash": (
        {f"{JOB}.template.metadata.labels": {"a": "a/b"}},
        "InvalidLabel",
        f"{JOB}.template.metadata.labels.a",
    ),
}


@pytest.mark.parametrize(("edits", "code", "place"), FAILS.values(), ids=FAILS)
def test_it_fails_later(bend: Bend, edits: dict[str, Any], code: str, place: str) -> None:
    assert codes(bend(edits)) == [code]
    (finding,) = later_failures(bake_defaults(bend(edits), "0.12"), "0.12", "warning")
    assert format_path(finding.path) == place


WORKS = {
    "a message pattern in RE2": pattern(r"\pL+[[:alpha:]]\z"),
    "pods that are never restarted": {f"{POD}.restartPolicy": "Never"},
    "a pod failure policy where pods are not restarted": {
        f"{POD}.restartPolicy": "Never",
        f"{JOB}.podFailurePolicy": {"rules": []},
    },
    "neither parallelism nor completions": {f"{JOB}.completions": None, f"{JOB}.parallelism": None},
    "parallelism without completions or indexes": {f"{JOB}.completions": None, f"{JOB}.completionMode": "NonIndexed"},
    "a retry limit per index": {f"{JOB}.backoffLimitPerIndex": 1},
    "a device with a limit alone": {RESOURCES: {"limits": {"nvidia.com/gpu": 1}}},
    "a device requested as it is limited, written differently": {
        RESOURCES: {"requests": {"nvidia.com/gpu": "1000m"}, "limits": {"nvidia.com/gpu": 1}}
    },
    "as much memory as the limit": {RESOURCES: {"requests": {"memory": "1024Mi"}, "limits": {"memory": "1Gi"}}},
    "half a processor without a limit": {RESOURCES: {"requests": {"cpu": "500m"}}},
    "Kubernetes' own resource with a slash": {RESOURCES: {"requests": {"kubernetes.io/batch-cpu": "500m"}}},
    "an amount that is none, which the schema reports": {RESOURCES: {"limits": {"cpu": "many"}}},
    "a volume without a source": {f"{POD}.volumes": [{"name": "v"}]},
    "a volume whose other source is null": {f"{POD}.volumes": [{"name": "v", "emptyDir": {}, "secret": None}]},
    "an empty value beside valueFrom": {
        f"{CONTAINER}.env": [{"name": "A", "value": "", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]
    },
    "a volume and a label of 63 characters": {
        f"{POD}.volumes": [{"name": "v" * 63}],
        f"{JOB}.template.metadata.labels": {"a": "v" * 63, "b": ""},
    },
}


@pytest.mark.parametrize("edits", WORKS.values(), ids=WORKS)
def test_it_works(bend: Bend, edits: dict[str, Any]) -> None:
    assert codes(bend(edits)) == []


@pytest.mark.parametrize(("version", "reported"), [("0.8", False), ("0.10", True), ("0.11", True), ("0.12", True)])
def test_message_patterns_are_read_where_the_version_has_them(bend: Bend, version: str, reported: bool) -> None:
    assert codes(bend(pattern("(")), version) == (["InvalidMessagePattern"] if reported else [])


@pytest.mark.parametrize("version", ["0.8", "0.10"])
def test_an_old_jobset_accepts_a_coordinator_whose_address_is_not_a_label(bend: Bend, version: str) -> None:
    edits = {"spec.coordinator": {"replicatedJob": "node"}, "spec.network.subdomain": "s" * 51}
    assert codes(bend(edits), version) == ["InvalidCoordinatorLabel"]


@pytest.mark.parametrize(
    ("edits", "version"),
    [
        ({"spec.coordinator": {"replicatedJob": "node"}, "spec.network.subdomain": "s" * 51}, "0.11"),
        ({"spec.coordinator": {"replicatedJob": "node"}, "spec.network.subdomain": "s" * 51}, "0.12"),
        ({"spec.replicatedJobs[0].dependsOn": [{"name": "prepare", "status": "Complete"}]}, "0.12"),
    ],
)
def test_what_is_refused_on_creation_is_not_said_twice(bend: Bend, edits: dict[str, Any], version: str) -> None:
    baked = bake_defaults(bend(edits), version)
    assert len(creation_refusals(baked, version)) == 1
    assert later_failures(baked, version, "error") == []


@pytest.mark.parametrize("severity", ["error", "warning"])
def test_the_caller_picks_the_severity(bend: Bend, severity: Severity) -> None:
    jobset = bend({f"{NODE}.dependsOn[0].name": "node", RESOURCES: {"limits": {"gpu": 1}}})
    assert {f.severity for f in later_failures(jobset, "0.12", severity)} == {severity}


def test_a_derived_volume_name_is_fixed_by_a_shorter_jobset(bend: Bend) -> None:
    name = "j" * 40
    jobset = bend({f"{POD}.volumes": [{"name": f"{name}-{'x' * 24}"}]}, name=name)
    (finding,) = later_failures(bake_defaults(jobset, "0.12"), "0.12", "error")
    assert finding.hint.startswith("shorten the name of the job to at most 38 characters")


def test_a_volume_name_of_its_own_is_fixed_where_it_stands(bend: Bend) -> None:
    jobset = bake_defaults(bend({f"{POD}.volumes": [{"name": "v" * 66}]}), "0.12")
    (finding,) = later_failures(jobset, "0.12", "error")
    assert finding.hint == "shorten it by at least 3 characters"


@pytest.mark.parametrize(
    "spec",
    [
        None,
        {"failurePolicy": {"rules": [{"onJobFailureMessagePatterns": [1]}]}},
        {"failurePolicy": {"rules": [1, {"onJobFailureMessagePatterns": "x"}]}, "coordinator": 1},
        {
            "replicatedJobs": [
                {"template": {"spec": {"template": {"spec": {"restartPolicy": 1, "containers": [1], "volumes": {}}}}}}
            ]
        },
    ],
)
def test_values_of_the_wrong_type_are_left_to_the_schema(bend: Bend, spec: Any) -> None:
    assert later_failures(bend({"spec": spec}), "0.12", "error") == []
