"""What each JobSet minor refuses on creation, on both sides of every limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trainc.admission.admit import creation_refusals
from trainc.admission.defaults import bake_defaults
from trainc.findings import Path

Bend = Callable[..., dict[str, Any]]

ALL = ("0.8", "0.10", "0.11", "0.12")
SINCE_GROUPS = ("0.10", "0.11", "0.12")
SINCE_CLAIMS = ("0.11", "0.12")
NODE = "spec.replicatedJobs[1]"
NODE_JOB = f"{NODE}.template.spec"
POLICY = "spec.failurePolicy"
LONGEST_PREPARE = 45  # "<name>-prepare-0-0-abcde" has 63 characters
RULE = {"name": "rule", "action": "FailJobSet"}


# What a claim called `work` needs: JobSet adds its volume to the pods that mount it.
MOUNTED = {
    f"spec.replicatedJobs[{i}].template.spec.template.spec.containers[0].volumeMounts": [
        {"name": "work", "mountPath": "/work"}
    ]
    for i in (0, 1)
}


def claim(name: Any = "work", **metadata: Any) -> dict[str, Any]:
    return {"templates": [{"metadata": {"name": name, **metadata}, "spec": {}}]}


def refusals(jobset: dict[str, Any], version: str) -> list[tuple[str, Path]]:
    return [(f.code, f.path) for f in creation_refusals(bake_defaults(jobset, version), version)]


@pytest.mark.parametrize("version", ALL)
def test_the_base_is_admitted_by_every_version(bend: Bend, version: str) -> None:
    assert refusals(bend(), version) == []


ADMITTED = {
    "the longest name whose pods have 63 characters": ({}, {"name": "j" * LONGEST_PREPARE}),
    "the longest name whose Jobs have 63 characters, where no pod is indexed": (
        {f"spec.replicatedJobs[{i}].template.spec.completionMode": "NonIndexed" for i in (0, 1)},
        {"name": "j" * 53},
    ),
    "no completions, so that the pods' names are nobody's concern": (
        {f"spec.replicatedJobs[{i}].template.spec.completions": None for i in (0, 1)},
        {"name": "j" * 53},
    ),
    "a dependency on itself": ({f"{NODE}.dependsOn": [{"name": "node", "status": "Ready"}]}, {}),
    "startup in any order beside dependencies": ({"spec.startupPolicy.startupPolicyOrder": "AnyOrder"}, {}),
    "a subdomain of 63 characters": ({"spec.network.subdomain": "s" * 63}, {}),
    "an empty subdomain": ({"spec.network.subdomain": ""}, {}),
    "a manager of 63 characters": ({"spec.managedBy": "a.io/" + "b" * 58}, {}),
    "as many pods as can be counted": ({f"{NODE}.replicas": 1, f"{NODE_JOB}.parallelism": 2**31 - 1}, {}),
    "a success policy about a job that exists": (
        {"spec.successPolicy": {"operator": "Any", "targetReplicatedJobs": ["node"]}},
        {},
    ),
    "a failure rule without a name": ({POLICY: {"rules": [{"action": "FailJobSet"}, {"action": "FailJobSet"}]}}, {}),
    "a failure rule called by 128 characters": ({POLICY: {"rules": [{**RULE, "name": "r" * 128}]}}, {}),
    "a failure rule with a comma and a colon inside": ({POLICY: {"rules": [{**RULE, "name": "a,b:c_"}]}}, {}),
    "a failure rule about a reason that exists": (
        {POLICY: {"rules": [{**RULE, "onJobFailureReasons": ["PodFailurePolicy"]}]}},
        {},
    ),
    "a coordinator that exists": ({"spec.coordinator": {"replicatedJob": "node"}}, {}),
    "a coordinator whose address has 63 characters": (
        {"spec.coordinator": {"replicatedJob": "node"}, "spec.network.subdomain": "s" * 50},
        {},
    ),
    "an init container's mount of a claim": (
        {
            **MOUNTED,
            "spec.volumeClaimPolicies": [claim("other")],
            f"{NODE_JOB}.template.spec.initContainers": [{"name": "i", "volumeMounts": [{"name": "other"}]}],
        },
        {},
    ),
    "a claim that one job mounts": ({**MOUNTED, "spec.volumeClaimPolicies": [claim()]}, {}),
}


@pytest.mark.parametrize("version", ALL)
@pytest.mark.parametrize(("edits", "name"), ADMITTED.values(), ids=ADMITTED)
def test_it_admits(bend: Bend, edits: dict[str, Any], name: Any, version: str) -> None:
    assert refusals(bend(edits, **name), version) == []


# What is refused: the edits, the JobSet's name, the versions that refuse it, and the code and path of each refusal.
FIRST, SECOND = ("spec", "replicatedJobs", 0), ("spec", "replicatedJobs", 1)
RULES = ("spec", "failurePolicy", "rules")
CLAIM = ("spec", "volumeClaimPolicies", 0, "templates", 0, "metadata")
REFUSED = {
    "a name that makes a pod's name one too long": (
        {},
        "j" * (LONGEST_PREPARE + 1),
        ALL,
        [("JobNameTooLong", (*FIRST, "name"))],
    ),
    "a tenth replica, whose index adds no character, but the eleventh": (
        {"spec.replicatedJobs[0].replicas": 11},
        "j" * LONGEST_PREPARE,
        ALL,
        [("JobNameTooLong", (*FIRST, "name"))],
    ),
    "an eleventh completion": (
        {"spec.replicatedJobs[0].template.spec.completions": 11},
        "j" * LONGEST_PREPARE,
        ALL,
        [("JobNameTooLong", (*FIRST, "name"))],
    ),
    "no replica at all, whose Job would have index -1": (
        {"spec.replicatedJobs[0].replicas": 0},
        "j" * LONGEST_PREPARE,
        ALL,
        [("JobNameTooLong", (*FIRST, "name"))],
    ),
    "a name that makes a Job's name one too long": (
        {f"spec.replicatedJobs[{i}].template.spec.completionMode": "NonIndexed" for i in (0, 1)},
        "j" * 54,
        ALL,
        [("JobNameTooLong", (*FIRST, "name"))],
    ),
    "a name that starts with a digit": (
        {},
        "9job",
        ALL,
        [("InvalidJobName", (*FIRST, "name")), ("InvalidJobName", (*SECOND, "name"))],
    ),
    "a name with a dot": (
        {},
        "a.b",
        ALL,
        [("InvalidJobName", (*FIRST, "name")), ("InvalidJobName", (*SECOND, "name"))],
    ),
    "a replicated job with capitals": (
        {f"{NODE}.name": "Node"},
        "job",
        ALL,
        [("InvalidJobName", (*SECOND, "name"))],
    ),
    "a generated name": (
        {"metadata.generateName": "job-"},
        "",
        ALL,
        [("MissingJobSetName", ("metadata", "generateName"))],
    ),
    "a group that starts with a digit": (
        {f"{NODE}.groupName": "9x"},
        "job",
        SINCE_GROUPS,
        [("InvalidGroupName", (*SECOND, "groupName"))],
    ),
    "a group of 64 characters": (
        {f"{NODE}.groupName": "g" * 64},
        "job",
        SINCE_GROUPS,
        [("InvalidGroupName", (*SECOND, "groupName"))],
    ),
    "an empty group": ({f"{NODE}.groupName": ""}, "job", SINCE_GROUPS, [("InvalidGroupName", (*SECOND, "groupName"))]),
    "dependencies of the first job": (
        {"spec.replicatedJobs[0].dependsOn": [{"name": "prepare", "status": "Ready"}]},
        "job",
        ALL,
        [("DependsOnFirstJob", (*FIRST, "dependsOn"))],
    ),
    "an empty list of dependencies of the first job": (
        {"spec.replicatedJobs[0].dependsOn": []},
        "job",
        ALL,
        [("DependsOnFirstJob", (*FIRST, "dependsOn"))],
    ),
    "an empty list of dependencies of a later job": (
        {f"{NODE}.dependsOn": []},
        "job",
        ("0.8",),
        [("DependsOnEmpty", (*SECOND, "dependsOn"))],
    ),
    "a dependency on a job that does not exist": (
        {f"{NODE}.dependsOn": [{"name": "ghost", "status": "Ready"}]},
        "job",
        ALL,
        [("DependsOnUnknown", (*SECOND, "dependsOn", 0, "name"))],
    ),
    "a subdomain of 64 characters": (
        {"spec.network.subdomain": "s" * 64},
        "job",
        ALL,
        [("InvalidSubdomain", ("spec", "network", "subdomain"))],
    ),
    "a subdomain with a dot": (
        {"spec.network.subdomain": "a.b"},
        "job",
        ALL,
        [("InvalidSubdomain", ("spec", "network", "subdomain"))],
    ),
    "a manager without a domain": (
        {"spec.managedBy": "kueue"},
        "job",
        ALL,
        [("InvalidManagedBy", ("spec", "managedBy"))],
    ),
    "an empty manager": ({"spec.managedBy": ""}, "job", ALL, [("InvalidManagedBy", ("spec", "managedBy"))]),
    "a manager without a path": (
        {"spec.managedBy": "a.io/"},
        "job",
        ALL,
        [("InvalidManagedBy", ("spec", "managedBy"))],
    ),
    "a manager of 64 characters": (
        {"spec.managedBy": "a.io/" + "b" * 59},
        "job",
        ALL,
        [("InvalidManagedBy", ("spec", "managedBy"))],
    ),
    "one pod more than can be counted": (
        {f"{NODE}.replicas": 2, f"{NODE_JOB}.parallelism": 2**30},
        "job",
        ALL,
        [("TooManyPods", (*SECOND, "replicas"))],
    ),
    "a success policy about a job that does not exist": (
        {"spec.successPolicy": {"operator": "All", "targetReplicatedJobs": ["node", "ghost"]}},
        "job",
        ALL,
        [("UnknownTargetJob", ("spec", "successPolicy", "targetReplicatedJobs", 1))],
    ),
    "a failure rule about a job that does not exist": (
        {POLICY: {"rules": [{**RULE, "targetReplicatedJobs": ["ghost"]}]}},
        "job",
        ALL,
        [("UnknownTargetJob", (*RULES, 0, "targetReplicatedJobs", 0))],
    ),
    "a failure rule called by 129 characters": (
        {POLICY: {"rules": [{**RULE, "name": "r" * 129}]}},
        "job",
        ALL,
        [("InvalidFailureRuleName", (*RULES, 0, "name"))],
    ),
    "a failure rule that ends with a colon": (
        {POLICY: {"rules": [{**RULE, "name": "a:"}]}},
        "job",
        ALL,
        [("InvalidFailureRuleName", (*RULES, 0, "name"))],
    ),
    "three failure rules of one name": (
        {POLICY: {"rules": [RULE, RULE, RULE]}},
        "job",
        ALL,
        [("DuplicateFailureRule", (*RULES, 1, "name")), ("DuplicateFailureRule", (*RULES, 2, "name"))],
    ),
    "a failure rule called as another's default": (
        {POLICY: {"rules": [{**RULE, "name": "failurePolicyRule1"}, {"action": "FailJobSet"}]}},
        "job",
        ALL,
        [("DuplicateFailureRule", (*RULES, 1, "name"))],
    ),
    "a failure rule about a reason that does not exist": (
        {POLICY: {"rules": [{**RULE, "onJobFailureReasons": ["OutOfMemory"]}]}},
        "job",
        ALL,
        [("UnknownFailureReason", (*RULES, 0, "onJobFailureReasons", 0))],
    ),
    "restarting single jobs, behind a feature gate": (
        {POLICY: {"rules": [{**RULE, "action": "RestartJobAndIgnoreMaxRestarts"}]}},
        "job",
        ("0.12",),
        [("FeatureGateOff", (*RULES, 0, "action"))],
    ),
    "restarting in place, behind a feature gate": (
        {POLICY: {"restartStrategy": "InPlaceRestart"}},
        "job",
        SINCE_CLAIMS,
        [("FeatureGateOff", ("spec", "failurePolicy", "restartStrategy"))],
    ),
    "a coordinator in a job that does not exist": (
        {"spec.coordinator": {"replicatedJob": "ghost"}},
        "job",
        ALL,
        [("UnknownTargetJob", ("spec", "coordinator", "replicatedJob"))],
    ),
    "a coordinator in a replica that does not exist": (
        {"spec.coordinator": {"replicatedJob": "node", "jobIndex": 1}},
        "job",
        ALL,
        [("InvalidCoordinatorIndex", ("spec", "coordinator", "jobIndex"))],
    ),
    "a coordinator in a negative replica": (
        {"spec.coordinator": {"replicatedJob": "node", "jobIndex": -1}},
        "job",
        ALL,
        [("InvalidCoordinatorIndex", ("spec", "coordinator", "jobIndex"))],
    ),
    "a coordinator in a pod that does not exist": (
        {"spec.coordinator": {"replicatedJob": "node", "podIndex": 1}},
        "job",
        ALL,
        [("InvalidCoordinatorIndex", ("spec", "coordinator", "podIndex"))],
    ),
    "a coordinator in a job without completions": (
        {"spec.coordinator": {"replicatedJob": "node"}, f"{NODE_JOB}.completions": None},
        "job",
        ALL,
        [("CoordinatorNotIndexed", ("spec", "coordinator", "replicatedJob"))],
    ),
    "a coordinator in a job that is not indexed": (
        {"spec.coordinator": {"replicatedJob": "node"}, f"{NODE_JOB}.completionMode": "NonIndexed"},
        "job",
        ALL,
        [("CoordinatorNotIndexed", ("spec", "coordinator", "replicatedJob"))],
    ),
    "a coordinator whose address has 64 characters": (
        {"spec.coordinator": {"replicatedJob": "node"}, "spec.network.subdomain": "s" * 51},
        "job",
        SINCE_CLAIMS,
        [("InvalidCoordinatorLabel", ("spec", "coordinator"))],
    ),
    "two claim templates of one name": (
        {**MOUNTED, "spec.volumeClaimPolicies": [claim(), claim()]},
        "job",
        SINCE_CLAIMS,
        [("DuplicateVolumeClaim", ("spec", "volumeClaimPolicies", 1, "templates", 0, "metadata", "name"))],
    ),
    "a claim template whose name no claim can have": (
        {
            **MOUNTED,
            "spec.volumeClaimPolicies": [claim("Work")],
            f"{NODE_JOB}.template.spec.containers[0].volumeMounts[0].name": "Work",
        },
        "job",
        SINCE_CLAIMS,
        [("InvalidVolumeClaimName", (*CLAIM, "name"))],
    ),
    "a claim whose name has 64 characters": (
        {
            **MOUNTED,
            "spec.volumeClaimPolicies": [claim("w" * 60)],
            f"{NODE_JOB}.template.spec.containers[0].volumeMounts[0].name": "w" * 60,
        },
        "job",
        SINCE_CLAIMS,
        [("VolumeClaimNameTooLong", (*CLAIM, "name"))],
    ),
    "a claim that nothing mounts": (
        {**MOUNTED, "spec.volumeClaimPolicies": [claim("other")]},
        "job",
        SINCE_CLAIMS,
        [("VolumeClaimNotMounted", (*CLAIM, "name"))],
    ),
    "a claim beside a volume of its name": (
        {
            **MOUNTED,
            "spec.volumeClaimPolicies": [claim()],
            f"{NODE_JOB}.template.spec.volumes": [{"name": "work", "emptyDir": {}}],
        },
        "job",
        SINCE_CLAIMS,
        [("VolumeClaimShadowsVolume", (*SECOND, "template", "spec", "template", "spec", "volumes", 0, "name"))],
    ),
}


@pytest.mark.parametrize("version", ALL)
@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_it_refuses(bend: Bend, case: Any, version: str) -> None:
    edits, name, versions, expected = case
    assert refusals(bend(edits, name=name), version) == (expected if version in versions else [])


def test_every_problem_is_reported_at_once(bend: Bend) -> None:
    edits = {"spec.managedBy": "bad", "spec.network.subdomain": "Bad", f"{NODE}.dependsOn[0].name": "ghost"}
    codes = {code for code, _ in refusals(bend(edits, name="9"), "0.12")}
    assert codes == {"InvalidManagedBy", "InvalidSubdomain", "DependsOnUnknown", "InvalidJobName"}


def test_a_later_dependency_is_told_from_an_unknown_one(bend: Bend) -> None:
    edits = {"spec.replicatedJobs[0].dependsOn": [{"name": "node", "status": "Ready"}]}
    findings = creation_refusals(bend(edits), "0.12")
    assert [(f.code, f.hint) for f in findings][1] == ("DependsOnUnknown", "put 'node' before 'prepare'")


@pytest.mark.parametrize(
    "spec",
    [None, [], "text", {"replicatedJobs": "text"}, {"replicatedJobs": [None, 1, {"name": 3, "template": []}]}],
)
def test_values_of_the_wrong_type_are_left_to_the_schema(bend: Bend, spec: Any) -> None:
    jobset = bend({"spec": spec})
    assert all(f.severity == "error" for f in creation_refusals(bake_defaults(jobset, "0.12"), "0.12"))
