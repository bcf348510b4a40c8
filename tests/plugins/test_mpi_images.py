"""The image of an MPI job: the TrainJob's reaches the launcher alone."""

from __future__ import annotations

from typing import Any

import pytest
from builders import container, diagnostics_of, job, runtime, trainjob

MPI: dict[str, Any] = {"mpi": {}}


def hosts(image: str) -> dict[str, Any]:
    return job("node", None, containers=[container(image=image)])


def launching(image: str) -> dict[str, Any]:
    return job("launcher", containers=[container(image=image)])


PATHS = {
    1: "spec.trainer.image",
    2: "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0]",
}


@pytest.mark.parametrize(
    ("case", "trainer", "jobs", "found"),
    [
        ("another image for the launcher", {"image": "acme/t5:2"}, (job("launcher"), hosts("acme/t5:1")), 1),
        ("one image for all", {"image": "acme/t5:1"}, (job("launcher"), hosts("acme/t5:1")), 0),
        ("images of the runtime's own", {}, (job("launcher"), hosts("acme/ssh:1")), 0),
        ("an older version of the image", {}, (launching("acme/t5:2@sha256:ab"), hosts("acme/t5:1")), 2),
        ("the same image", {}, (launching("acme/t5:1"), hosts("acme/t5:1")), 0),
        ("another image of the runtime's own", {}, (launching("acme/t5:1"), hosts("acme/ssh:1")), 0),
        (
            "another version, and an image of the job's",
            {"image": "acme/t5:1"},
            (launching("acme/t5:2"), hosts("acme/t5:1")),
            0,
        ),
        ("a launcher alone", {"image": "acme/t5:2"}, (job("launcher"),), 0),
    ],
)
def test_an_image_that_the_nodes_do_not_have(
    case: str, trainer: dict[str, Any], jobs: tuple[dict[str, Any], ...], found: int
) -> None:
    reported = diagnostics_of("MPIImagesDiffer", trainjob(trainer), runtime(*jobs, policy=MPI))
    assert [(d.severity, d.path) for d in reported] == ([("warning", PATHS[found])] if found else []), case
