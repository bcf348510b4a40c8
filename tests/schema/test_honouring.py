"""Fields of former releases and of no release: what is honoured under `gitops` is checked all the same."""

from __future__ import annotations

from typing import Any

import pytest
from builders import refused, runtime, trainjob

OVERRIDES: dict[str, Any] = {"podSpecOverrides": [{"targetJobs": [{"name": "node"}], "containers": "node"}]}
ELASTIC = {"minNodes": 1, "maxNodes": 2}
REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[str, str]]] = {
    "an override of the wrong type": (
        trainjob(**OVERRIDES),
        runtime(),
        ("WrongType", "spec.podSpecOverrides[0].containers"),
    ),
    "a number of processes that is no word for one": (
        trainjob(),
        runtime(policy={"torch": {"numProcPerNode": "many"}}),
        ("UnsupportedValue", "spec.mlPolicy.torch.numProcPerNode"),
    ),
    "an elastic policy beside a number of nodes": (
        trainjob(),
        runtime(policy={"numNodes": 2, "torch": {"elasticPolicy": ELASTIC}}),
        ("ElasticWithNumNodes", "spec.mlPolicy.numNodes"),
    ),
    "a gang whose size is a text": (
        trainjob(),
        runtime(gang={"volcano": {"minMember": "4"}}),
        ("WrongType", "spec.podGroupPolicy.volcano.minMember"),
    ),
    "a gang whose size is no number": (
        trainjob(),
        runtime(gang={"volcano": {"minMember": True}}),
        ("WrongType", "spec.podGroupPolicy.volcano.minMember"),
    ),
    "a queue that is a number": (
        trainjob(),
        runtime(gang={"volcano": {"queue": 4}}),
        ("WrongType", "spec.podGroupPolicy.volcano.queue"),
    ),
}


@pytest.mark.parametrize(("document", "rt", "expected"), REFUSED.values(), ids=REFUSED)
def test_the_release_that_has_the_field_refuses_it_too(
    document: dict[str, Any], rt: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert expected in [(d.code, d.path) for d in refused(document, rt)]
