"""What a cluster has beside what jobs need: which version is found where, and what each difference means."""

from __future__ import annotations

from typing import Any

import pytest
from tables import cases

from trainc.features.cluster.doctor.comparison import (
    Requirements,
    Row,
    compare,
    components,
    json_of,
    kubernetes,
    serves_workloads,
    text_of,
)

Json = dict[str, Any]
JOBSETS = {"2.0": "0.8", "2.1": "0.10", "2.2": "0.11", "2.3": "0.12"}
COSCHEDULING, VOLCANO, WORKLOADS = "scheduling.x-k8s.io", "scheduling.volcano.sh", "scheduling.k8s.io"
JOBSET = "registry.k8s.io/jobset/jobset"


def requirements(release: str = "2.3", **fields: Any) -> Requirements:
    return Requirements(release, JOBSETS, ("0.18", "0.19", "0.20"), ("1.32", "1.33", "1.34", "1.35"), **fields)


def deployment(image: str, name: str = "x", available: int | None = 1, **spec: Any) -> Json:
    pod = {"containers": [{"name": "sidecar", "image": "example.com/proxy:1"}, {"name": "manager", "image": image}]}
    metadata = {"name": name, "namespace": "system"}
    made = {"kind": "Deployment", "metadata": metadata, "spec": {"template": {"spec": pod}, **spec}}
    # The API server leaves out a number that is 0.
    return {**made, "status": {"replicas": 1, **({"availableReplicas": available} if available else {})}}


def definition(name: str, *fields: str) -> Json:
    """A CRD whose spec has the fields, each a path; lists are nested as objects are."""
    schema: Json = {}
    for field in fields:
        here = schema
        for step in field.split("."):
            here = here.setdefault("properties", {}).setdefault(step, {})
    versions = [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]
    return {"kind": "CustomResourceDefinition", "metadata": {"name": name}, "spec": {"versions": versions}}


def server(version: str) -> Json:
    return {"clientVersion": {"gitVersion": "v1.37.1"}, "serverVersion": {"gitVersion": version}}


def rows(*documents: Json, unanswered: Any = (), **fields: Any) -> dict[str, Row]:
    return {row.name: row for row in compare(documents, requirements(**fields), dict(unanswered))}


@pytest.mark.parametrize(
    ("image", "version"),
    [
        (f"{JOBSET}:v0.12.0", "v0.12.0"),
        ("mirror.example.com:5000/a/jobset/jobset:v0.12.1-gke.3", "v0.12.1-gke.3"),
        (f"{JOBSET}:v0.12.0@sha256:{'a' * 64}", "v0.12.0"),
        (f"{JOBSET}@sha256:{'a' * 64}", ""),
        (f"{JOBSET}:main", ""),
        ("localhost:5000/jobset/jobset", ""),
    ],
)
def test_a_version_is_the_tag_of_the_controllers_image(image: str, version: str) -> None:
    assert components([deployment(image)])["JobSet"].version == version


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("ghcr.io/kubeflow/trainer/trainer-controller-manager:v2.3.0", "Trainer"),
        ("registry.k8s.io/kueue/kueue:v0.19.2", "Kueue"),
        ("registry.k8s.io/scheduler-plugins/kube-scheduler:v0.33.5", "coscheduling"),
        ("docker.io/volcanosh/vc-scheduler:v1.14.0", "Volcano"),
    ],
)
def test_every_component_is_known_by_its_image(image: str, name: str) -> None:
    (found,) = components([deployment(image)]).values()
    assert (found.name, found.version) == (name, image.rpartition(":")[2])


@pytest.mark.parametrize("image", ["registry.k8s.io/kube-scheduler:v1.36.2", "x/my-jobset/jobsets:v1.0", "", "kueue"])
def test_images_of_others_are_left_alone(image: str) -> None:
    assert components([deployment(image)]) == {}


@pytest.mark.parametrize(
    ("fields", "minor"),
    [
        (("spec.replicatedJobs",), "0.8"),
        (("spec.replicatedJobs.groupName",), "0.10"),
        (("spec.replicatedJobs.groupName", "spec.volumeClaimPolicies"), "0.11"),
        (("spec.replicatedJobs.template.spec.template.spec.schedulingGroup",), "0.12"),
        (("spec.something",), ""),
    ],
)
def test_without_an_image_the_fields_of_its_definition_tell_the_minor(fields: tuple[str, ...], minor: str) -> None:
    assert components([definition("jobsets.jobset.x-k8s.io", *fields)])["JobSet"].minor == minor


def test_a_field_of_a_list_is_one_of_its_items() -> None:
    crd = definition("jobsets.jobset.x-k8s.io", "spec")
    jobs = {"type": "array", "items": {"type": "object", "properties": {"groupName": {"type": "string"}}}}
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = {
        "properties": {"replicatedJobs": jobs}
    }
    assert components([crd])["JobSet"].minor == "0.10"


def test_kubernetes_is_its_server_and_else_its_oldest_node() -> None:
    nodes = [
        {"kind": "Node", "status": {"nodeInfo": {"kubeletVersion": version}}} for version in ("v1.10.1", "v1.9.3", 7)
    ]
    assert kubernetes([*nodes, server("v1.36.2")]) == kubernetes([server("v1.36.2")])
    oldest = kubernetes(nodes)
    assert oldest is not None
    assert oldest.version == "v1.9.3"
    assert kubernetes([]) is None


@pytest.mark.parametrize(
    ("version", "status", "word"),
    [
        ("v1.31.9", "differs", "not tested"),
        ("v1.32.0", "OK", ""),
        ("v1.35.4+k3s1", "OK", ""),
        ("v1.36.2", "OK", "newer"),
    ],
)
def test_kubernetes_is_as_old_as_trainers_tests_at_least(version: str, status: str, word: str) -> None:
    row = rows(server(version))["Kubernetes"]
    assert (row.status, word in row.hint) == (status, True)
    assert rows()["Kubernetes"].status == "unknown"


@pytest.mark.parametrize(
    ("version", "status", "hint"),
    [
        ("v1.35.2", "OK", ""),
        ("v1.34.9", "differs", "compile with --kubernetes 1.34"),
        ("v1.36.0", "OK", "compile with --kubernetes 1.36"),
    ],
)
def test_kubernetes_is_the_minor_that_jobs_are_compiled_for(version: str, status: str, hint: str) -> None:
    row = rows(server(version), meant="1.35")["Kubernetes"]
    assert (row.expected, row.status, row.hint) == ("1.35", status, hint)


@pytest.mark.parametrize(
    ("release", "version", "status", "hint"),
    [
        ("2.3", "v0.12.0", "OK", ""),
        ("2.2", "v0.12.0", "OK", "newer, which usually works; --release 2.3 uses it"),
        ("2.3", "v0.13.0", "OK", "newer, which usually works"),
        ("2.3", "v0.11.1", "differs", "compile with --release 2.2, which uses it, or install JobSet 0.12"),
        ("2.3", "v0.9.1", "differs", "install JobSet 0.12"),
    ],
)
def test_jobset_is_the_minor_that_goes_with_the_release(release: str, version: str, status: str, hint: str) -> None:
    row = rows(deployment(f"{JOBSET}:{version}"), release=release)["JobSet"]
    assert (row.status, row.hint, row.is_fine) == (status, hint, status == "OK")


def test_without_jobset_nothing_runs() -> None:
    row = rows(deployment("nginx:1"))["JobSet"]
    assert (row.status, row.is_fine) == ("not found", False)


def test_what_no_job_needs_may_be_missing() -> None:
    found = rows(deployment(f"{JOBSET}:v0.12.0"), server("v1.35.0"))
    assert [name for name, row in found.items() if row.status == "not found"] == [
        "Trainer",
        "Kueue",
        "coscheduling",
        "Volcano",
    ]
    assert all(row.is_fine for row in found.values())


@pytest.mark.parametrize(("group", "name"), [(COSCHEDULING, "coscheduling"), (VOLCANO, "Volcano")])
def test_the_scheduler_of_a_gang_has_to_be_there(group: str, name: str) -> None:
    missing = rows(deployment("nginx:1"), gangs=frozenset({group}))[name]
    assert (missing.status, missing.is_fine) == ("not found", False)
    image = {
        COSCHEDULING: "registry.k8s.io/scheduler-plugins/kube-scheduler:v0.33.5",
        VOLCANO: "volcanosh/vc-scheduler:v1.14.0",
    }
    assert rows(deployment(image[group]), gangs=frozenset({group}))[name].status == "OK"


@pytest.mark.parametrize(("group", "name"), [(COSCHEDULING, "coscheduling"), (VOLCANO, "Volcano")])
def test_the_definition_of_a_pod_group_schedules_nothing(group: str, name: str) -> None:
    other = deployment(f"{JOBSET}:v0.12.0")
    row = rows(definition(f"podgroups.{group}"), other, gangs=frozenset({group}))[name]
    assert (row.status, row.is_fine) == ("not running", False)
    unlisted = rows(definition(f"podgroups.{group}"), gangs=frozenset({group}))[name]
    assert (unlisted.status, unlisted.is_fine) == ("unknown", True)


def test_the_scheduler_of_a_gang_counts_and_not_its_controller() -> None:
    controller = deployment("registry.k8s.io/scheduler-plugins/controller:v0.33.5")
    scheduler = deployment("registry.k8s.io/scheduler-plugins/kube-scheduler:v0.33.5", "y", available=None)
    assert rows(controller, gangs=frozenset({COSCHEDULING}))["coscheduling"].status == "OK"
    assert rows(controller, scheduler, gangs=frozenset({COSCHEDULING}))["coscheduling"].status == "not running"


@pytest.mark.parametrize(
    ("documents", "status", "word"),
    [
        pytest.param([deployment(f"{JOBSET}:v0.12.0")], "OK", "", id="a replica is available"),
        pytest.param([deployment(f"{JOBSET}:v0.12.0", available=None)], "not running", "0 of 1", id="none is"),
        pytest.param(
            [deployment(f"{JOBSET}:v0.12.0", replicas=0)], "not running", "scaled to 0", id="none is asked for"
        ),
        pytest.param(
            [definition("jobsets.jobset.x-k8s.io"), deployment("nginx:1")],
            "not running",
            "install it",
            id="only defined",
        ),
        pytest.param(
            [{"kind": "Deployment", "spec": deployment(f"{JOBSET}:v0.12.0")["spec"]}], "OK", "", id="no status, by hand"
        ),
    ],
)
def test_a_component_runs_if_a_replica_of_it_does(documents: list[Json], status: str, word: str) -> None:
    row = rows(*documents)["JobSet"]
    assert (row.status, row.is_fine) == (status, status == "OK")
    assert word in row.hint


def test_a_definition_of_another_minor_differs_even_if_nobody_may_list_deployments() -> None:
    crd = definition("jobsets.jobset.x-k8s.io", "spec.replicatedJobs.groupName")
    assert rows(crd)["JobSet"].status == "differs"
    same = rows(crd, release="2.1")["JobSet"]
    assert (same.actual, same.status, same.is_fine) == ("0.10", "unknown", True)


DIGEST = f"mirror.example.com/manager@sha256:{'a' * 64}"


@pytest.mark.parametrize(
    ("labels", "crd", "version"),
    [
        pytest.param({"app.kubernetes.io/version": "v0.12.1"}, {}, "v0.12.1", id="the label of the Deployment"),
        pytest.param({"helm.sh/chart": "jobset-0.12.1"}, {}, "0.12.1", id="its chart"),
        pytest.param({}, {"app.kubernetes.io/version": "0.11.0"}, "0.11.0", id="the label of the definition"),
        pytest.param({"app.kubernetes.io/version": "latest"}, {}, "0.10", id="the fields of the definition"),
    ],
)
def test_an_image_with_a_digest_alone_has_its_version_from_labels(labels: Json, crd: Json, version: str) -> None:
    controller = deployment(DIGEST, name="jobset-controller-manager")
    controller["metadata"]["labels"] = labels
    defined = definition("jobsets.jobset.x-k8s.io", "spec.replicatedJobs.groupName")
    defined["metadata"]["labels"] = crd
    found = components([controller, defined])["JobSet"]
    assert (found.version, found.runs) == (version, True)


@pytest.mark.parametrize(("versions", "status"), [(("v1beta1",), "OK"), (("v1",), "not found"), (None, "unknown")])
def test_a_workload_needs_the_version_of_its_api(versions: tuple[str, ...] | None, status: str) -> None:
    group = {"kind": "APIGroup", "name": WORKLOADS, "versions": [{"version": v} for v in versions or ()]}
    documents = [group] if versions is not None else []
    assert rows(*documents, gangs=frozenset({WORKLOADS}))["Workload API"].status == status
    assert "Workload API" not in rows(*documents)
    assert serves_workloads([]) is None


@pytest.mark.parametrize(("version", "status"), [("v2.3.0", "OK"), ("v2.2.1", "differs"), ("v3.0.0", "differs")])
def test_trainer_matters_where_its_controller_is_to_run_the_jobs(version: str, status: str) -> None:
    trainer = deployment(f"ghcr.io/kubeflow/trainer/trainer-controller-manager:{version}")
    assert rows(trainer)["Trainer"].is_fine
    row = rows(trainer, uses_trainer=True)["Trainer"]
    assert (row.status, row.is_fine) == (status, status == "OK")
    assert ("--release 2.2" in row.hint) == (version == "v2.2.1")
    assert not rows(uses_trainer=True)["Trainer"].is_fine


def test_queues_that_jobs_name_have_to_be_there() -> None:
    kueue = deployment("registry.k8s.io/kueue/kueue:v0.19.2")
    queue = {"kind": "LocalQueue", "metadata": {"name": "gpus", "namespace": "team-a"}}
    asked = frozenset({("team-a", "gpus"), ("team-a", "gpu"), ("team-b", "x")})
    found = rows(kueue, queue, queues=asked)
    assert "LocalQueue team-a/gpus" not in found
    assert found["LocalQueue team-a/gpu"].hint == "team-a has gpus"
    assert found["LocalQueue team-b/x"].hint == "create it, or use another queue"
    assert not found["LocalQueue team-b/x"].is_fine
    assert not rows(queues=asked)["Kueue"].is_fine
    unasked = rows(kueue, queues=asked, unanswered={"local queues": "Forbidden"})
    assert not any(name.startswith("LocalQueue") for name in unasked)


def test_another_minor_of_kueue_is_told_and_fails_nothing() -> None:
    row = rows(deployment("registry.k8s.io/kueue/kueue:v0.17.0"), queues=frozenset({("a", "b")}))["Kueue"]
    assert (row.status, row.is_fine) == ("differs", True)


def test_what_may_not_be_listed_is_not_known_to_be_missing() -> None:
    forbidden = {"custom resource definitions": "Forbidden", "deployments": "Forbidden"}
    found = {row.name: row for row in compare([server("v1.35.0")], requirements(), forbidden, live=True)}
    assert found["JobSet"].status == "unknown"
    assert [row.name for row in found.values() if not row.is_fine] == ["JobSet"]


def test_text_and_json_say_the_same() -> None:
    documents = [deployment(f"{JOBSET}:v0.11.1"), server("v1.35.0")]
    unanswered = {"deployments": "Forbidden"}
    found = compare(documents, requirements(), unanswered)
    text = text_of(found, unanswered)
    form = json_of(found, requirements(), unanswered)
    assert (form["version"], form["release"], form["unanswered"]) == (1, "2.3", unanswered)
    for line, component in zip(text.splitlines()[1:], form["components"], strict=False):
        assert [component[key] in line for key in ("name", "wanted", "found", "status", "hint")] == [True] * 5
    assert "no answer: deployments: Forbidden" in text


@cases("document")
def test_documents_of_another_shape_are_passed_over(document: Json) -> None:
    assert compare([document], requirements(gangs=frozenset({WORKLOADS}), queues=frozenset({("a", "b")})), {})


@pytest.mark.parametrize(("available", "fine"), [(None, False), (1, True)])
def test_kueue_that_is_installed_and_down_lets_nobody_create_a_jobset(available: int | None, fine: bool) -> None:
    row = rows(deployment("registry.k8s.io/kueue/kueue:v0.19.2", available=available))["Kueue"]
    assert row.is_fine is fine
    assert ("its webhook" in row.hint) is not fine


def test_kueue_that_is_only_defined_has_no_webhook() -> None:
    row = rows(definition("localqueues.kueue.x-k8s.io"), deployment("nginx:1"))["Kueue"]
    assert (row.status, row.is_fine) == ("not running", True)
