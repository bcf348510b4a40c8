"""Elastic torch: the range and the meeting place that torchrun is told, and what is refused or warned of."""

from __future__ import annotations

from typing import Any

import pytest
from builders import compiled, diagnostics_of, env, one, pods, refused, runtime, trainjob
from tables import cases

ELASTIC = {"minNodes": 2, "maxNodes": 4, "maxRestarts": 3}


def elastic(trainer: dict[str, Any] | None = None, *, nodes: int | None = None, **policy: Any) -> Any:
    """An elastic job of `nodes` nodes; the runtime may not name their number beside a range."""
    requested = {} if nodes is None else {"numNodes": nodes}
    rt = runtime(policy={"torch": {"elasticPolicy": policy}}, gang={"coscheduling": {}})
    return trainjob({**requested, **(trainer or {})}), rt


def test_an_elastic_job_joins_through_c10d() -> None:
    result = compiled(*elastic({"numProcPerNode": 2}, nodes=3, **ELASTIC))
    assert env(result) == {
        "PET_NNODES": "2:4",
        "PET_NPROC_PER_NODE": "2",
        "PET_RDZV_BACKEND": "c10d",
        "PET_RDZV_ENDPOINT": "llm-node-0-0.llm:29500",
        "PET_RDZV_ID": "llm",
        "PET_MAX_RESTARTS": "3",
    }
    assert pods(result) == 3
    assert one(result, "PodGroup")["spec"]["minMember"] == 2
    assert one(result, "JobSet")["spec"]["failurePolicy"]["maxRestarts"] == 3


@pytest.mark.parametrize(
    ("case", "policy", "nodes", "nnodes", "pods_at_first"),
    [
        ("a missing maximum is the minimum", {"minNodes": 2}, None, "2:2", 2),
        ("a missing minimum is the maximum", {"maxNodes": 3}, 3, "3:3", 3),
        ("without bounds the size is the runtime's", {}, 5, "5:5", 5),
        ("the job starts with numNodes", {"minNodes": 1, "maxNodes": 4}, 3, "1:4", 3),
        ("both bounds may be the size", {"minNodes": 3, "maxNodes": 3}, 3, "3:3", 3),
    ],
)
def test_the_range_of_an_elastic_job(
    case: str, policy: dict[str, Any], nodes: int | None, nnodes: str, pods_at_first: int
) -> None:
    result = compiled(*elastic({}, nodes=nodes, **policy))
    assert (env(result)["PET_NNODES"], pods(result)) == (nnodes, pods_at_first), case
    assert "PET_MAX_RESTARTS" not in env(result)
    assert "maxRestarts" not in one(result, "JobSet")["spec"].get("failurePolicy", {})


@cases("case", "trainer", "nodes", "policy", "path")
def test_a_range_that_torchrun_would_refuse_is_refused(
    case: str, trainer: dict[str, Any], nodes: int | None, policy: dict[str, Any], path: str
) -> None:
    (error,) = refused(*elastic(trainer, nodes=nodes, **policy))
    assert (error.code, error.path) == ("ElasticRangeInvalid", path), case


def test_variables_of_c10d_are_reserved_in_elastic_jobs_only() -> None:
    trainer = {"env": [{"name": "PET_RDZV_ID", "value": "x"}]}
    (error,) = refused(*elastic(trainer, nodes=3, **ELASTIC))
    assert (error.code, error.path) == ("ReservedEnv", "spec.trainer.env[0]")
    assert env(compiled(trainjob(trainer), runtime(policy={"torch": {}})))["PET_RDZV_ID"] == "x"


def test_restarts_that_the_template_sets_otherwise_are_warned_of() -> None:
    document, rt = elastic({}, nodes=3, **ELASTIC)
    rt["spec"]["template"]["spec"]["failurePolicy"] = {"maxRestarts": 1, "restartStrategy": "Recreate"}
    result = compiled(document, rt)
    (warning,) = diagnostics_of("ElasticMaxRestartsConflict", document, rt)
    assert warning.object == "ClusterTrainingRuntime rt"
    assert (warning.severity, warning.path) == ("warning", "spec.mlPolicy.torch.elasticPolicy.maxRestarts")
    assert "3 times" in warning.message
    assert "1 times" in warning.message
    assert one(result, "JobSet")["spec"]["failurePolicy"]["maxRestarts"] == 1
    rt["spec"]["template"]["spec"]["failurePolicy"]["maxRestarts"] = 3
    assert not [d for d in compiled(document, rt).diagnostics if d.code == "ElasticMaxRestartsConflict"]


def test_metrics_that_nobody_can_measure_are_named() -> None:
    metrics = [
        {"type": "Resource", "resource": {"name": name, "target": {"type": "Utilization"}}}
        for name in ("cpu", "memory")
    ]
    document, rt = elastic({"resourcesPerNode": {"requests": {"cpu": 1}}}, nodes=3, **ELASTIC, metrics=metrics)
    (warning,) = diagnostics_of("ElasticMetricsNotEmitted", document, rt)
    assert warning.object == "ClusterTrainingRuntime rt"
    assert (warning.severity, warning.path) == ("warning", "spec.mlPolicy.torch.elasticPolicy.metrics")
    assert "not request memory to measure" in warning.message
    assert "3 nodes" in warning.hint
