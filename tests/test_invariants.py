"""Properties that hold for every job: sizes agree, names follow, and what does not matter changes nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import compiled, container, env, job, one, pods, replicated_job, runtime, trainjob
from hypothesis import given
from hypothesis import strategies as st

NODES = st.integers(min_value=0, max_value=2000)
SIZES = st.integers(min_value=1, max_value=40)
NAMES = st.from_regex(r"[a-z]([-a-z0-9]{0,18}[a-z0-9])?", fullmatch=True)
POLICIES = st.sampled_from(["torch", "jax", "xgboost", "plain"])
COUNTED_IN = {"torch": "PET_NNODES", "jax": "JAX_NUM_PROCESSES", "xgboost": "DMLC_NUM_WORKER"}
MPI = (job("launcher"), job("node", None))


@given(POLICIES, NODES)
def test_num_nodes_is_the_number_of_pods_and_what_the_framework_is_told(policy: str, nodes: int) -> None:
    ml_policy: dict[str, Any] = {"numNodes": 1} if policy == "plain" else {policy: {}}
    result = compiled(trainjob({"numNodes": nodes}), runtime(policy=ml_policy))
    assert pods(result) == nodes
    if policy != "plain":
        assert env(result)[COUNTED_IN[policy]] == str(nodes)


@given(SIZES, st.booleans())
def test_an_mpi_job_has_as_many_hosts_as_nodes(nodes: int, launcher_is_node: bool) -> None:
    rt = runtime(*MPI, policy={"mpi": {"runLauncherAsNode": launcher_is_node}})
    result = compiled(trainjob({"numNodes": nodes}), rt)
    hosts = one(result, "ConfigMap")["data"]["hostfile"].splitlines()
    assert len(hosts) == nodes
    assert sum(host.startswith("llm-launcher-") for host in hosts) == launcher_is_node
    assert pods(result, "launcher") == 1


@given(st.lists(st.tuples(SIZES, SIZES, st.integers(min_value=0, max_value=64)), min_size=1, max_size=4))
def test_the_gang_is_the_sum_over_its_members(shapes: list[tuple[int, int, int]]) -> None:
    jobs = [
        job(
            f"j{i}",
            None,
            [container("c", resources={"requests": {"cpu": cpu}})],
            replicas=replicas,
            spec={"parallelism": parallelism},
        )
        for i, (replicas, parallelism, cpu) in enumerate(shapes)
    ]
    spec = one(compiled(trainjob(), runtime(*jobs, gang={"coscheduling": {}})), "PodGroup")["spec"]
    assert spec["minMember"] == sum(replicas * parallelism for replicas, parallelism, _ in shapes)
    total = sum(replicas * parallelism * cpu for replicas, parallelism, cpu in shapes)
    assert spec["minResources"]["cpu"] in (str(total), f"{total // 1000}k", f"{total // 10**6}M")


@given(NAMES, NAMES)
def test_renaming_a_job_renames_its_derived_names_and_nothing_else(first: str, second: str) -> None:
    rt = runtime(*MPI, policy={"mpi": {}}, gang={"coscheduling": {}})
    texts = [
        json.dumps(compiled(trainjob({"numNodes": 2}, name=name), rt).manifests, sort_keys=True)
        .replace(f'"{name}', '"<name>')
        .replace(f"{name}-", "<name>-")
        .replace(f".{name}", ".<name>")
        for name in (f"q{first}q", f"q{second}q")
    ]
    assert texts[0] == texts[1]


def shuffled(value: Any, draw: Any) -> Any:
    """The same data with the keys of every mapping in another order."""
    if isinstance(value, dict):
        keys = draw(st.permutations(sorted(value)))
        return {key: shuffled(value[key], draw) for key in keys}
    return [shuffled(item, draw) for item in value] if isinstance(value, list) else value


@given(st.data())
def test_the_order_of_keys_changes_nothing(data: st.DataObject) -> None:
    document = trainjob(
        {"numNodes": 2, "env": [{"name": "A", "value": "1"}], "resourcesPerNode": {"limits": {"cpu": 1}}}
    )
    rt = runtime(policy={"torch": {}, "numNodes": 3}, gang={"coscheduling": {}})
    again = compiled(shuffled(document, data.draw), shuffled(rt, data.draw))
    assert again.to_yaml() == compiled(document, rt).to_yaml()


@pytest.mark.parametrize("semantics", ["gitops", "controller"])
def test_inputs_are_left_as_they_were(semantics: str) -> None:
    document, rt = trainjob({"numNodes": 2}), runtime(*MPI, policy={"mpi": {}}, gang={"volcano": {}})
    before = json.dumps([document, rt])
    compiled(document, rt, semantics=semantics)
    assert json.dumps([document, rt]) == before


def test_a_job_of_one_step_has_one_replica_whatever_the_template_says() -> None:
    assert replicated_job(compiled(trainjob(), runtime(policy={"torch": {}})))["replicas"] == 1
