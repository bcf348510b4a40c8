"""check(): what is accepted, how it is normalised, and what pruning does."""

from __future__ import annotations

import copy
import subprocess
import sys
from typing import Any

import pytest
from builders import container, job, runtime, trainjob
from tables import cases

from trainc.findings import format_path
from trainc.kube.releases import RELEASES
from trainc.schema import check

Json = dict[str, Any]


def normalised(document: Json, release: str = "2.3") -> Json:
    stored, findings = check(document, document["kind"], release)
    assert findings == []
    return stored


def pod_of(document: Json) -> Json:
    pod: Json = document["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    return pod


def normalised_pod(release: str = "2.3", **fields: Any) -> Json:
    return pod_of(normalised(runtime(job(pod=fields)), release))


def jobset(**spec: Any) -> Json:
    body = {"replicatedJobs": [job()], **spec}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "llm"}, "spec": body}


def test_a_trainjob_gets_the_defaults_of_its_crd() -> None:
    assert normalised(trainjob())["spec"] == {
        "runtimeRef": {"name": "rt", "apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime"},
        "suspend": False,
        "managedBy": "trainer.kubeflow.org/trainjob-controller",
    }


@cases("policy", "gang", "expected")
def test_a_default_fires_only_inside_a_parent_that_is_there(
    policy: Json | None, gang: Json | None, expected: Json
) -> None:
    spec = normalised(runtime(policy=policy, gang=gang))["spec"]
    assert spec["mlPolicy" if policy is not None else "podGroupPolicy"] == expected


@pytest.mark.parametrize(("release", "expected"), [("2.0", None), ("2.1", "default"), ("2.3", "default")])
def test_a_default_holds_from_its_release_on(release: str, expected: str | None) -> None:
    (stored,) = normalised(runtime(job()), release)["spec"]["template"]["spec"]["replicatedJobs"]
    assert stored.get("groupName") == expected
    assert stored["replicas"] == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"hostNetwork": False},
        {"serviceAccountName": ""},
        {"nodeSelector": {}},
        {"tolerations": []},
        {"imagePullSecrets": []},
    ],
)
def test_zero_values_that_go_omits_disappear_from_a_template(fields: Json) -> None:
    assert normalised_pod(**fields).keys() == {"containers"}


@pytest.mark.parametrize(
    "fields",
    [
        {"terminationGracePeriodSeconds": 0},
        {"automountServiceAccountToken": False},
        {"securityContext": {}},
        {"securityContext": {"runAsUser": 0, "runAsNonRoot": False}},
        {"volumes": [{"name": "v", "emptyDir": {}}]},
        {"volumes": [{"name": "v", "configMap": {"name": "c", "optional": False, "defaultMode": 0}}]},
    ],
)
def test_zero_values_behind_pointers_stay(fields: Json) -> None:
    assert {k: v for k, v in normalised_pod(**fields).items() if k != "containers"} == fields


def test_a_container_loses_what_go_omits_and_keeps_the_rest() -> None:
    written = container(
        env=[{"name": "A", "value": ""}, {"name": "B", "value": "x"}],
        volumeMounts=[{"name": "v", "mountPath": "/v", "readOnly": False}],
        resources={"limits": {}},
        tty=False,
        args=[],
        lifecycle={},
        livenessProbe={"grpc": {"port": 0}, "initialDelaySeconds": 0},
    )
    assert normalised_pod(containers=[written])["containers"] == [
        container(
            env=[{"name": "A"}, {"name": "B", "value": "x"}],
            volumeMounts=[{"name": "v", "mountPath": "/v"}],
            lifecycle={},
            livenessProbe={"grpc": {"port": 0, "service": ""}},
        )
    ]


def test_what_only_the_controller_reads_keeps_its_zero_values() -> None:
    trainer = {"command": [], "args": [], "image": "", "numNodes": 0, "resourcesPerNode": {"limits": {}}, "env": []}
    stored = normalised(trainjob(trainer, initializer={"dataset": {"storageUri": ""}, "model": {}}))["spec"]
    assert stored["trainer"] == trainer
    assert stored["initializer"] == {"dataset": {"storageUri": ""}, "model": {}}


def test_a_patch_is_marshalled_so_its_zero_values_disappear() -> None:
    change = {"name": "node", "env": [{"name": "A", "value": ""}], "volumeMounts": []}
    pod = {"containers": [change], "nodeSelector": {}, "terminationGracePeriodSeconds": 0}
    jobs = [{"name": "node", "template": {"spec": {"template": {"spec": pod}}}}]
    patch = {"manager": "acme.io/a", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}
    (stored,) = normalised(trainjob(runtimePatches=[patch]))["spec"]["runtimePatches"]
    (patched,) = stored["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    assert patched["template"]["spec"]["template"]["spec"] == {
        "containers": [{"name": "node", "env": [{"name": "A"}]}],
        "terminationGracePeriodSeconds": 0,
    }


def test_a_zero_value_that_was_written_is_dropped_and_not_defaulted() -> None:
    (stored,) = normalised(runtime(job(replicas=0, groupName="")))["spec"]["template"]["spec"]["replicatedJobs"]
    assert stored.keys() == {"name", "template"}


def test_quantities_become_canonical() -> None:
    resources = {"limits": {"cpu": "2000m", "memory": "1024Mi", "nvidia.com/gpu": 8}, "requests": {"cpu": 0}}
    stored = normalised(trainjob({"resourcesPerNode": resources}))["spec"]["trainer"]["resourcesPerNode"]
    assert stored == {"limits": {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": "8"}, "requests": {"cpu": "0"}}


def test_whole_floats_are_integers_as_in_json() -> None:
    stored = normalised(trainjob({"numNodes": 2.0}))["spec"]["trainer"]["numNodes"]
    assert (stored, type(stored)) == (2, int)


def test_nulls_are_absent() -> None:
    assert normalised(trainjob({"image": None}, suspend=None)) == normalised(trainjob({}))


def test_what_the_api_server_wrote_is_left_alone() -> None:
    document = {**trainjob(), "status": {"conditions": "any"}}
    document["metadata"] |= {
        "managedFields": [{"fieldsV1": {"f:spec": {}}}],
        "creationTimestamp": "2026-01-31T12:00:00Z",
    }
    assert normalised(document)["status"] == {"conditions": "any"}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("document", [trainjob({}), runtime(), jobset()], ids=lambda d: str(d["kind"]))
def test_checking_changes_neither_its_input_nor_its_own_result(document: Json, release: str) -> None:
    before = copy.deepcopy(document)
    stored = normalised(document, release)
    assert document == before
    assert normalised(stored, release) == stored


def test_unknown_fields_are_errors_and_with_prune_dropped_with_a_warning() -> None:
    document = jobset(replicatedJobs=[job(surprise=1)], other={})
    _, findings = check(document, "JobSet", "2.3")
    assert {(f.code, f.severity, format_path(f.path)) for f in findings} == {
        ("UnknownField", "error", "spec.replicatedJobs[0].surprise"),
        ("UnknownField", "error", "spec.other"),
    }
    stored, findings = check(document, "JobSet", "2.3", prune=True)
    assert {(f.code, f.severity) for f in findings} == {("UnknownField", "warning")}
    assert stored == normalised(jobset())


def test_pruning_does_not_hide_errors() -> None:
    _, findings = check(jobset(suspend="no", other={}), "JobSet", "2.3", prune=True)
    assert sorted((f.code, f.severity) for f in findings) == [("UnknownField", "warning"), ("WrongType", "error")]


def test_valid_input_never_imports_jsonschema() -> None:
    program = (
        "import sys; from trainc.schema import check\n"
        f"assert check({runtime()!r}, 'ClusterTrainingRuntime', '2.3')[1] == []\n"
        "assert 'jsonschema' not in sys.modules and 'difflib' not in sys.modules\n"
        "assert check({}, 'TrainJob', '2.3')[1]\n"
        "assert 'jsonschema' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
