"""The JSON Schemas for editors."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from builders import container, job, runtime, trainjob

from trainc.kube.releases import RELEASES
from trainc.schema.editor_schema import json_schema
from trainc.schema.shapes import ROOTS

Json = dict[str, Any]


def validator(kind: str, release: str = "2.3") -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json_schema(kind, release))


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("kind", ROOTS)
def test_a_schema_is_valid_json_schema_and_self_contained(kind: str, release: str) -> None:
    schema = json_schema(kind, release)
    jsonschema.Draft202012Validator.check_schema(schema)
    text = json.dumps(schema)
    assert {part.split('"')[0] for part in text.split('"#/$defs/')[1:]} == schema["$defs"].keys()


@pytest.mark.parametrize(
    "document",
    [
        trainjob({"resourcesPerNode": {"limits": {"cpu": "500m", "memory": "16Gi", "nvidia.com/gpu": 8}}}),
        trainjob(initializer={"dataset": {"storageUri": "hf://a/b"}, "model": {"storageUri": ""}}),
        runtime(job(containers=[container(env=[{"name": "A"}])]), policy={"torch": {}}),
    ],
)
def test_what_the_check_accepts_an_editor_accepts(document: Json) -> None:
    validator(document["kind"]).validate(document)


@pytest.mark.parametrize(
    "document",
    [
        trainjob({"numNode": 2}),
        trainjob({"numNodes": "2"}),
        trainjob({"resourcesPerNode": {"limits": {"cpu": "4 cores"}}}),
        trainjob(initializer={"dataset": {"storageUri": "a/b"}}),
        runtime(policy={"mpi": {"mpiImplementation": "Intel"}}),
        {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob"},
    ],
)
def test_what_an_editor_can_see_is_wrong_it_reports(document: Json) -> None:
    assert not validator(document["kind"]).is_valid(document)


def test_a_field_tells_what_it_means_and_what_it_is_by_default() -> None:
    suspend = json_schema("TrainJob", "2.3")["$defs"]["trainer.TrainJobSpec"]["properties"]["suspend"]
    assert suspend == {"type": "boolean", "description": "If true, the job does not start.", "default": False}


def test_a_schema_holds_only_what_its_kind_can_reach() -> None:
    assert "trainer.MLPolicy" not in json_schema("TrainJob", "2.3")["$defs"]
    assert "trainer.TrainJobSpec" not in json_schema("JobSet", "2.3")["$defs"]
