"""What is written in vain is named, with its place and with what takes its place."""

from __future__ import annotations

from typing import Any

import pytest
from builders import compiled, diagnostics_of, job, runtime, trainjob

from trainc import CompileError, Diagnostic


def found(document: dict[str, Any], *runtimes: dict[str, Any], **options: Any) -> dict[tuple[str, str], Diagnostic]:
    """The diagnostics about ignored fields and overridden values, by code and path."""
    named = compiled(document, *runtimes, **options).diagnostics
    return {(d.code, d.path): d for d in named if d.code in ("FieldIgnored", "ValueOverridden")}


def test_an_exported_trainjob_is_told_what_is_the_clusters_own_in_one_line() -> None:
    document = trainjob()
    document["metadata"] |= {"uid": "u", "generation": 3, "creationTimestamp": "2026-01-01T00:00:00Z"}
    document["status"] = {"conditions": []}
    named = found(document, runtime())
    assert set(named) == {("FieldIgnored", "metadata"), ("FieldIgnored", "status")}
    assert {d.severity for d in named.values()} == {"info"}
    assert named["FieldIgnored", "metadata"].message.startswith("creationTimestamp, generation and uid: ")


def test_a_plain_job_and_runtime_have_nothing_in_vain() -> None:
    assert found(trainjob({"numNodes": 2}), runtime(policy={"torch": {}})) == {}


@pytest.mark.parametrize("policy", [{"numNodes": 1}, {"jax": {}}, {"xgboost": {}}])
def test_a_number_of_processes_that_nobody_reads_is_named(policy: dict[str, Any]) -> None:
    named = found(trainjob({"numProcPerNode": 4}), runtime(policy=policy))
    assert named["FieldIgnored", "spec.trainer.numProcPerNode"].severity == "warning"


@pytest.mark.parametrize("number", [0, -1])
@pytest.mark.parametrize("framework", ["torch", "mpi"])
def test_a_number_of_processes_that_starts_nothing_is_named(framework: str, number: int) -> None:
    general = runtime(policy={framework: {}})
    (warning,) = diagnostics_of("UnlikelyAmount", trainjob({"numProcPerNode": number}), general)
    assert (warning.path, warning.severity) == ("spec.trainer.numProcPerNode", "warning")
    assert diagnostics_of("UnlikelyAmount", trainjob({"numProcPerNode": 1}), general) == []


def test_a_runtime_whose_mpirun_has_no_slots_is_named() -> None:
    (warning,) = diagnostics_of("UnlikelyAmount", trainjob(), runtime(policy={"mpi": {"numProcPerNode": 0}}))
    assert warning.path == "spec.mlPolicy.mpi.numProcPerNode"


@pytest.mark.parametrize("semantics", ["gitops", "controller"])
@pytest.mark.parametrize(
    ("sizes", "severities"),
    [
        ({"completions": 10, "parallelism": 2}, {"completions": "warning"}),
        ({"completions": 3, "parallelism": 3}, {"completions": "info", "parallelism": "info"}),
        ({"completions": 2, "parallelism": 2}, {}),
        ({}, {}),
    ],
)
def test_a_size_that_another_replaces_is_named(semantics: str, sizes: Any, severities: Any) -> None:
    rt = runtime(job(spec=sizes), policy={"torch": {}})
    named = found(trainjob({"numNodes": 2}), rt, semantics=semantics)
    place = "spec.template.spec.replicatedJobs[0].template.spec"
    assert {path.removeprefix(f"{place}."): d.severity for (_, path), d in named.items()} == severities
    assert all("and 2 in the output" in d.message for d in named.values())


def test_a_runtimes_number_of_nodes_that_is_taken_for_one_is_named() -> None:
    place = ("ValueOverridden", "spec.mlPolicy.numNodes")
    rt = runtime(policy={"torch": {}, "numNodes": 0})
    assert found(trainjob(), rt)[place].severity == "warning"
    assert place not in found(trainjob(), runtime(job("side", None), policy={"torch": {}, "numNodes": 0}))
    assert place not in found(trainjob({"numNodes": 0}), rt)
    assert place not in found(trainjob(), runtime(policy={"torch": {}, "numNodes": 1}))


def test_suspend_of_the_template_gives_way_to_the_trainjobs() -> None:
    rt = runtime(suspend=True)
    assert ("ValueOverridden", "spec.template.spec.suspend") in found(trainjob(), rt)
    assert found(trainjob(suspend=True), rt) == {}


def test_names_in_the_metadata_of_patches_and_templates_are_named() -> None:
    metadata = {"name": "n", "namespace": "s", "labels": {"a": "b"}}
    document = trainjob(
        runtimePatches=[{"manager": "a.example/b", "trainingRuntimeSpec": {"template": {"metadata": metadata}}}]
    )
    rt = runtime()
    rt["spec"]["template"]["metadata"] = metadata
    places = {path for _, path in found(document, rt)}
    patch = "spec.runtimePatches[0].trainingRuntimeSpec.template.metadata"
    assert places == {
        f"{owner}.{field}" for owner in (patch, "spec.template.metadata") for field in ("name", "namespace")
    }


def test_an_implementation_of_mpi_without_a_name_is_refused() -> None:
    jobs = (job("launcher"), job("node", None))
    with pytest.raises(CompileError, match="mpiImplementation is empty"):
        compiled(trainjob(), runtime(*jobs, policy={"mpi": {"mpiImplementation": ""}}))


def test_a_launcher_that_is_not_there_is_no_node() -> None:
    named = found(trainjob(), runtime(policy={"mpi": {"runLauncherAsNode": True}}))
    assert ("FieldIgnored", "spec.mlPolicy.mpi.runLauncherAsNode") in named
