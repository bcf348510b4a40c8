"""What JobSet accepts and later fails on, and what looks like it but works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tables import cases

from trainc.admission.admit import creation_refusals
from trainc.admission.creation import bake_defaults, jobset_version, post_admission_checks
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


@cases("edits", "code", "place")
def test_it_fails_later(bend: Bend, edits: dict[str, Any], code: str, place: str) -> None:
    assert codes(bend(edits)) == [code]
    (finding,) = later_failures(bake_defaults(bend(edits), "0.12"), "0.12", "warning")
    assert format_path(finding.path) == place


@cases("edits")
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


@cases("spec")
def test_values_of_the_wrong_type_are_left_to_the_schema(bend: Bend, spec: Any) -> None:
    assert later_failures(bend({"spec": spec}), "0.12", "error") == []
