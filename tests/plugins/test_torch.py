"""Torch: what torchrun is told, and what is refused because it could not do it."""

from __future__ import annotations

from typing import Any

import pytest
from builders import LABEL, compiled, container, env, job, pods, refused, runtime, trainjob
from tables import cases

TORCH: dict[str, Any] = {"torch": {}}


@cases("case", "resources", "requested", "processes")
def test_processes_per_node(case: str, resources: dict[str, Any], requested: Any, processes: str) -> None:
    document = trainjob({"numProcPerNode": requested, "resourcesPerNode": resources})
    for release, semantics in (("2.3", "gitops"), ("2.1", "gitops"), ("2.1", "controller")):
        result = compiled(document, runtime(policy=TORCH), release=release, semantics=semantics)
        assert env(result)["PET_NPROC_PER_NODE"] == processes, (case, release, semantics)


@cases("case", "resources", "requested", "processes")
def test_processes_per_node_in_2_0(case: str, resources: dict[str, Any], requested: Any, processes: str) -> None:
    document = trainjob({"numProcPerNode": requested, "resourcesPerNode": resources})
    result = compiled(document, runtime(policy=TORCH), release="2.0", semantics="controller")
    assert env(result)["PET_NPROC_PER_NODE"] == processes, case


def test_the_runtimes_policy_counts_where_the_trainjob_is_silent() -> None:
    rt = runtime(policy={"numNodes": 3, "torch": {"numProcPerNode": 2}})
    assert env(compiled(trainjob({}), rt))["PET_NPROC_PER_NODE"] == "2"
    assert env(compiled(trainjob({"numProcPerNode": 5}), rt))["PET_NPROC_PER_NODE"] == "5"
    assert env(compiled(trainjob({}), rt))["PET_NNODES"] == "3"


def test_the_rank_is_the_completion_index_and_the_master_the_first_pod() -> None:
    variables = env(compiled(trainjob({"numNodes": 2}), runtime(policy=TORCH)))
    assert variables == {
        "PET_NNODES": "2",
        "PET_NPROC_PER_NODE": "1",
        "PET_NODE_RANK": {
            "fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}
        },
        "PET_MASTER_ADDR": "llm-node-0-0.llm",
        "PET_MASTER_PORT": "29500",
    }


def test_containers_that_the_policy_names_get_the_rendezvous_too() -> None:
    targets = [{"jobName": "node", "containerNames": ["side", "watch"]}]
    rt = runtime(
        job(containers=[container(), container("side"), container("watch")]),
        job("other", None, [container("c")]),
        policy={"numNodes": 2, "torch": {"envInjection": {"targets": targets}}},
    )
    result = compiled(trainjob({"env": [{"name": "A", "value": "1"}]}), rt)
    for name in ("side", "watch"):
        assert env(result, name=name) == {k: v for k, v in env(result).items() if k != "A"}
    assert env(result, "other", "c") == {}


def test_a_runtime_without_a_trainer_has_one_node_to_tell_of() -> None:
    targets = [{"jobName": "other", "containerNames": ["c"]}]
    rt = runtime(job("other", None, [container("c")]), policy={"torch": {"envInjection": {"targets": targets}}})
    assert env(compiled(trainjob(), rt, semantics="controller"), "other", "c")["PET_NNODES"] == "1"


def test_a_missing_target_of_the_policy_is_refused() -> None:
    targets = [{"jobName": "node", "containerNames": ["side", "ghost"]}, {"jobName": "gone", "containerNames": ["c"]}]
    rt = runtime(
        job(containers=[container(), container("side")]), policy={"torch": {"envInjection": {"targets": targets}}}
    )
    errors = refused(trainjob({}), rt)
    assert [(e.code, e.path) for e in errors] == [("EnvInjectionTargetMissing", "spec.runtimeRef")] * 2
    ghost, gone = sorted(errors, key=lambda error: "'gone'" in error.message)
    assert "container 'ghost' of job 'node'" in ghost.message
    assert "container 'c' of job 'gone'" in gone.message


@pytest.mark.parametrize("word", ["auto", "cpu", "gpu"])
def test_words_that_torchrun_knows_are_accepted(word: str) -> None:
    compiled(trainjob({"numProcPerNode": word}), runtime(policy=TORCH))


def test_reserved_variables_and_unknown_words_are_refused_at_their_place() -> None:
    trainer = {"numProcPerNode": "many", "env": [{"name": "OK", "value": "1"}, {"name": "PET_NNODES", "value": "1"}]}
    errors = refused(trainjob(trainer), runtime(policy=TORCH))
    assert {(e.code, e.path) for e in errors} == {
        ("InvalidNumProcPerNode", "spec.trainer.numProcPerNode"),
        ("ReservedEnv", "spec.trainer.env[1]"),
    }
    assert any("'many'" in e.message and "auto, cpu, gpu" in e.message for e in errors)
    assert any("PET_NNODES" in e.message and "torchrun" in e.message for e in errors)


@pytest.mark.parametrize("release", ["2.0", "2.1"])
def test_until_2_1_the_controller_looks_at_variables_only_with_num_proc_per_node(release: str) -> None:
    reserved = [{"name": "PET_NNODES", "value": "1"}]
    compiled(trainjob({"env": reserved}), runtime(policy=TORCH), release=release, semantics="controller")
    document = trainjob({"env": reserved, "numProcPerNode": 1})
    errors = refused(document, runtime(policy=TORCH), release=release, semantics="controller")
    assert [e.code for e in errors] == ["ReservedEnv"]


def test_two_gpu_resources_are_refused_where_auto_has_to_count_them() -> None:
    two = {"nvidia.com/gpu": 1, "amd.com/gpu": 1}
    in_runtime = runtime(job(containers=[container(resources={"limits": two})]), policy=TORCH)
    (error,) = refused(trainjob({}), in_runtime)
    assert (error.code, error.path) == ("AmbiguousGPU", "spec.runtimeRef")
    assert "limits list amd.com/gpu and nvidia.com/gpu" in error.message
    (error,) = refused(trainjob({"resourcesPerNode": {"requests": two, "limits": two}}), runtime(policy=TORCH))
    assert (error.code, error.path) == ("AmbiguousGPU", "spec.trainer.resourcesPerNode.requests")
    compiled(trainjob({"numProcPerNode": 2}), in_runtime)


def test_a_misspelt_gpu_is_taken_for_what_the_runtime_calls_it() -> None:
    in_runtime = runtime(job(containers=[container(resources={"limits": {"nvidia.com/gpu": 1}})]), policy=TORCH)
    (error,) = refused(trainjob({"resourcesPerNode": {"limits": {"nvidia.com/gpus": 2}}}), in_runtime)
    assert (error.code, error.path) == ("AmbiguousGPU", 'spec.trainer.resourcesPerNode.limits["nvidia.com/gpus"]')
    assert error.hint == "did you mean nvidia.com/gpu? the runtime has it; write nvidia.com/gpu: 2"
    (error,) = refused(trainjob({"resourcesPerNode": {"limits": {"amd.com/gpu": 2}}}), in_runtime)
    assert error.path == "spec.trainer.resourcesPerNode.limits"


def test_2_0_gives_every_job_of_the_trainer_step_the_first_ones_count() -> None:
    rt = runtime(job(), job("again", "trainer", [container("c")]), policy={"numNodes": 3, "torch": {}})
    assert LABEL in rt["spec"]["template"]["spec"]["replicatedJobs"][1]["template"]["metadata"]["labels"]
    assert pods(compiled(trainjob({}), rt, release="2.0", semantics="controller"), "again") == 3
