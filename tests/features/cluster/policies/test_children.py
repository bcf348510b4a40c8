"""The Jobs and Pods that a JobSet becomes, against those of a live cluster and in the corners that it did not see."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tables import cases

from trainc import Options, compile_trainjob
from trainc.features.cluster.policies.cel import Unknown
from trainc.features.cluster.policies.children import Subject, children


def subjects(jobset: dict[str, Any]) -> dict[str, Subject]:
    return {subject.label: subject for subject in children(jobset, "JobSet")}


def differences(expected: Any, actual: Any, path: str = "") -> list[str]:
    """What of `expected` is missing in `actual` or not the same. The API server adds to objects what it knows."""
    if path.endswith("job-key"):
        return []  # A hash of the namespace, of which the recordings were copied into others.
    if isinstance(expected, dict) and isinstance(actual, dict):
        return [
            line for key, value in expected.items() for line in differences(value, actual.get(key), f"{path}.{key}")
        ]
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) <= len(actual):
        return [line for i, value in enumerate(expected) for line in differences(value, actual[i], f"{path}[{i}]")]
    return [] if expected == actual else [f"{path}: {expected!r} is {actual!r}"]


@pytest.mark.conformance
def test_they_have_every_field_that_the_controllers_wrote(vectors: Path) -> None:
    with gzip.open(vectors / "policies.jsonl.gz", "rt", encoding="utf-8") as lines:
        cases = [case for case in map(json.loads, lines) if case["object"]["kind"] in ("Job", "Pod")]
    assert len(cases) > 50
    for case in cases:
        job, runtime = case["input"]
        compiled = compile_trainjob(job, [runtime], Options(release="2.3", delivery="kubectl"))
        found = subjects(next(one for one in compiled.manifests if one["kind"] == "JobSet"))
        recorded = case["object"]
        metadata = recorded["metadata"]
        label = f"{recorded['kind']} {metadata['namespace']}/{metadata.get('name') or metadata['generateName']}"
        if recorded["kind"] == "Job":
            del recorded["spec"]["suspend"]  # Everything was suspended while it was recorded.
        assert differences(recorded, found[label].data) == [], case["id"]


def jobset(
    template: dict[str, Any] | None = None, *, spec: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    pod = {"containers": [{"name": "node", "image": "a"}], **(template or {})}
    job = {"completionMode": "Indexed", "template": {"spec": pod}, **(spec or {})}
    replicated = {"name": "node", "replicas": 1, "groupName": "default", "template": {"spec": job}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "llm", "namespace": "prod"},
        "spec": {"replicatedJobs": [{**replicated, **more}]},
    }


def test_of_many_the_first_and_the_last_stand_for_all() -> None:
    found = subjects(jobset(spec={"parallelism": 8, "completions": 8}, replicas=3))
    assert [label for label in found if label.startswith("Job")] == ["Job prod/llm-node-0", "Job prod/llm-node-2"]
    assert [label for label in found if label.startswith("Pod")] == [
        "Pod prod/llm-node-0-0-", "Pod prod/llm-node-0-7-", "Pod prod/llm-node-2-0-", "Pod prod/llm-node-2-7-",
    ]  # fmt: skip


def test_what_has_no_replicas_becomes_nothing() -> None:
    assert subjects(jobset(replicas=0)) == {}


def test_a_job_without_indexes_has_pods_without_them() -> None:
    pod = subjects(jobset(spec={"completionMode": "NonIndexed", "parallelism": 2}))["Pod prod/llm-node-0-"].data
    assert "hostname" not in pod["spec"]
    assert "env" not in pod["spec"]["containers"][0]


def test_a_path_leads_back_to_the_jobset() -> None:
    found = subjects(jobset())
    inside = ("spec", "replicatedJobs", 0, "template", "spec")
    assert found["Pod prod/llm-node-0-0-"].source(("spec", "containers", 0)) == (
        *inside,
        "template",
        "spec",
        "containers",
        0,
    )
    assert found["Job prod/llm-node-0"].source(("spec", "backoffLimit")) == (*inside, "backoffLimit")


@cases("template", "expected")
def test_what_the_api_server_adds_to_a_pod(template: dict[str, Any], expected: dict[str, Any]) -> None:
    pod = subjects(jobset(template))["Pod prod/llm-node-0-0-"].data
    assert differences(expected, pod["spec"]) == []


def test_no_token_is_mounted_where_none_is_wanted() -> None:
    spec = subjects(jobset({"automountServiceAccountToken": False}))["Pod prod/llm-node-0-0-"].data["spec"]
    assert "volumes" not in spec
    assert "volumeMounts" not in spec["containers"][0]


def test_the_priority_of_a_class_is_known_only_to_the_cluster() -> None:
    spec = subjects(jobset({"priorityClassName": "high"}))["Pod prod/llm-node-0-0-"].data["spec"]
    assert isinstance(spec["priority"], Unknown)


QUALITIES: dict[str, tuple[dict[str, Any], str]] = {
    "nothing is asked for": ({}, "BestEffort"),
    "limits of both": ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
    "limits of one": ({"limits": {"memory": "1Gi"}}, "Burstable"),
    "less is requested": ({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}, "Burstable"),
    "only GPUs": ({"limits": {"nvidia.com/gpu": "8"}}, "BestEffort"),
}


@pytest.mark.parametrize(("resources", "quality"), QUALITIES.values(), ids=QUALITIES)
def test_the_quality_of_service(resources: dict[str, Any], quality: str) -> None:
    found = subjects(jobset({"containers": [{"name": "node", "image": "a", "resources": resources}]}))
    assert found["Pod prod/llm-node-0-0-"].data["status"]["qosClass"] == quality
