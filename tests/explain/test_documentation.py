"""docs/explain.md: every kind of origin and every JSON key is in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from builders import runtime, trainjob
from explained import explained

from trainc.explain.model import Kind
from trainc.explain.text import explanation_json
from trainc.features.authoring.graph.formats import graph_json
from trainc.features.authoring.graph.model import Gang, Graph, Rendezvous, Step, Volume
from trainc.kube.jobset import Dependency, JobSet

PAGE = (Path(__file__).parents[2] / "docs" / "explain.md").read_text(encoding="utf-8")


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key not in ("value", "gpus", "requests"):
                yield from keys(inner)
    elif isinstance(value, list):
        for item in value:
            yield from keys(item)


def test_every_kind_of_origin_is_explained() -> None:
    assert [kind for kind in get_args(Kind) if f"| `{kind}` | " not in PAGE] == []


def test_every_key_of_an_explanation_is_listed() -> None:
    subject = explained(trainjob({"numNodes": 2}), runtime(policy={"torch": {}}))
    assert [key for key in keys(explanation_json(subject.explanation)) if f"`{key}`" not in PAGE] == []


def test_every_key_of_a_graph_is_listed() -> None:
    (job,) = JobSet.read({"spec": {"replicatedJobs": [{"name": "a"}]}}).jobs
    step = Step(job, (Dependency("b", "Ready"),), (Volume("v", "s"),), "", (Rendezvous("x", "y"),), "a")
    graph = graph_json(Graph("", "a", (step,), (Gang("a", "s", 1),), False))
    assert [key for key in keys(graph) if f"`{key}`" not in PAGE] == []
