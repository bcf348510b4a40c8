"""GitOps shaping: what moves from the TrainJob to the objects, what is left out, and what the controller does instead."""

from __future__ import annotations

from typing import Any

import pytest
from builders import codes, compiled, container, job, one, replicated_job, runtime, trainjob

from trainc.emit.shaping import SHAPES

QUEUE = "kueue.x-k8s.io/queue-name"
MULTIKUEUE = "kueue.x-k8s.io/multikueue"


def with_metadata(document: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {**document, "metadata": {**document["metadata"], **metadata}}


def with_template_metadata(document: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    template = {**document["spec"]["template"], "metadata": metadata}
    return {**document, "spec": {**document["spec"], "template": template}}


def jobset(result: Any) -> dict[str, Any]:
    return one(result, "JobSet")


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_labels_and_annotations_move_to_the_jobset(field: str) -> None:
    document = with_metadata(trainjob(), **{field: {"team": "a"}})
    controller = compiled(document, runtime(), semantics="controller")
    assert field not in jobset(controller)["metadata"]
    assert "MetadataNotPropagated" in codes(controller)
    assert jobset(compiled(document, runtime()))["metadata"][field]["team"] == "a"


@pytest.mark.parametrize(
    "key",
    [
        "kubectl.kubernetes.io/last-applied-configuration",
        "config.kubernetes.io/local-config",
        "internal.config.kubernetes.io/path",
        "config.k8s.io/owning-inventory",
        "kustomize.config.k8s.io/needs-hash",
        "argocd.argoproj.io/tracking-id",
    ],
)
def test_what_tools_write_for_themselves_stays_behind(key: str) -> None:
    document = with_metadata(trainjob(), annotations={key: "x", "argocd.argoproj.io/other": "kept"})
    result = compiled(document, runtime(), delivery="kubectl")
    assert jobset(result)["metadata"]["annotations"] == {"argocd.argoproj.io/other": "kept"}


def test_the_trainjob_wins_over_the_template_and_says_so() -> None:
    rt = with_template_metadata(runtime(), labels={"team": "b", "same": "1", "other": "2"})
    result = compiled(with_metadata(trainjob(), labels={"team": "a", "same": "1"}), rt)
    assert jobset(result)["metadata"]["labels"] == {"team": "a", "same": "1", "other": "2"}
    (diagnostic,) = [d for d in result.diagnostics if d.code == "LabelOverridden"]
    assert (diagnostic.severity, diagnostic.path) == ("info", "metadata.labels.team")
    assert "'b'" in diagnostic.message


def test_a_patch_to_the_jobset_wins_over_the_metadata_of_the_trainjob() -> None:
    patch = {"manager": "a.b/c", "trainingRuntimeSpec": {"template": {"metadata": {"labels": {"team": "patched"}}}}}
    document = with_metadata(trainjob(runtimePatches=[patch]), labels={"team": "a"})
    result = compiled(document, runtime())
    assert jobset(result)["metadata"]["labels"] == {"team": "patched"}
    (found,) = [d for d in result.diagnostics if d.code == "LabelOverridden"]
    assert (found.severity, found.path) == ("info", "metadata.labels.team")
    assert "'patched'" in found.message
    assert "'a'" in found.message


@pytest.mark.parametrize("suspend", [True, False])
def test_with_a_queue_label_there_is_no_suspend(suspend: bool) -> None:
    document = with_metadata(trainjob(suspend=suspend), labels={QUEUE: "gpus"})
    result = compiled(document, runtime())
    assert "suspend" not in jobset(result)["spec"]
    assert ("SuspendFightsKueue" in codes(result)) is suspend


def test_a_queue_label_of_the_runtime_counts_as_well() -> None:
    rt = with_template_metadata(runtime(), labels={QUEUE: "gpus"})
    controller = compiled(trainjob(), rt, semantics="controller")
    assert jobset(controller)["spec"]["suspend"] is False
    assert "SuspendFightsKueue" in codes(controller)
    assert "suspend" not in jobset(compiled(trainjob(), rt))["spec"]


def test_without_a_queue_suspend_stays() -> None:
    result = compiled(trainjob(suspend=True), runtime())
    assert jobset(result)["spec"]["suspend"] is True
    assert "SuspendFightsKueue" not in codes(result)


@pytest.mark.parametrize("release", ["2.1", "2.2", "2.3"])
def test_multikueue_manages_the_jobset(release: str) -> None:
    document = trainjob(managedBy=MULTIKUEUE)
    assert jobset(compiled(document, runtime(), release=release))["spec"]["managedBy"] == MULTIKUEUE
    assert "managedBy" not in jobset(compiled(trainjob(), runtime(), release=release))["spec"]
    if release != "2.3":
        controller = compiled(document, runtime(), release=release, semantics="controller")
        assert "managedBy" not in jobset(controller)["spec"]
        assert "ManagedByNotPropagated" in codes(controller)


def test_the_deadline_is_that_of_the_trainers_job() -> None:
    rt = runtime(job("dataset-initializer", "dataset-initializer", [container("dataset-initializer")]), job())
    document = trainjob(activeDeadlineSeconds=3600)
    result = compiled(document, rt)
    assert replicated_job(result)["template"]["spec"]["activeDeadlineSeconds"] == 3600
    assert "activeDeadlineSeconds" not in replicated_job(result, "dataset-initializer")["template"]["spec"]
    assert "DeadlineMoved" in codes(result)
    assert "DeadlineNotPropagated" in codes(compiled(document, rt, semantics="controller"))


def test_a_deadline_that_no_job_can_carry_is_reported() -> None:
    result = compiled(trainjob(activeDeadlineSeconds=60), runtime(job("worker", None)))
    assert "DeadlineDropped" in codes(result)
    assert "activeDeadlineSeconds" not in replicated_job(result, "worker")["template"]["spec"]


def test_empty_placeholders_go_and_empty_objects_that_mean_something_stay() -> None:
    pod = {"volumes": [{"name": "v", "emptyDir": {}}]}
    rt = runtime(job(containers=[container(resources={}, securityContext={})], pod=pod))
    rt["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["metadata"] = {}
    spec = replicated_job(compiled(trainjob(), rt, delivery="kubectl"))["template"]["spec"]["template"]["spec"]
    assert "resources" not in spec["containers"][0]
    assert spec["volumes"] == [{"name": "v", "emptyDir": {}}]


def test_no_namespace_in_none_out() -> None:
    document = trainjob()
    del document["metadata"]["namespace"]
    rt = runtime(job("launcher"), job("node", None), policy={"mpi": {}}, gang={"coscheduling": {}})
    assert all("namespace" not in m["metadata"] for m in compiled(document, rt).manifests)
    filled = compiled(document, rt, namespace="team-b").manifests
    assert {m["metadata"]["namespace"] for m in filled} == {"team-b"}


def test_defaults_of_the_webhook_are_written_out() -> None:
    result = compiled(trainjob({}), runtime(policy={"torch": {}}))
    spec, template = jobset(result)["spec"], replicated_job(result)["template"]["spec"]
    assert spec["successPolicy"] == {"operator": "All"}
    assert spec["network"] == {"enableDNSHostnames": True, "publishNotReadyAddresses": True}
    assert template["completionMode"] == "Indexed"
    assert template["template"]["spec"]["containers"][0]["ports"] == [{"containerPort": 29500, "protocol": "TCP"}]


def test_ids_of_shapes_are_deviations_with_a_reason() -> None:
    from trainc.ir.deviations import deviations

    assert set(SHAPES) <= {deviation.id for deviation in deviations()}
