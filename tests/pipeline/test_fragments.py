"""Fragments: told by their keys, put in their parent's place, judged at their own lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from trainc import Diagnostic, Options
from trainc.options import Limits
from trainc.pipeline.fragments import check_fragments, fragment_of
from trainc.reading.catalog import find, names
from trainc.reading.document import Document
from trainc.reading.yaml_reader import read_documents


def read(text: str) -> Document:
    (document,), problems = read_documents(text.encode(), "piece.yaml", Limits())
    assert not problems
    return document


def place(text: str) -> str:
    fragment = fragment_of(read(text))
    return fragment.label if fragment else ""


def diagnostics_of(text: str, **options: Any) -> list[Diagnostic]:
    return list(check_fragments([read(text)], Options(release="2.3", **options)))


PLACES = {
    "a policy": ("mlPolicy: {numNodes: 2, torch: {}}", "part of a runtime's spec"),
    "the inside of a policy": ("{numNodes: 2, torch: {}}", "part of a runtime's spec.mlPolicy"),
    "a gang": ("coscheduling: {scheduleTimeoutSeconds: 9}", "part of a runtime's spec.podGroupPolicy"),
    "a runtime without its head": ("spec: {podGroupPolicy: {volcano: {}}}", "part of a runtime"),
    "a runtime with metadata": ("{metadata: {name: a}, spec: {mlPolicy: {}}}", "part of a runtime"),
    "a template": ("template: {spec: {replicatedJobs: []}}", "part of a runtime's spec"),
    "jobs": ("replicatedJobs: [{name: node}]", "part of a runtime's spec.template.spec"),
    "a job": (
        "{name: node, template: {spec: {template: {spec: {containers: []}}}}}",
        "part of a runtime's spec.template.spec.replicatedJobs[]",
    ),
    "a pod": (
        "{containers: [{name: node}], nodeSelector: {a: b}}",
        "part of a runtime's spec.template.spec.replicatedJobs[].template.spec.template.spec",
    ),
    "a job's size": ("parallelism: 4", "part of a runtime's spec.template.spec.replicatedJobs[].template.spec"),
    "a TrainJob without its head": ("spec: {runtimeRef: {name: rt}}", "part of a TrainJob"),
    "a trainer": ("trainer: {numNodes: 2, command: [a]}", "part of a TrainJob's spec"),
    "the inside of a trainer": ("{numNodes: 2, image: a}", "part of a TrainJob's spec.trainer"),
    "patches": ("runtimePatches: []", "part of a TrainJob's spec"),
    "labels": ("trainer.kubeflow.org/framework: jax", "part of a runtime's metadata.labels"),
}


@pytest.mark.parametrize("case", PLACES)
def test_a_fragment_is_told_by_its_keys(case: str) -> None:
    text, label = PLACES[case]
    assert place(text) == label


NO_FRAGMENTS = {
    "a kustomization": "{resources: [job.yaml], namePrefix: a-}",
    "values of a chart": "{image: a, replicas: 2, resources: {}, containers: []}",
    "a training configuration": "{trainer: {max_epochs: 3}, model: {name: x}, numNodes: 2}",
    "a compose file": "{services: {a: {image: b}}, volumes: {}}",
    "a whole document of another kind": "{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {containers: []}}}}",
    "a kind without a version": "{kind: TrainJob, spec: {runtimeRef: {name: rt}}}",
    "a version without a kind": "{apiVersion: v1, spec: {mlPolicy: {}}}",
    "labels of others": "app.kubernetes.io/name: a",
    "nothing": "{}",
}


@pytest.mark.parametrize("case", NO_FRAGMENTS)
def test_what_is_not_a_piece_of_ours_is_left_alone(case: str) -> None:
    assert place(NO_FRAGMENTS[case]) == ""


WRONG = {
    "a typo": ("mlPolicy:\n  numNode: 2\n", "UnknownField", "mlPolicy.numNode", 2),
    "a wrong type": ("podGroupPolicy:\n  coscheduling:\n    scheduleTimeoutSeconds: soon\n", "WrongType",
                     "podGroupPolicy.coscheduling.scheduleTimeoutSeconds", 3),
    "a missing field": ("replicatedJobs:\n- name: node\n", "MissingRequired", "replicatedJobs[0].template", 2),
    "a typo in a pod": ("containers:\n- name: node\n  imagee: a\n", "UnknownField", "containers[0].imagee", 3),
    "a pod in a job's place": ("replicatedJobs:\n- name: node\n  template:\n    spec:\n      containers: []\n",
                               "MisplacedPodSpec", "replicatedJobs[0].template.spec.containers", 5),
    "a policy of no framework": ("mlPolicy:\n  tensorflow: {}\n", "UnsupportedFramework", "mlPolicy.tensorflow", 2),
    "a TrainJob's typo": ("trainer:\n  numNodes: 2\n  comand: [a]\n", "UnknownField", "trainer.comand", 3),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_reported_where_it_stands(case: str) -> None:
    text, code, path, line = WRONG[case]
    (error,) = [d for d in diagnostics_of(text) if d.severity == "error"]
    assert error.source is not None
    assert (error.code, error.path, error.source.file, error.source.line) == (code, path, "piece.yaml", line)
    assert error.object == place(text)


def test_what_was_supplied_around_a_fragment_is_never_reported() -> None:
    for case, (text, _) in PLACES.items():
        codes = [d.code for d in diagnostics_of(text) if d.severity != "error"]
        assert "SchedulerNameMissing" not in codes, case
        assert "RoleInferred" not in codes or "replicatedJobs" in text, case
    assert [d.code for d in diagnostics_of("podGroupPolicy: {coscheduling: {}}")] == ["Fragment"]


def test_lints_look_at_fragments_too() -> None:
    found = diagnostics_of(
        "replicatedJobs: [{name: node, template: {spec: {template: {spec: {containers: [{name: node}]}}}}}]"
    )
    assert {d.code: d.severity for d in found} == {
        "Fragment": "info",
        "RoleInferred": "warning",
        "MissingImage": "warning",
    }


def test_a_fragment_is_read_in_the_api_that_knows_it() -> None:
    both = "mlPolicy: {numNodes: 4, torch: {elasticPolicy: {minNodes: 2, maxNodes: 8}}}"
    info, warning = diagnostics_of(both)
    assert (info.code, warning.code) == ("Fragment", "ElasticWithNumNodes")
    assert "kubeflow.org/v2alpha1" in info.message
    # The older dialects have no place under the controller's semantics.
    assert any(d.severity == "error" for d in diagnostics_of(both, semantics="controller"))


def test_what_is_wrong_in_every_api_is_reported_in_trainers_own() -> None:
    info, error = diagnostics_of("mlPolicy: {numNode: 4}")
    assert info.message == "this is part of a runtime's spec and is only checked; a fragment is not compiled"
    assert error.message == "Trainer 2.3 has no field numNode here"


def pieces(value: Any) -> Iterator[dict[str, Any]]:
    """Every mapping inside a document, itself without its head first."""
    if isinstance(value, dict):
        yield {key: item for key, item in value.items() if key not in ("apiVersion", "kind")}
        for item in value.values():
            yield from pieces(item)
    elif isinstance(value, list):
        for item in value:
            yield from pieces(item)


@pytest.mark.parametrize("name", names("2.3"))
def test_every_piece_of_a_shipped_runtime_is_right_wherever_it_is_recognized(name: str) -> None:
    runtime = find(name, "2.3")
    assert isinstance(runtime, Document)
    recognized = 0
    for piece in pieces(runtime.data):
        text = yaml.safe_dump(piece)
        if piece and place(text):
            recognized += 1
            assert [d for d in diagnostics_of(text) if d.severity == "error"] == []
    assert recognized >= 5
