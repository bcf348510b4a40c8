"""Properties that hold for every job: sizes agree, names follow, and what does not matter changes nothing."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from builders import Json, compiled, env, job, one, pods, replicated_job, runtime, trainjob
from hypothesis import given, strategies as st

from trainc import Options
from trainc.functions import compile_documents
from trainc.reading.document import Document

NEWEST = Options(release="2.3")
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


RENAMED: dict[str, tuple[Json, Json]] = {
    "torch": (trainjob({"numNodes": 2}), runtime(policy={"torch": {}}, gang={"coscheduling": {}})),
    "mpi": (trainjob({"numNodes": 2}), runtime(*MPI, policy={"mpi": {}}, gang={"coscheduling": {}})),
    "jax": (trainjob({"numNodes": 2}), runtime(policy={"jax": {}}, gang={"volcano": {}})),
    "xgboost": (trainjob({"numNodes": 2}), runtime(policy={"xgboost": {}}, network={"subdomain": "pods"})),
    "flux": (trainjob({"numNodes": 2, "command": ["train"]}), runtime(policy={"flux": {}})),
}


@given(st.sampled_from(sorted(RENAMED)), NAMES, NAMES)
def test_renaming_a_job_renames_its_derived_names_and_nothing_else(policy: str, first: str, second: str) -> None:
    document, rt = RENAMED[policy]
    texts = [
        compiled({**document, "metadata": {"name": name, "namespace": "n"}}, rt).to_yaml()
        for name in (f"q{first}q", f"q{second}q")
    ]
    plain = [
        # A name is a word of its own, or the first part of one.
        re.sub(rf"(?<![a-z0-9-]){name}(?![a-z0-9])", "<name>", text)
        for name, text in zip((f"q{first}q", f"q{second}q"), texts, strict=True)
    ]
    assert plain[0] == plain[1]
    assert plain[0].count("<name>") >= 2


@pytest.mark.parametrize("semantics", ["gitops", "controller"])
def test_inputs_are_left_as_they_were(semantics: str) -> None:
    document, rt = trainjob({"numNodes": 2}), runtime(*MPI, policy={"mpi": {}}, gang={"volcano": {}})
    before = json.dumps([document, rt])
    compiled(document, rt, semantics=semantics)
    assert json.dumps([document, rt]) == before


@given(NODES, st.booleans())
def test_no_job_sees_another(nodes: int, after: bool) -> None:
    """Documents compiled together give what each gives alone, whichever is named first."""
    rt = runtime(policy={"torch": {}})
    jobs = [trainjob({"numNodes": nodes}, name="a"), trainjob({"numNodes": 3}, name="b")]
    both = compile_documents([Document.of(data) for data in ([*reversed(jobs)] if after else jobs) + [rt]], (), NEWEST)
    assert both.manifests == [manifest for each in jobs for manifest in compiled(each, rt).manifests]


def test_a_job_of_one_step_has_one_replica_whatever_the_template_says() -> None:
    assert replicated_job(compiled(trainjob(), runtime(policy={"torch": {}})))["replicas"] == 1
