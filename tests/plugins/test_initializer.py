"""Initializers: what the dataset and the model jobs are told, and what a runtime needs for them."""

from __future__ import annotations

from typing import Any

import pytest
from builders import compiled, container, env, job, main, refused, runtime, trainjob

MOUNT = {"volumeMounts": [{"name": "initializer", "mountPath": "/workspace"}]}
POD = {"volumes": [{"name": "initializer", "persistentVolumeClaim": {"claimName": "data"}}]}
STEPS = ("dataset-initializer", "model-initializer")


def initializing(step: str, **fields: Any) -> Any:
    return runtime(job(step, step, [container(step, **{**MOUNT, **fields}), container("side")], pod=POD), job())


@pytest.mark.parametrize("step", STEPS)
def test_each_step_is_told_its_source_and_its_secret(step: str) -> None:
    requested = {"storageUri": "hf://x/y", "env": [{"name": "A", "value": "1"}], "secretRef": {"name": "token"}}
    rt = initializing(step, envFrom=[{"configMapRef": {"name": "c"}}])
    result = compiled(trainjob({}, initializer={step.partition("-")[0]: requested}), rt)
    assert env(result, step, step) == {"STORAGE_URI": "hf://x/y", "A": "1"}
    assert main(result, step, step)["envFrom"] == [{"configMapRef": {"name": "c"}}, {"secretRef": {"name": "token"}}]
    assert env(result, step, "side") == {}
    assert env(result) == {}


@pytest.mark.parametrize("step", STEPS)
def test_what_the_trainjob_leaves_out_is_left_alone(step: str) -> None:
    rt = initializing(step, env=[{"name": "STORAGE_URI", "value": "theirs"}])
    result = compiled(trainjob({}, initializer={step.partition("-")[0]: {}}), rt)
    assert env(result, step, step) == {"STORAGE_URI": "theirs"}
    assert "envFrom" not in main(result, step, step)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("case", "jobs", "part"),
    [
        ("no job", lambda _: (job(),), "the runtime has no replicated job"),
        ("no container", lambda step: (job(step, None, [container("other", **MOUNT)]), job()), "has no container"),
        (
            "no mount",
            lambda step: (job(step, step, [container(step)]), job()),
            "does not mount the volume 'initializer'",
        ),
    ],
)
def test_a_runtime_without_what_the_step_needs_is_refused(step: str, case: str, jobs: Any, part: str) -> None:
    document = trainjob({}, initializer={step.partition("-")[0]: {"storageUri": "hf://x"}})
    (error,) = refused(document, runtime(*jobs(step)))
    assert (error.code, error.path) == ("InitializerNotInRuntime", "spec.runtimeRef"), case
    assert part in error.message
    assert step in error.message
    assert f"spec.initializer.{step.partition('-')[0]}" in error.hint


def test_until_2_2_nobody_asks_for_the_mount() -> None:
    rt = runtime(job(STEPS[0], STEPS[0], [container(STEPS[0])]), job())
    document = trainjob({}, initializer={"dataset": {"storageUri": "hf://x"}})
    assert env(compiled(document, rt, release="2.2"), STEPS[0], STEPS[0]) == {"STORAGE_URI": "hf://x"}


def test_a_step_that_nobody_asks_for_is_left_alone() -> None:
    rt = runtime(*(job(step, step, [container(step, **MOUNT)], pod=POD) for step in STEPS), job())
    result = compiled(trainjob({}, initializer={"model": {"storageUri": "hf://x"}}), rt)
    assert env(result, STEPS[0], STEPS[0]) == {}
    assert env(result, STEPS[1], STEPS[1]) == {"STORAGE_URI": "hf://x"}


@pytest.mark.parametrize(("semantics", "kept"), [("gitops", True), ("controller", False)])
def test_variables_from_files_are_lost_by_the_controller_only(semantics: str, kept: bool) -> None:
    source = {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}}
    variable = {"name": "A", "valueFrom": source}
    document = trainjob({}, initializer={"dataset": {"env": [variable]}})
    rt = initializing(STEPS[0])
    rt["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["volumes"] = [
        {"name": "initializer", "emptyDir": {}},
        {"name": "v", "emptyDir": {}},
    ]
    result = compiled(document, rt, semantics=semantics)
    assert ("fileKeyRef" in env(result, STEPS[0], STEPS[0])["A"]) is kept
