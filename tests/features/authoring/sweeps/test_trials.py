"""The trials of a sweep as TrainJobs: what an OptimizationJob's controller gives them, and where values stand."""

from __future__ import annotations

import copy
import inspect
import json
from typing import Any

import pytest

import trainc.kubeflow
from trainc import CompileError, Options, catalog, compile_trainjob
from trainc.kubeflow import sweep

JOB: dict[str, Any] = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {
        "name": "llm",
        "namespace": "team-a",
        "labels": {"kueue.x-k8s.io/queue-name": "gpus"},
        "annotations": {"team/contact": "ada"},
    },
    "spec": {
        "runtimeRef": {"name": "torch-distributed"},
        "trainer": {"numNodes": 2, "command": ["torchrun", "train.py"], "env": [{"name": "SEED", "value": "1"}]},
    },
}


def with_trainer(**fields: Any) -> dict[str, Any]:
    job = copy.deepcopy(JOB)
    job["spec"]["trainer"] |= fields
    return job


def test_a_trial_is_what_the_controller_of_optimization_jobs_makes() -> None:
    """Written down from constructTrainJob of kubeflow/trainer pull request 3828, for a job named llm and these values."""
    (trial,) = sweep(JOB, {"learning_rate": [0.001], "batch": [32]})
    assert trial["metadata"] == {
        "name": "llm-trial-0",
        "namespace": "team-a",
        "labels": {"kueue.x-k8s.io/queue-name": "gpus", "trainer.kubeflow.org/optimizationjob-name": "llm"},
        "annotations": {
            "team/contact": "ada",
            "trainer.kubeflow.org/opt-param-learning_rate": "0.001",
            "trainer.kubeflow.org/opt-param-batch": "32",
        },
    }
    assert trial["spec"]["trainer"]["env"] == [
        {"name": "SEED", "value": "1"},
        {"name": "KUBEFLOW_TRAINER_OPT_LEARNING_RATE", "value": "0.001"},
        {"name": "KUBEFLOW_TRAINER_OPT_BATCH", "value": "32"},
    ]
    assert {**trial["spec"], "trainer": None} == {**JOB["spec"], "trainer": None}


def test_trials_are_numbered_from_nought_under_the_name_that_is_asked_for() -> None:
    names = [trial["metadata"]["name"] for trial in sweep(JOB, {"lr": [1, 2, 3]}, name="night")]
    assert names == ["night-trial-0", "night-trial-1", "night-trial-2"]


def test_the_base_is_not_changed_and_the_same_comes_out_each_time() -> None:
    before = json.dumps(JOB)
    first, second = (sweep(JOB, {"lr": [0.1, 0.2], "b": [1, 2]}) for _ in range(2))
    assert json.dumps(JOB) == before
    assert json.dumps(first) == json.dumps(second)


def test_a_default_in_the_base_gives_way() -> None:
    """So the base runs by itself as well."""
    base = with_trainer(env=[{"name": "KUBEFLOW_TRAINER_OPT_LR", "value": "0.5"}, {"name": "SEED", "value": "1"}])
    (trial,) = sweep(base, {"lr": [0.1]})
    assert trial["spec"]["trainer"]["env"] == [
        {"name": "KUBEFLOW_TRAINER_OPT_LR", "value": "0.1"},
        {"name": "SEED", "value": "1"},
    ]


def test_references_are_replaced_as_text_or_as_the_value_that_the_field_takes() -> None:
    base = with_trainer(
        numNodes="${trialParameters.nodes}",
        args=["--nodes", "${trialParameters.nodes}", "--lr=${trialParameters.lr}", "--out=/ckpt/${trialSpec.Name}"],
        resourcesPerNode={"limits": {"nvidia.com/gpu": "${trialParameters.nodes}"}},
    )
    trainer = sweep(base, {"nodes": [4], "lr": [3e-05]})[0]["spec"]["trainer"]
    assert trainer["numNodes"] == 4
    assert trainer["args"] == ["--nodes", "4", "--lr=3e-05", "--out=/ckpt/llm-trial-0"]
    assert trainer["resourcesPerNode"] == {"limits": {"nvidia.com/gpu": 4}}


def test_a_job_without_a_trainer_gets_one() -> None:
    base = copy.deepcopy(JOB)
    del base["spec"]["trainer"]
    assert [each["name"] for each in sweep(base, {"lr": [1]})[0]["spec"]["trainer"]["env"]] == [
        "KUBEFLOW_TRAINER_OPT_LR"
    ]


def test_every_trial_compiles() -> None:
    for trial in sweep(JOB, {"lr": [0.1, 0.2]}):
        compiled = compile_trainjob(trial, catalog("2.3"), Options(release="2.3"))
        assert compiled.jobs[0].name == trial["metadata"]["name"]


@pytest.mark.parametrize(
    ("base", "parameters", "code"),
    [
        (JOB, {}, "InvalidSweep"),
        (JOB, {"lr": 0.1}, "InvalidSweep"),
        (JOB, {"lr": {"min": 1, "max": 101, "step": 1}}, "TooManyTrials"),
        (with_trainer(args=["${trialParameters.rate}"]), {"lr": [1]}, "UnknownParameter"),
        (with_trainer(args=["${trialSpec.Kind}"]), {"lr": [1]}, "UnknownParameter"),
        ({**JOB, "metadata": {}}, {"lr": [1]}, "InvalidSweep"),
    ],
)
def test_what_is_wrong_is_a_compile_error_with_a_hint(base: Any, parameters: Any, code: str) -> None:
    with pytest.raises(CompileError) as error:
        sweep(base, parameters)
    assert {diagnostic.code for diagnostic in error.value.diagnostics} == {code}
    assert all(diagnostic.hint for diagnostic in error.value.diagnostics)


@pytest.mark.parametrize(
    "base", [{}, {"metadata": [], "spec": 3}, {"metadata": {"name": 7}}, {"spec": {"trainer": [1]}}]
)
def test_a_base_of_another_shape_is_left_to_the_schema(base: Any) -> None:
    assert len(sweep(base, {"lr": [1, 2]}, name="x")) == 2


def test_it_needs_no_extra_and_is_found_where_the_sdk_is() -> None:
    assert "sweep" in dir(trainc.kubeflow)
    assert list(inspect.signature(sweep).parameters) == ["base", "parameters", "exclude", "include", "name"]
    assert "CompileError" in (sweep.__doc__ or "")
    with pytest.raises(AttributeError, match="nonsense"):
        _ = trainc.kubeflow.nonsense
