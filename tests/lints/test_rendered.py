"""Rendered manifests whose names were changed after compiling."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import compiled, job, runtime, trainjob
from tables import cases

from trainc import Options
from trainc.kube.documents import Foreign
from trainc.lints.manifests import stale_names
from trainc.lints.registry import lint_rendered

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
    return {finding.code for finding in stale_names(jobset, map(Foreign, manifests))}


@pytest.mark.parametrize("name", sorted(JOBS))
def test_what_trainc_renders_leads_somewhere(name: str) -> None:
    assert codes(rendered(name)) == set()


@pytest.mark.parametrize("name", ["torch", "jax", "xgboost", "mpi", "flux"])
def test_a_prefix_added_later_leaves_stale_names(name: str) -> None:
    manifests = json.loads(json.dumps(rendered(name)))
    for manifest in manifests:
        manifest["metadata"]["name"] = f"dev-{manifest['metadata']['name']}"
    assert codes(manifests) == {"StaleReference"}


def test_a_renamed_jobset_no_longer_has_the_hosts_of_its_hostfile() -> None:
    manifests = json.loads(json.dumps(rendered("mpi")))
    next(m for m in manifests if m["kind"] == "JobSet")["metadata"]["name"] = "dev-llm"
    assert codes(manifests) == {"StaleReference"}


def test_a_group_of_another_namespace_is_not_a_group_of_this_one() -> None:
    manifests = json.loads(json.dumps(rendered("torch")))
    next(m for m in manifests if m["kind"] == "PodGroup")["metadata"]["namespace"] = "elsewhere"
    assert codes(manifests) == {"StaleReference"}


OWN_GANGS = (trainjob({"numNodes": 2}), runtime(job("judge", None), job(), policy={"torch": {}}, gang={"workload": {}}))


def gang_findings(manifests: list[dict[str, Any]]) -> set[str]:
    (jobset,) = [m for m in manifests if m["kind"] == "JobSet"]
    found = lint_rendered(jobset, manifests, Options())
    # Its addresses are stale too, if it has another name.
    return {finding.code for finding in found if "is not a pod of this JobSet" not in finding.message}


def own_gang() -> dict[str, dict[str, Any]]:
    return {m["kind"]: m for m in json.loads(json.dumps(compiled(*OWN_GANGS, kubernetes="1.37").manifests))}


def test_a_group_of_kubernetes_itself_leads_to_its_workload_and_back() -> None:
    assert gang_findings(list(own_gang().values())) == set()


@cases("kind", "path", "value", "code")
def test_a_group_that_was_changed_after_compiling_is_noticed(kind: str, path: Any, value: Any, code: str) -> None:
    objects = own_gang()
    place = objects[kind]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert gang_findings(list(objects.values())) == ({code} if code else set())


@pytest.mark.parametrize("kind", ["torch", "own gang"])
def test_a_jobset_that_no_trainjob_made_may_join_groups_that_something_else_makes(kind: str) -> None:
    manifests = json.loads(json.dumps(rendered("torch"))) if kind == "torch" else list(own_gang().values())
    (jobset,) = (m for m in manifests if m["kind"] == "JobSet")
    assert {f.code for f in lint_rendered(jobset, [jobset], Options())} == {"StaleReference"}
    for replicated in jobset["spec"]["replicatedJobs"]:
        replicated["template"].pop("metadata", None)
    assert list(lint_rendered(jobset, [jobset], Options())) == []
