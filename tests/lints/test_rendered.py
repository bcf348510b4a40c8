"""Rendered manifests whose names were changed after compiling."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import compiled, job, runtime, trainjob

from trainc.lints.rendered import stale_names

MPI = (job("launcher"), job("node", None))
JOBS = {
    "torch": (trainjob({"numNodes": 2}), runtime(policy={"torch": {}}, gang={"coscheduling": {}})),
    "jax": (trainjob({"numNodes": 2}), runtime(policy={"jax": {}}, gang={"volcano": {}})),
    "xgboost": (trainjob({"numNodes": 2}), runtime(policy={"xgboost": {}}, network={"subdomain": "ring"})),
    "mpi": (trainjob({"numNodes": 2}), runtime(*MPI, policy={"mpi": {}})),
    "flux": (trainjob({"numNodes": 2}), runtime(policy={"flux": {}})),
}


def rendered(name: str) -> list[dict[str, Any]]:
    return compiled(*JOBS[name]).manifests


def codes(manifests: list[dict[str, Any]]) -> set[str]:
    (jobset,) = [m for m in manifests if m["kind"] == "JobSet"]
    return {finding.code for finding in stale_names(jobset, manifests)}


@pytest.mark.parametrize("name", sorted(JOBS))
def test_what_trainc_renders_leads_somewhere(name: str) -> None:
    assert codes(rendered(name)) == set()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch", {"StaleAddress", "StaleGroup"}),
        ("jax", {"StaleAddress", "StaleGroup"}),
        ("xgboost", {"StaleAddress"}),
        ("mpi", {"StaleConfigMap"}),
        ("flux", {"StaleConfigMap"}),
    ],
)
def test_a_prefix_added_later_leaves_stale_names(name: str, expected: set[str]) -> None:
    manifests = json.loads(json.dumps(rendered(name)))
    for manifest in manifests:
        manifest["metadata"]["name"] = f"dev-{manifest['metadata']['name']}"
    assert codes(manifests) == expected


def test_a_renamed_jobset_no_longer_has_the_hosts_of_its_hostfile() -> None:
    manifests = json.loads(json.dumps(rendered("mpi")))
    next(m for m in manifests if m["kind"] == "JobSet")["metadata"]["name"] = "dev-llm"
    assert codes(manifests) == {"StaleHost"}


def test_a_group_of_another_namespace_is_no_group_of_this_one() -> None:
    manifests = json.loads(json.dumps(rendered("torch")))
    next(m for m in manifests if m["kind"] == "PodGroup")["metadata"]["namespace"] = "elsewhere"
    assert codes(manifests) == {"StaleGroup"}
