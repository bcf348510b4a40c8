"""JAX, XGBoost and plain runtimes: how processes learn their number and rank."""

from __future__ import annotations

from typing import Any

import pytest
from builders import compiled, container, diagnostics_of, env, job, main, pods, refused, runtime, trainjob

RANK = {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}
A = [{"name": "A", "value": "1"}]


def test_jax_is_told_its_coordinator() -> None:
    result = compiled(trainjob({"numNodes": 3, "env": A}), runtime(policy={"jax": {}}))
    assert env(result) == {
        "JAX_NUM_PROCESSES": "3",
        "JAX_PROCESS_ID": RANK,
        "JAX_COORDINATOR_ADDRESS": "llm-node-0-0.llm:29500",
        "A": "1",
    }
    assert pods(result) == 3
    assert main(result)["ports"] == [{"containerPort": 29500, "protocol": "TCP"}]


def test_a_trainjobs_variables_overrule_those_of_jax() -> None:
    mine = [{"name": "JAX_NUM_PROCESSES", "value": "9"}]
    assert env(compiled(trainjob({"env": mine}), runtime(policy={"jax": {}})))["JAX_NUM_PROCESSES"] == "9"


def test_jax_of_2_2_crashes_without_a_trainer_job() -> None:
    rt = runtime(job("a", None, [container("c")]), policy={"jax": {}})
    (error,) = refused(trainjob({}), rt, release="2.2", semantics="controller")
    assert (error.code, error.path) == ("ControllerPanics", "spec.runtimeRef")
    for release, semantics in (("2.3", "controller"), ("2.2", "gitops")):
        assert not diagnostics_of("ControllerPanics", trainjob({}), rt, release=release, semantics=semantics)
    assert not diagnostics_of(
        "ControllerPanics", trainjob({}), runtime(policy={"jax": {}}), release="2.2", semantics="controller"
    )


@pytest.mark.parametrize(
    ("case", "trainer", "workers"),
    [
        ("one per node", {"numNodes": 3}, "3"),
        ("one per GPU", {"numNodes": 2, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}}}, "8"),
    ],
)
def test_xgboost_counts_its_workers(case: str, trainer: dict[str, Any], workers: str) -> None:
    assert env(compiled(trainjob({**trainer, "env": A}), runtime(policy={"xgboost": {}}))) == {
        "A": "1",
        "DMLC_TRACKER_URI": "llm-node-0-0.llm",
        "DMLC_TRACKER_PORT": "29500",
        "DMLC_TASK_ID": RANK,
        "DMLC_NUM_WORKER": workers,
    }, case


def test_the_runtimes_nodes_and_gpus_count_without_a_trainer() -> None:
    node = job(containers=[container(resources={"limits": {"nvidia.com/gpu": 2}})])
    for name, number, variable in (("xgboost", "6", "DMLC_NUM_WORKER"), ("jax", "3", "JAX_NUM_PROCESSES")):
        rt = runtime(node, policy={"numNodes": 3, name: {}})
        assert env(compiled(trainjob(), rt))[variable] == number
        assert env(compiled(trainjob(), rt, semantics="controller")) == {}
        assert "ports" not in main(compiled(trainjob(), rt, semantics="controller"))
        other = runtime(job("other", None, [container("c")]), policy={name: {}})
        assert env(compiled(trainjob({}), other), "other", "c") == {}


def test_the_trackers_variables_are_reserved() -> None:
    names = ("DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER")
    variables = [{"name": name, "value": "x"} for name in names]
    errors = refused(trainjob({"env": [*A, *variables]}), runtime(policy={"xgboost": {}}))
    assert [(e.code, e.path) for e in errors] == [("ReservedEnv", f"spec.trainer.env[{i}]") for i in range(1, 5)]
    assert all("XGBoost" in e.message for e in errors)
    two = {"limits": {"nvidia.com/gpu": 1, "amd.com/gpu": 1}}
    (error,) = refused(trainjob({"resourcesPerNode": two}), runtime(policy={"xgboost": {}}))
    assert error.code == "AmbiguousGPU"


def test_addresses_follow_the_job_and_the_subdomain() -> None:
    rt = runtime(job("work"), policy={"xgboost": {}}, network={"subdomain": "mesh"})
    assert env(compiled(trainjob({}), rt), "work")["DMLC_TRACKER_URI"] == "llm-work-0-0.mesh"
    as_upstream = compiled(trainjob({}), rt, semantics="controller")
    assert env(as_upstream, "work")["DMLC_TRACKER_URI"] == "llm-node-0-0.llm"


def test_a_plain_runtime_gets_size_and_variables_and_nothing_else() -> None:
    result = compiled(trainjob({"numNodes": 4, "env": A}), runtime())
    assert (pods(result), env(result)) == (4, {"A": "1"})
    assert "ports" not in main(result)


@pytest.mark.parametrize(("release", "both"), [("2.1", True), ("2.2", False), ("2.3", False)])
def test_plain_yields_to_jax_since_it_exists(release: str, both: bool) -> None:
    """Whoever writes the variables, they arrive once."""
    if not both:
        result = compiled(trainjob({"env": A}), runtime(policy={"jax": {}}), release=release)
        assert [v["name"] for v in main(result)["env"]][-1] == "A"
    assert env(compiled(trainjob({"env": A}), runtime(policy={"torch": {}}), release=release))["A"] == "1"
