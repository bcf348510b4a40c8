"""Containers without an image, which the API server would refuse long after everything looked well, and moving tags."""

from __future__ import annotations

from typing import Any

import pytest
from builders import container, diagnostics_of, job, runtime, trainjob

CODE = "MissingImage"
BARE = {"name": "node"}
AGAIN = {"backoffLimit": 3}
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
    assert ("write name: node if a patch is for that container" in found.hint) is ("another container" in case)


@pytest.mark.parametrize("semantics", ["gitops", "controller"])
def test_an_image_from_either_side_is_enough(semantics: str) -> None:
    assert diagnostics_of(CODE, trainjob({}), runtime(), semantics=semantics) == []
    own = trainjob({"image": "example.com/train:2"})
    assert diagnostics_of(CODE, own, runtime(job(containers=[BARE])), semantics=semantics) == []


def test_under_controller_it_is_a_warning() -> None:
    (found,) = diagnostics_of(CODE, trainjob({}), runtime(job(containers=[BARE])), semantics="controller")
    assert found.severity == "warning"


def test_a_job_that_is_wrong_elsewhere_is_not_asked_for_images() -> None:
    assert diagnostics_of("UnknownPatchTarget", trainjob({}, runtimePatches=[PATCH]), runtime()) != []
    assert diagnostics_of(CODE, trainjob({}, runtimePatches=[PATCH]), runtime()) == []


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("example.com/train", "train"),
        ("train:latest", "train"),
        ("localhost:5000/train", "train"),
        ("localhost:5000/train:main", "train"),
        ("train:Nightly", "train"),
        ("train:latest-gpu", "train"),
    ],
)
def test_a_tag_that_moves_is_reported_where_it_was_written(image: str, name: str) -> None:
    (own,) = diagnostics_of("MovingImageTag", trainjob({"image": image}), runtime(job(spec=AGAIN)))
    assert (own.severity, own.object, own.path) == ("warning", "TrainJob team-a/llm", "spec.trainer.image")
    assert f"such as {name}:1.0, or a digest: {name}@sha256:..." in own.hint
    (of_runtime,) = diagnostics_of(
        "MovingImageTag", trainjob({}), runtime(job(spec=AGAIN, containers=[{**BARE, "image": image}]))
    )
    assert of_runtime.object == "ClusterTrainingRuntime rt"
    assert of_runtime.path.endswith("containers[0].image")


@pytest.mark.parametrize(
    "image",
    [
        "train:1.0",
        "pytorch/pytorch:2.13.0-cuda13.0-cudnn9-devel",
        "train:nightly-20261101",
        "train:latest@sha256:" + 64 * "0",
        "train@sha256:" + 64 * "0",
        "mpioperator/mpi-pi:openmpi",
        "localhost:5000/train:main-3f2a1c",
    ],
)
def test_a_tag_that_stays_and_a_digest_are_fine(image: str) -> None:
    assert diagnostics_of("MovingImageTag", trainjob({"image": image}), runtime(job(spec=AGAIN))) == []


@pytest.mark.parametrize(
    ("of_job", "policy", "restarts"),
    [
        ({}, {}, False),
        ({"backoffLimit": 3}, {}, True),
        ({"backoffLimit": 0}, {}, False),
        ({"backoffLimit": 0}, {"failurePolicy": {"maxRestarts": 0}}, False),
        ({"backoffLimit": 0}, {"failurePolicy": {"maxRestarts": 3}}, True),
    ],
)
def test_only_a_job_that_says_that_it_restarts_needs_a_tag_that_stays(
    of_job: dict[str, Any], policy: dict[str, Any], restarts: bool
) -> None:
    rt = runtime(job(spec=of_job), **policy)
    assert len(diagnostics_of("MovingImageTag", trainjob({"image": "train"}), rt)) == restarts
