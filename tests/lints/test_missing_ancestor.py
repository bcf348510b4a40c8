"""Runtimes in which nothing is the trainer, so that the TrainJob's trainer reaches no container."""

from __future__ import annotations

from typing import Any

import pytest
from builders import container, diagnostics_of, job, runtime, trainjob

CODE = "MissingTrainerAncestor"
WORK = [container("work")]

WITHOUT: dict[str, tuple[dict[str, Any], str]] = {
    "no job is labelled, and none is called node": (runtime(job("work", None)), "replicatedJobs"),
    "the job called node has no container node": (runtime(job("node", None, WORK)), "replicatedJobs"),
    "only an initializer is labelled": (
        runtime(job("dataset-initializer", "dataset-initializer", [container("dataset-initializer")])),
        "replicatedJobs",
    ),
}
WITH: dict[str, dict[str, Any]] = {
    "a job is labelled": runtime(job("work")),
    "a job is called node and has a container node": runtime(job("node", None)),
    "an MPI launcher has a container node": runtime(job("launcher", None), job("node", None), policy={"mpi": {}}),
    "there is no job at all": {**runtime(), "spec": {"template": {"spec": {}}}},
}


@pytest.mark.parametrize("case", WITHOUT)
def test_a_runtime_without_a_trainer_is_reported_when(case: str) -> None:
    document, field = WITHOUT[case]
    (found,) = diagnostics_of(CODE, trainjob({"numNodes": 2}), document)
    assert (found.severity, found.object) == ("warning", "ClusterTrainingRuntime rt")
    assert found.path.rpartition(".")[2] == field


@pytest.mark.parametrize("case", WITH)
def test_a_runtime_is_fine_when(case: str) -> None:
    assert diagnostics_of(CODE, trainjob({"numNodes": 2}), WITH[case]) == []


def test_the_controller_takes_no_name_for_a_label() -> None:
    assert diagnostics_of(CODE, trainjob({}), runtime(job("node", None)), semantics="controller") != []
    assert diagnostics_of(CODE, trainjob({}), runtime(job("work")), semantics="controller") == []


def test_a_labelled_job_without_the_container_that_is_configured_is_reported_where_a_release_lets_it_pass() -> None:
    (found,) = diagnostics_of(CODE, trainjob({}), runtime(job("work", "trainer", WORK)), release="2.0")
    assert found.path.endswith("replicatedJobs[0].template.spec.template.spec.containers")
    assert found.hint == "rename its main container to node"


@pytest.mark.parametrize("semantics", ["controller", "gitops"])
@pytest.mark.parametrize("containers", [[container("other"), container("more")], []])
def test_resources_for_a_container_that_is_not_there_hide_no_problem(semantics: str, containers: list[Any]) -> None:
    document = trainjob({"resourcesPerNode": {"limits": {"cpu": 2}}})
    rt = runtime(job(containers=containers), policy={"torch": {}})
    assert diagnostics_of("MissingAncestorContainer", document, rt, semantics=semantics)
