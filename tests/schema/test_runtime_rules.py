"""What the runtime webhooks demand of labelled jobs, by release."""

from __future__ import annotations

from typing import Any

import pytest
from builders import container, job, runtime

from trainc.findings import format_path
from trainc.schema.rules import runtime_rules

REPLICAS = ("ReplicasNotOne", "spec.template.spec.replicatedJobs[0].replicas")
CONTAINER = (
    "MissingAncestorContainer",
    "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers",
)


def reported(document: dict[str, Any], release: str) -> list[tuple[str, str]]:
    return [(f.code, format_path(f.path)) for f in runtime_rules(document, release)]


@pytest.mark.parametrize(
    ("release", "replicated", "expected"),
    [
        ("2.3", job(replicas=1), []),
        ("2.3", job(replicas=2), [REPLICAS]),
        ("2.3", job(replicas=0), [REPLICAS]),
        ("2.3", job("data", "dataset-initializer", [container("dataset-initializer")], replicas=2), [REPLICAS]),
        ("2.3", job(step=None, replicas=2), []),
        ("2.3", job(step="postprocess", replicas=2), []),
        ("2.0", job("launcher", None, replicas=2), [REPLICAS]),
        ("2.1", job("launcher", None, replicas=2), []),
        ("2.0", job(containers=[container("main")]), []),
        ("2.1", job(containers=[container("main")]), [CONTAINER]),
        ("2.3", job(containers=[container("main")], replicas=2), [REPLICAS, CONTAINER]),
        ("2.3", job("data", "model-initializer", [container("node")]), [CONTAINER]),
        ("2.3", job(containers=[container("main")], pod={"initContainers": [container("node")]}), [CONTAINER]),
        (
            "2.3",
            {"name": "node", "template": {"metadata": {"labels": job()["template"]["metadata"]["labels"]}}},
            [CONTAINER],
        ),
    ],
)
def test_labelled_jobs(release: str, replicated: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert reported(runtime(replicated), release) == expected


def test_a_label_exempts_a_runtime_from_2_3_on() -> None:
    document = runtime(job(replicas=2))
    document["metadata"]["labels"] = {"trainer.kubeflow.org/webhook-validation": "disabled"}
    assert (reported(document, "2.3"), reported(document, "2.2")) == ([], [REPLICAS])


def test_a_runtime_without_jobs_breaks_no_rule() -> None:
    assert reported(runtime() | {"spec": {"mlPolicy": {}}}, "2.3") == []
