"""Containers without an image, which the API server would refuse long after everything looked well."""

from __future__ import annotations

from typing import Any

import pytest
from builders import container, diagnostics_of, job, runtime, trainjob

CODE = "MissingImage"
BARE = {"name": "node"}
PATCH = {
    "manager": "example.com/image",
    "trainingRuntimeSpec": {
        "template": {
            "spec": {
                "replicatedJobs": [
                    {"name": "node", "template": {"spec": {"template": {"spec": {"initContainers": [{"name": "set-up"}]}}}}}
                ]
            }
        }
    },
}  # fmt: skip

MISSING: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "neither the runtime nor the TrainJob names one": (trainjob({}), runtime(job(containers=[BARE])), "containers[0]"),
    "it is empty": (trainjob({}), runtime(job(containers=[{**BARE, "image": ""}])), "containers[0]"),
    "the TrainJob's image is for another container": (
        trainjob({"image": "example.com/train:2"}),
        runtime(job(containers=[container(), {"name": "sidecar"}])),
        "containers[1]",
    ),
    "the TrainJob's image is for another job": (
        trainjob({"image": "example.com/train:2"}),
        runtime(job("prepare", None, [{"name": "node"}]), job()),
        "containers[0]",
    ),
    "it is an init container's": (
        trainjob({"image": "example.com/train:2"}),
        runtime(job(pod={"initContainers": [{"name": "set-up"}]})),
        "initContainers[0]",
    ),
}


@pytest.mark.parametrize("case", MISSING)
def test_an_image_is_missing_where(case: str) -> None:
    document, rt, place = MISSING[case]
    (found,) = diagnostics_of(CODE, document, rt)
    assert (found.severity, found.object) == ("error", "ClusterTrainingRuntime rt")
    assert found.path.rpartition(".")[2] == place


@pytest.mark.parametrize("semantics", ["gitops", "controller"])
def test_an_image_from_either_side_is_enough(semantics: str) -> None:
    assert diagnostics_of(CODE, trainjob({}), runtime(), semantics=semantics) == []
    own = trainjob({"image": "example.com/train:2"})
    assert diagnostics_of(CODE, own, runtime(job(containers=[BARE])), semantics=semantics) == []


def test_under_controller_it_is_a_warning() -> None:
    (found,) = diagnostics_of(CODE, trainjob({}), runtime(job(containers=[BARE])), semantics="controller")
    assert found.severity == "warning"


def test_a_job_that_is_wrong_elsewhere_is_not_asked_for_images() -> None:
    assert diagnostics_of("UnknownPatchedContainer", trainjob({}, runtimePatches=[PATCH]), runtime()) != []
    assert diagnostics_of(CODE, trainjob({}, runtimePatches=[PATCH]), runtime()) == []
