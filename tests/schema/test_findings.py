"""What a refused document is told: code, path and hint of every problem."""

from __future__ import annotations

from typing import Any

import pytest
from builders import container, job, runtime, trainjob
from tables import cases

from trainc.findings import Finding, format_path
from trainc.schema import check

Json = dict[str, Any]
JOB = "replicatedJobs[0].template.spec.template.spec"
PATCHED_POD = f"spec.runtimePatches[0].trainingRuntimeSpec.template.spec.{JOB}"
POD = f"spec.template.spec.{JOB}"


def findings(document: Json, release: str = "2.3") -> list[Finding]:
    _, found = check(document, document["kind"], release)
    assert all(f.severity == "error" and f.message for f in found)
    return sorted(found, key=lambda f: format_path(f.path))


def reported(document: Json, release: str = "2.3") -> list[tuple[str, str]]:
    return [(f.code, format_path(f.path)) for f in findings(document, release)]


def patched(**pod: Any) -> Json:
    jobs = [{"name": "node", "template": {"spec": {"template": {"spec": pod}}}}]
    patch = {"manager": "acme.io/a", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}
    return trainjob(runtimePatches=[patch])


@pytest.mark.parametrize(
    ("trainer", "code", "path", "hint"),
    [
        ({"numNodes": "2"}, "WrongType", "numNodes", "remove the quotes"),
        ({"numNodes": True}, "WrongType", "numNodes", ""),
        ({"numNodes": 1.5}, "WrongType", "numNodes", "write a whole number"),
        ({"numProcPerNode": "auto"}, "WrongType", "numProcPerNode", "leave it out"),
        ({"numNodes": 2**31}, "OutOfRange", "numNodes", "2147483647"),
        ({"numNodes": 1e30}, "OutOfRange", "numNodes", "2147483647"),
        ({"image": 7}, "WrongType", "image", "quotes"),
        ({"image": "x" * 501}, "TooLong", "image", "shorten"),
        ({"args": "--lr"}, "WrongType", "args", 'write a list: args: ["--lr"]'),
        ({"args": [None]}, "WrongType", "args[0]", ""),
        ({"args": ["x"] * 129}, "TooMany", "args", "remove"),
        ({"env": {"A": "1"}}, "WrongType", "env", 'write a list: env: [{name: A, value: "1"}]'),
        ({"env": [{"name": "A", "value": True}]}, "WrongType", "env[0].value", "quotes"),
        ({"env": [{"value": "1"}]}, "MissingRequired", "env[0].name", "add `name:`"),
        ({"env": [{"name": "A"}, {"name": "B"}, {"name": "A"}]}, "DuplicateItem", "env[2]", "rename"),
        ({"resourcesPerNode": [{"limits": {}}]}, "WrongType", "resourcesPerNode", "dashes"),
        ({"resourcesPerNode": {"limits": {"cpu": 0.5}}}, "InvalidQuantity", "resourcesPerNode.limits.cpu", '"0.5"'),
        (
            {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 0.5}}},
            "InvalidQuantity",
            'resourcesPerNode.limits["nvidia.com/gpu"]',
            "write a whole number",
        ),
        (
            {"resourcesPerNode": {"limits": {"cpu": "4 cores"}}},
            "InvalidQuantity",
            "resourcesPerNode.limits.cpu",
            "500m",
        ),
        ({"resourcesPerNode": {"limits": {7: "1"}}}, "WrongType", 'resourcesPerNode.limits["7"]', "quote"),
        ({"image": {"name": "x"}}, "WrongType", "image", ""),
        ({"gpus": 8}, "UnknownField", "gpus", 'write resourcesPerNode: {limits: {"nvidia.com/gpu": 8}}'),
    ],
)
def test_a_wrong_value_in_the_trainer(trainer: Json, code: str, path: str, hint: str) -> None:
    (finding,) = findings(trainjob(trainer))
    assert (finding.code, format_path(finding.path)) == (code, f"spec.trainer.{path}")
    assert hint in finding.hint


@pytest.mark.parametrize(
    ("document", "code", "path"),
    [
        (trainjob(suspend="no"), "WrongType", "spec.suspend"),
        (trainjob("x"), "WrongType", "spec.trainer"),  # type: ignore[arg-type]
        (trainjob(managedBy="acme.io/me"), "UnsupportedValue", "spec.managedBy"),
        (trainjob(activeDeadlineSeconds=0), "OutOfRange", "spec.activeDeadlineSeconds"),
        (
            trainjob(initializer={"model": {"storageUri": "meta/llama"}}),
            "InvalidStorageUri",
            "spec.initializer.model.storageUri",
        ),
        (trainjob(runtime=""), "EmptyField", "spec.runtimeRef.name"),
        (
            trainjob(runtimePatches=[{"manager": "a.io/a", "time": "today"}]),
            "InvalidTime",
            "spec.runtimePatches[0].time",
        ),
        (trainjob() | {"apiVersion": "trainer.kubeflow.org/v2"}, "UnsupportedValue", "apiVersion"),
        (trainjob(name="1st"), "InvalidName", "metadata.name"),
        (trainjob(name="n" * 64), "InvalidName", "metadata.name"),
        (trainjob(name="a.b"), "InvalidName", "metadata.name"),
        (runtime(name="Torch"), "InvalidName", "metadata.name"),
        (runtime(name=""), "MissingRequired", "metadata.name"),
        (
            runtime(policy={"mpi": {"mpiImplementation": "Intel"}}),
            "UnsupportedValue",
            "spec.mlPolicy.mpi.mpiImplementation",
        ),
        (runtime(policy={"flux": {"numProcPerNode": 0}}), "OutOfRange", "spec.mlPolicy.flux.numProcPerNode"),
        (runtime(policy={"torch": {}, "jax": {}}), "MutuallyExclusivePolicies", "spec.mlPolicy.jax"),
        (
            runtime(job(dependsOn=[{"name": "a", "status": "Done"}])),
            "UnsupportedValue",
            "spec.template.spec.replicatedJobs[0].dependsOn[0].status",
        ),
        (runtime(job(), job()), "DuplicateItem", "spec.template.spec.replicatedJobs[1]"),
        (
            runtime(
                job(containers=[container(ports=[{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}])])
            ),
            "DuplicateItem",
            f"{POD}.containers[0].ports[1]",
        ),
        (
            runtime(job(dependsOn=[{"name": n, "status": "Ready"} for n in "abcdef"])),
            "TooMany",
            "spec.template.spec.replicatedJobs[0].dependsOn",
        ),
        (
            runtime(job(dependsOn=[{"name": "a", "status": "Ready"}]), startupPolicy={"startupPolicyOrder": "InOrder"}),
            "StartupPolicyWithDependsOn",
            "spec.template.spec.replicatedJobs[0].dependsOn",
        ),
        (
            runtime(volumeClaimPolicies=[{"templates": [{"metadata": {"name": "v", "namespace": "x"}}]}]),
            "VolumeClaimNamespaceSet",
            "spec.template.spec.volumeClaimPolicies[0].templates[0].metadata.namespace",
        ),
        (
            runtime(policy={"torch": {"envInjection": {"targets": [{"jobName": "node", "containerNames": ["node"]}]}}}),
            "NodeAlreadyInjected",
            "spec.mlPolicy.torch.envInjection.targets[0].containerNames[0]",
        ),
        (
            runtime(policy={"torch": {"envInjection": {"targets": [{"jobName": "node", "containerNames": []}]}}}),
            "EmptyField",
            "spec.mlPolicy.torch.envInjection.targets[0].containerNames",
        ),
        (runtime() | {"spec": {}}, "EmptyField", "spec"),
        (
            patched(
                containers=[{"name": "node", "volumeMounts": [{"name": "v", "mountPath": p} for p in ("/a", "/b")]}]
            ),
            "DuplicateItem",
            f"{PATCHED_POD}.containers[0].volumeMounts[1]",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_a_document_with_one_problem(document: Json, code: str, path: str) -> None:
    assert reported(document) == [(code, path)]


@cases("document", "release", "code", "path")
def test_a_rule_of_an_old_release(document: Json, release: str, code: str, path: str) -> None:
    assert reported(document, release) == [(code, path)]


def test_an_old_release_does_not_know_the_rules_of_a_new_one() -> None:
    assert reported(trainjob({"image": "x" * 501}, initializer={"model": {"storageUri": "meta/llama"}}), "2.1") == []


def test_every_problem_is_reported_at_once() -> None:
    document = trainjob({"numNodes": "2", "env": [{"name": "A"}, {"name": "A"}]}, suspended=True, name="Llm")
    del document["spec"]["runtimeRef"]
    assert reported(document) == [
        ("InvalidName", "metadata.name"),
        ("MissingRequired", "spec.runtimeRef"),
        ("UnknownField", "spec.suspended"),
        ("DuplicateItem", "spec.trainer.env[1]"),
        ("WrongType", "spec.trainer.numNodes"),
    ]


def test_one_problem_is_reported_once() -> None:
    document = trainjob()
    document["metadata"]["name"] = 7
    assert reported(document) == [("WrongType", "metadata.name")]


def test_rules_see_what_is_well_typed_next_to_what_is_not() -> None:
    policy = {"torch": {}, "jax": {}, "numNodes": "2"}
    assert reported(runtime(policy=policy)) == [
        ("MutuallyExclusivePolicies", "spec.mlPolicy.jax"),
        ("WrongType", "spec.mlPolicy.numNodes"),
    ]


def test_an_empty_document_misses_what_every_trainjob_needs() -> None:
    _, found = check({}, "TrainJob", "2.3")
    assert {format_path(f.path) for f in found} == {"apiVersion", "kind", "spec", "metadata.name"}


def test_a_name_for_the_api_server_to_complete_is_not_enough() -> None:
    document = trainjob()
    document["metadata"] = {"generateName": "llm-"}
    (finding,) = findings(document)
    assert (finding.code, "generateName" in finding.hint) == ("MissingRequired", True)


@pytest.mark.parametrize(
    ("metadata", "path"),
    [
        ({"labels": {"team": "a b"}}, "metadata.labels.team"),
        ({"labels": {"team": "x" * 64}}, "metadata.labels.team"),
        ({"labels": {"a/b/c": "x"}}, 'metadata.labels["a/b/c"]'),
        ({"labels": {"-": "x"}}, 'metadata.labels["-"]'),
        ({"annotations": {"Bad Key": "x"}}, 'metadata.annotations["Bad Key"]'),
    ],
)
def test_labels_and_annotations_that_the_api_server_refuses(metadata: Json, path: str) -> None:
    document = trainjob()
    document["metadata"] |= metadata
    (finding,) = findings(document)
    assert finding.code == "InvalidLabel"
    assert format_path(finding.path) in (path, path.replace('["-"]', ".-"))


def test_labels_and_annotations_that_the_api_server_takes() -> None:
    document = trainjob()
    document["metadata"] |= {"labels": {"a.b/c_d": "", "x": "A-1_b.c"}, "annotations": {"A.b/C": "any text\n"}}
    assert reported(document) == []


def test_annotations_have_a_limit_together() -> None:
    document = trainjob()
    document["metadata"]["annotations"] = {f"a{i}": "x" * 100_000 for i in range(3)}
    assert reported(document) == [("TooLong", "metadata.annotations")]


@pytest.mark.parametrize("fields", [{"image": 0}, {"unknown": 0}, {"env": 0}, {"resourcesPerNode": {"limits": 0}}])
def test_trees_deeper_than_python_can_follow_are_refused_like_any_other(fields: Json) -> None:
    deep: Any = []
    for _ in range(5_000):
        deep = {"x": [deep]}
    document = trainjob({name: {"limits": {"cpu": deep}} if inner else deep for name, inner in fields.items()})
    (finding,) = findings(document)
    assert finding.code in ("WrongType", "UnknownField", "InvalidQuantity")
