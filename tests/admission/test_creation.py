"""What each JobSet minor refuses on creation, on both sides of every limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tables import cases

from trainc.admission.admit import creation_refusals
from trainc.admission.creation import bake_defaults
from trainc.findings import format_path

Bend = Callable[..., dict[str, Any]]

ALL = ("0.8", "0.10", "0.11", "0.12")
NODE = "spec.replicatedJobs[1]"


def refusals(jobset: dict[str, Any], version: str) -> list[str]:
    return [f"{f.code} {format_path(f.path)}" for f in creation_refusals(bake_defaults(jobset, version), version)]


@pytest.mark.parametrize("version", ALL)
def test_the_base_is_admitted_by_every_version(bend: Bend, version: str) -> None:
    assert refusals(bend(), version) == []


@pytest.mark.parametrize("version", ALL)
@cases("edits", "name")
def test_it_admits(bend: Bend, edits: dict[str, Any], name: Any, version: str) -> None:
    assert refusals(bend(edits, **name), version) == []


@pytest.mark.parametrize("version", ALL)
@cases("edits", "name", "versions", "expected")
def test_it_refuses(bend: Bend, edits: Any, name: str, versions: list[str], expected: list[str], version: str) -> None:
    assert refusals(bend(edits, name=name), version) == (expected if version in versions else [])


def test_every_problem_is_reported_at_once(bend: Bend) -> None:
    edits = {"spec.managedBy": "bad", "spec.network.subdomain": "Bad", f"{NODE}.dependsOn[0].name": "ghost"}
    codes = {refusal.partition(" ")[0] for refusal in refusals(bend(edits, name="9"), "0.12")}
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
