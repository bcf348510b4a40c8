"""JobSet: how a pod set is written back into its job, and what is refused in a TrainJob's patches."""

from __future__ import annotations

from typing import Any

import pytest
from builders import (
    LABEL,
    Json,
    compiled,
    container,
    diagnostics_of,
    env,
    job,
    main,
    one,
    pod,
    pods,
    refused,
    replicated_job,
    runtime,
    trainjob,
)

from trainc import Options
from trainc.lints.registry import lint_rendered

JOBS_PATH = "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs"


def patch(*jobs: Json, manager: str = "team-a.example.com/x") -> Json:
    return {"manager": manager, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": list(jobs)}}}}


def patched(name: str = "node", **pod_spec: Any) -> Json:
    return {"name": name, "template": {"spec": {"template": {"spec": pod_spec}}}}


def test_the_trainjobs_words_replace_the_templates() -> None:
    rt = runtime(job(containers=[container(command=["a"], args=["b"]), container("side", command=["s"])]))
    for trainer, words in (
        ({}, (["a"], ["b"], "example.com/train:1")),
        ({"command": ["c"]}, (["c"], ["b"], "example.com/train:1")),
        ({"args": ["d"], "image": "i:2"}, (["a"], ["d"], "i:2")),
        ({"command": [], "args": []}, (None, None, "example.com/train:1")),
    ):
        result = compiled(trainjob(trainer), rt)
        found = main(result)
        assert (found.get("command"), found.get("args"), found["image"]) == words
        assert main(result, name="side")["command"] == ["s"]


def test_a_step_has_one_replica_and_other_jobs_what_the_template_says() -> None:
    rt = runtime(job(), job("side", None, [container("c")], replicas=3))
    result = compiled(trainjob({"numNodes": 2}), rt, semantics="controller")
    assert (replicated_job(result)["replicas"], pods(result)) == (1, 2)
    assert (replicated_job(result, "side")["replicas"], pods(result, "side")) == (3, 1)


def test_what_plugins_do_not_touch_is_kept() -> None:
    metadata = {"labels": {"l": "1"}, "annotations": {"a": "2"}}
    node = job(pod={"restartPolicy": "Never", "volumes": [{"name": "v", "emptyDir": {}}]}, spec={"backoffLimit": 4})
    node["template"]["spec"]["template"]["metadata"] = metadata
    rt = runtime(node, gang={"coscheduling": {}}, successPolicy={"operator": "All"})
    result = compiled(trainjob({}, suspend=True), rt)
    assert one(result, "JobSet")["spec"]["suspend"] is True
    assert one(result, "JobSet")["spec"]["successPolicy"] == {"operator": "All"}
    assert replicated_job(result)["template"]["spec"]["backoffLimit"] == 4
    assert pod(result)["spec"]["restartPolicy"] == "Never"
    assert pod(result)["spec"]["volumes"] == [{"name": "v", "emptyDir": {}}]
    assert pod(result)["metadata"] == {
        "labels": {"l": "1", LABEL: "trainer", "scheduling.x-k8s.io/pod-group": "llm"},
        "annotations": {"a": "2"},
    }


@pytest.mark.parametrize(("release", "limits"), [("2.1", {"memory": "1Gi"}), ("2.3", {"cpu": "4", "memory": "1Gi"})])
def test_the_controller_replaces_resources_until_2_2_and_merges_them_since(release: str, limits: Json) -> None:
    rt = runtime(
        job(containers=[container(resources={"limits": {"cpu": "4"}, "requests": {"cpu": "2"}})]), policy={"torch": {}}
    )
    result = compiled(
        trainjob({"resourcesPerNode": {"limits": {"memory": "1Gi"}}}), rt, release=release, semantics="controller"
    )
    assert main(result)["resources"]["limits"] == limits
    assert ("requests" in main(result)["resources"]) is (release == "2.3")


def test_the_trainjobs_variables_are_written_last() -> None:
    rt = runtime(job(containers=[container(env=[{"name": "A", "value": "theirs"}, {"name": "B", "value": "b"}])]))
    result = compiled(trainjob({"env": [{"name": "A", "value": "mine"}, {"name": "C", "value": "c"}]}), rt)
    assert env(result) == {"A": "mine", "B": "b", "C": "c"}
    assert list(env(result)) == ["A", "B", "C"]


@pytest.mark.parametrize("manager", ["team-a", "Team.a/x", "/x", "a..b/x", "a.b/", "-a/x", "a.b/x y"])
def test_a_manager_is_a_domain_and_a_path(manager: str) -> None:
    document = trainjob({}, runtimePatches=[patch(manager="a.b/ok"), patch(manager=manager)])
    (error,) = refused(document, runtime())
    assert (error.code, error.path) == ("InvalidManager", "spec.runtimePatches.manager")
    assert repr(manager) in error.message


@pytest.mark.parametrize("manager", ["a/x", "team-a.example.com/defaults", "a.b/x/y_z.~%2", "0/A"])
def test_managers_that_are_fine(manager: str) -> None:
    compiled(trainjob({}, runtimePatches=[patch(manager=manager)]), runtime())


def test_targets_and_containers_that_do_not_exist_are_named() -> None:
    document = trainjob(
        {},
        runtimePatches=[
            patch(
                patched("gone"),
                patched(containers=[{"name": "node"}, {"name": "ghost"}], initContainers=[{"name": "init"}]),
            )
        ],
    )
    rt = runtime(job(pod={"initContainers": [container("first")]}), job("also", None, [container("c")]))
    errors = {(e.code, e.path): e for e in refused(document, rt)}
    pod_path = f"{JOBS_PATH}[1].template.spec.template.spec"
    assert set(errors) == {
        ("UnknownPatchTarget", f"{JOBS_PATH}[0]"),
        ("UnknownPatchTarget", f"{pod_path}.containers[1]"),
        ("UnknownPatchTarget", f"{pod_path}.initContainers[0]"),
    }
    assert errors["UnknownPatchTarget", f"{JOBS_PATH}[0]"].hint == "use one of the runtime's jobs: also, node"
    ghost = errors["UnknownPatchTarget", f"{pod_path}.containers[1]"]
    assert "'ghost'" in ghost.message
    assert "'node'" in ghost.message
    assert {"node", "first"} <= set(ghost.hint.removeprefix("use one of the job's containers: ").split(", "))


@pytest.mark.parametrize("name", ["node", "dataset-initializer", "model-initializer"])
def test_variables_of_the_main_containers_are_not_for_patches(name: str) -> None:
    rt = runtime(
        job(name, "trainer" if name == "node" else name, [container(name), container("side")]),
        job("z", None, [container()]),
    )
    variables = [{"name": "A", "value": "1"}]
    document = trainjob({}, runtimePatches=[patch(patched(name, containers=[{"name": "side", "env": variables}]))])
    assert env(compiled(document, rt), name, "side") == {"A": "1"}
    document = trainjob({}, runtimePatches=[patch(patched(name, containers=[{"name": name, "env": variables}]))])
    (error,) = refused(document, rt)
    path = f"{JOBS_PATH}[0].template.spec.template.spec.containers[0].env"
    assert (error.code, error.path) == ("PatchedTrainerEnv", path)
    assert repr(name) in error.message


def test_2_0_lets_a_job_be_the_target_of_one_override() -> None:
    override = {"targetJobs": [{"name": "node"}], "nodeSelector": {"a": "b"}}
    document = trainjob({}, podSpecOverrides=[override, override])
    (error,) = refused(document, runtime(), release="2.0", semantics="controller")
    assert (error.code, error.path) == ("RepeatedTargetJob", "spec.podSpecOverrides[1].targetJobs[0]")
    assert "'node'" in error.message
    once = trainjob({}, podSpecOverrides=[override])
    assert pod(compiled(once, runtime(), release="2.0"))["spec"]["nodeSelector"] == {"a": "b"}


def test_the_controller_rebuilds_ports_and_loses_the_unnamed() -> None:
    ports = [{"containerPort": 1, "protocol": "TCP"}, {"containerPort": 2, "protocol": "TCP"}]
    rt = runtime(job(containers=[container(ports=ports)], pod={"initContainers": [container("i", ports=ports)]}))
    kept = compiled(trainjob({}), rt)
    assert main(kept)["ports"] == ports
    for release, first in (("2.2", ports), ("2.3", ports[1:])):
        lost = compiled(trainjob({}), rt, release=release, semantics="controller")
        assert [p["containerPort"] for p in main(lost)["ports"]] == [2, 2]
        assert pod(lost)["spec"]["initContainers"][0]["ports"][-1] == first[-1]


@pytest.mark.parametrize(
    ("seconds", "severity"),
    [(48, "warning"), (72, "warning"), (10, "warning"), (60, "info"), (240, "info"), (300, ""), (172800, "")],
)
def test_a_deadline_in_hours_is_one_of_seconds(seconds: int, severity: str) -> None:
    slow = job("node", spec={"activeDeadlineSeconds": seconds})
    expected = [(severity, f"write activeDeadlineSeconds: {seconds * 3600} if {seconds} hours are meant")]
    for document, rt in ((trainjob(activeDeadlineSeconds=seconds), runtime()), (trainjob(), runtime(slow))):
        found = [(d.severity, d.hint) for d in diagnostics_of("UnlikelyAmount", document, rt)]
        assert found == (expected if severity else [])


@pytest.mark.parametrize(("parallelism", "completions", "found"), [(8, 4, 1), (4, 4, 0), (4, 8, 0)])
def test_a_job_never_runs_more_pods_than_it_has_completions(parallelism: int, completions: int, found: int) -> None:
    (jobset,) = (m for m in compiled(trainjob(), runtime()).manifests if m["kind"] == "JobSet")
    jobset["spec"]["replicatedJobs"][0]["template"]["spec"] |= {"parallelism": parallelism, "completions": completions}
    said = [f for f in lint_rendered(jobset, [jobset], Options()) if f.code == "UnlikelyAmount"]
    assert [f.path[-1] for f in said] == ["parallelism"] * found
