"""Queued jobs for which Kueue counts nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from builders import container, diagnostics_of, job, runtime, trainjob
from commands import run

CODE = "QueuedWithoutRequests"
QUEUE = "kueue.x-k8s.io/queue-name"


def queued(trainer: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    document = trainjob(trainer or {}, **spec)
    document["metadata"]["labels"] = {QUEUE: "gpus"}
    return document


def test_a_queued_job_without_requests_is_reported_at_its_queue() -> None:
    (found,) = diagnostics_of(CODE, queued(), runtime())
    assert (found.severity, found.object) == ("warning", "JobSet team-a/llm")
    assert found.path == f'metadata.labels["{QUEUE}"]'
    assert "resourcesPerNode: {requests: {cpu: 4, memory: 16Gi}}" in found.hint


def test_requests_of_initializers_do_not_count() -> None:
    large = container("model-initializer", resources={"requests": {"cpu": 8}})
    initializer = job("model-initializer", "model-initializer", [large])
    assert len(diagnostics_of(CODE, queued(), runtime(initializer, job()))) == 1


@pytest.mark.parametrize(
    "resources",
    [
        {"requests": {"cpu": 1}},
        {"limits": {"nvidia.com/gpu": 1}},
        {"requests": {"cpu": 0}, "limits": {"memory": "1Gi"}},
    ],
)
def test_any_request_or_limit_is_enough(resources: dict[str, Any]) -> None:
    assert diagnostics_of(CODE, queued({"resourcesPerNode": resources}), runtime()) == []
    assert diagnostics_of(CODE, queued(), runtime(job(containers=[container(resources=resources)]))) == []


def test_without_a_queue_nothing_is_expected() -> None:
    assert diagnostics_of(CODE, trainjob({}), runtime()) == []


def test_claims_of_devices_are_requests() -> None:
    claimed = job(pod={"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]})
    assert diagnostics_of(CODE, queued(), runtime(claimed)) == []


def test_a_request_of_zero_is_none() -> None:
    assert len(diagnostics_of(CODE, queued({"resourcesPerNode": {"requests": {"cpu": 0}}}), runtime())) == 1


JOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: gpus}}
spec: {runtimeRef: {name: torch-distributed}, trainer: {command: [torchrun, train.py]}}
"""


def limit_range(namespace: str, limits: str) -> str:
    metadata = f"metadata: {{name: limits, namespace: {namespace}}}"
    return f"apiVersion: v1\nkind: LimitRange\n{metadata}\nspec: {{limits: [{limits}]}}\n"


@pytest.mark.parametrize("where", ["input", "snapshot"])
@pytest.mark.parametrize(
    ("document", "reported"),
    [
        (limit_range("team-a", "{type: Container, defaultRequest: {cpu: 1}}"), False),
        (limit_range("team-a", "{type: Container, max: {cpu: 8}}"), False),
        (limit_range("team-b", "{type: Container, defaultRequest: {cpu: 1}}"), True),
        (limit_range("team-a", "{type: Pod, max: {cpu: 8}}"), True),
    ],
)
def test_a_limit_range_may_set_requests(where: str, document: str, reported: bool, tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "cluster").mkdir()
    together = f"{JOB}---\n{document}" if where == "input" else JOB
    (tmp_path / "jobs" / "job.yaml").write_text(together, encoding="utf-8")
    (tmp_path / "cluster" / "limits.yaml").write_text("" if where == "input" else document, encoding="utf-8")
    (tmp_path / "trainc.yaml").write_text("sources: [jobs]\ncluster: cluster\n", encoding="utf-8")
    assert (CODE in run("check", "--config", str(tmp_path / "trainc.yaml")).stderr) == reported
