"""The rules by which a v1 job becomes a TrainJob, one sentence each."""

from __future__ import annotations

from typing import Any

import pytest
from tables import cases
from v1_jobs import ONE, Job, v1

from trainc import CompileError, migrate


def runtime(job: Job) -> Job:
    (found,) = (d for d in migrate([job]).documents if d["kind"] == "TrainingRuntime")
    return found


def jobs(job: Job) -> dict[str, Job]:
    return {j["name"]: j for j in runtime(job)["spec"]["template"]["spec"]["replicatedJobs"]}


def pod(job: Job, name: str = "node") -> Job:
    spec: Job = jobs(job)[name]["template"]["spec"]["template"]["spec"]
    return spec


def variables(job: Job) -> dict[str, Any]:
    (found,) = (d for d in migrate([job]).documents if d["kind"] == "TrainJob")
    return {v["name"]: v.get("value") for v in found["spec"]["trainer"]["env"]}


def codes(job: Job) -> set[str]:
    return {d.code for d in migrate([job]).diagnostics}


@pytest.mark.parametrize(
    ("job", "where"),
    [
        (v1(Master={}), "spec.pytorchReplicaSpecs.Master.replicas"),
        (v1(master=ONE), "spec.pytorchReplicaSpecs.master"),
        (v1(Worker={"replicas": 0}), "spec.pytorchReplicaSpecs.Worker.replicas"),
        (v1(Worker={"image": ""}), "spec.pytorchReplicaSpecs.Worker.template.spec.containers[0].image"),
        (v1(Worker={"name": "main"}), "spec.pytorchReplicaSpecs.Worker.template.spec.containers"),
        (v1(Worker={}, policy={"managedBy": "me"}), "spec.runPolicy.managedBy"),
        (v1(Worker={}, name="My_Job"), "metadata.name"),
        (v1("XGBoostJob", Worker={}), "spec.xgbReplicaSpecs"),
        (v1("JAXJob", Master=ONE), "spec.jaxReplicaSpecs.Master"),
        (v1("TFJob", Chief={}, Master={}), "spec.tfReplicaSpecs"),
        (v1("MPIJob", Worker={"replicas": 2}), "spec.mpiReplicaSpecs"),
        (v1("MPIJob", Launcher={}, Worker={}), "spec.mpiReplicaSpecs.Worker.replicas"),
        (v1("MPIJob", Launcher={"restartPolicy": "Always"}), "spec.mpiReplicaSpecs.Launcher.restartPolicy"),
        (v1(Worker={"replicas": "2"}), "spec.pytorchReplicaSpecs.Worker.replicas"),
    ],
)
def test_what_v1_refuses_is_refused_at_its_place(job: Job, where: str) -> None:
    with pytest.raises(CompileError) as refused:
        migrate([job])
    assert where in {d.path for d in refused.value.diagnostics if d.code == "InvalidTrainingJob"}


def test_of_pods_that_v1_let_finish_it_is_told_that_they_are_stopped() -> None:
    workers = {"replicas": 2}
    reported = [d.path for d in migrate([v1(Master=ONE, Worker=workers)]).diagnostics]
    assert reported == ["spec.runPolicy.cleanPodPolicy"]
    cleaned = v1(policy={"cleanPodPolicy": "Running"}, Master=ONE, Worker=workers)
    assert "let them finish" not in str(migrate([cleaned]).diagnostics)
    assert migrate([v1(Worker={"replicas": 2})]).diagnostics == []


def test_jaxjob_alone_does_not_look_at_who_manages_it() -> None:
    assert migrate([v1("JAXJob", Worker={}, policy={"managedBy": "me"})]).documents


def test_tfjob_alone_takes_roles_in_any_case() -> None:
    assert set(jobs(v1("TFJob", chief={}, WORKER={"replicas": 2}))) == {"chief", "worker"}


@pytest.mark.parametrize(
    ("restart", "policy", "pods", "limit"),
    [
        ("Never", {}, "Never", 0),
        ("Never", {"backoffLimit": 3}, "Never", 0),
        ("OnFailure", {}, "OnFailure", 2_147_483_647),
        ("OnFailure", {"backoffLimit": 3}, "OnFailure", 3),
        ("Always", {}, "OnFailure", 2_147_483_647),
        ("ExitCode", {"backoffLimit": 0}, "Never", 0),
    ],
)
def test_a_restart_policy_keeps_its_meaning(restart: str, policy: Job, pods: str, limit: int) -> None:
    job = v1("JAXJob", policy=policy, Worker={"replicas": 2, "restartPolicy": restart})
    assert pod(job)["restartPolicy"] == pods
    assert jobs(job)["node"]["template"]["spec"]["backoffLimit"] == limit
    assert ("podFailurePolicy" in jobs(job)["node"]["template"]["spec"]) == (restart == "ExitCode")
    assert ("MigrationDiffers" in codes(job)) == (restart == "Always")


@pytest.mark.parametrize("field", ["finalizers", "ownerReferences"])
def test_metadata_that_the_new_job_does_not_have_is_said(field: str) -> None:
    job = v1(Master=ONE)
    job["metadata"][field] = [{"kind": "Workflow", "name": "w"}] if field == "ownerReferences" else ["example.com/a"]
    assert [d.path for d in migrate([job]).diagnostics if d.code == "MigrationDiffers"] == [f"metadata.{field}"]
    job["metadata"][field] = []
    assert migrate([job]).diagnostics == []


@pytest.mark.parametrize(
    ("job", "targets", "first"),
    [
        (v1(Master=ONE, Worker={"replicas": 2}), None, True),
        (v1(Master=ONE, Worker={"replicas": 2, "workingDir": "/w"}), ["master"], False),
        (v1(Worker={"replicas": 2}), None, False),
        (v1("TFJob", Worker={"replicas": 2}), None, True),
        (v1("TFJob", PS={}, Worker={"replicas": 2}), ["worker"], True),
        (v1("TFJob", Chief={}, Worker={"replicas": 2}), ["chief"], False),
        (v1("JAXJob", Worker={"replicas": 2}), None, False),
        (v1("MPIJob", Launcher={}, Worker={"replicas": 2}), ["launcher"], False),
    ],
)
def test_a_job_ends_with_whom_it_ended(job: Job, targets: list[str] | None, first: bool) -> None:
    spec = runtime(job)["spec"]["template"]["spec"]
    assert spec.get("successPolicy", {}).get("targetReplicatedJobs") == targets
    assert any("successPolicy" in j["template"]["spec"] for j in spec["replicatedJobs"]) == first


@cases("text", "becomes")
def test_an_address_of_a_pod_is_renamed_and_nothing_else(text: str, becomes: str) -> None:
    env = [{"name": "JOB", "value": "llm"}, {"name": "HOST", "value": "llm-master-0"}, {"name": "X", "value": text}]
    job = v1(Master={**ONE, "env": env}, Worker={"replicas": 2, "env": env})
    assert variables(job)["X"] == becomes
    assert variables(job)["HOST"] == "llm-node-0-0.llm"


def test_of_two_variables_of_one_name_the_operators_wins_and_references_keep_what_they_saw() -> None:
    env = [{"name": "WORLD_SIZE", "value": "7"}, {"name": "SAW", "value": "$(WORLD_SIZE) $(RANK)"}]
    found = variables(v1(Master={**ONE, "env": env}, Worker={**ONE, "env": env}))
    assert (found["WORLD_SIZE"], found["SAW"]) == ("2", "7 $(RANK)")


@cases("labels", "becomes")
def test_a_selector_of_v1s_labels_selects_the_same_pods(labels: Job, becomes: Job) -> None:
    selector = {"matchLabels": {f"training.kubeflow.org/{name}": value for name, value in labels.items()}}
    spread = [{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}]
    role = {"pod": {"topologySpreadConstraints": spread}}
    job = v1(Master={**ONE, **role}, Worker={"replicas": 2, **role})
    assert pod(job)["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"] == becomes


def test_pods_that_are_told_apart_by_a_label_stand_in_jobs_of_their_own() -> None:
    env = [
        {
            "name": "I",
            "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['training.kubeflow.org/replica-index']"}},
        }
    ]
    job = v1(Master={**ONE, "env": env}, Worker={"replicas": 3, "env": env})
    assert {name: j.get("replicas", 1) for name, j in jobs(job).items()} == {"master": 1, "worker": 3}
    assert pod(job, "worker")["containers"][0]["env"][0]["valueFrom"]["fieldRef"]["fieldPath"] == (
        "metadata.labels['jobset.sigs.k8s.io/job-index']"
    )


def test_a_variable_that_only_one_of_several_alike_pods_had_is_refused_at_its_place() -> None:
    field = {"fieldPath": "metadata.labels['training.kubeflow.org/job-role']"}
    env = [{"name": "ROLE", "valueFrom": {"fieldRef": field}}]
    with pytest.raises(CompileError, match="only the first pod has"):
        migrate([v1(Worker={"replicas": 2, "env": env})])
    assert migrate([v1(Worker={"replicas": 1, "env": env})]).documents


def test_rank_0_of_a_paddlejob_serves_on_its_own_ip() -> None:
    found = jobs(v1("PaddleJob", Worker={"replicas": 3}))
    masters = {
        name: [
            v["value"]
            for v in j["template"]["spec"]["template"]["spec"]["containers"][0]["env"]
            if v["name"] == "PADDLE_MASTER"
        ]
        for name, j in found.items()
    }
    assert masters == {"worker": ["$(POD_IP_DUMMY):36543"], "worker-rest": ["llm-worker-0-0.llm:36543"]}


def test_a_long_name_gets_short_jobs_and_one_that_is_too_long_is_refused() -> None:
    assert set(jobs(v1(Worker={"replicas": 2}, name="a" * 51))) == {"n"}
    with pytest.raises(CompileError, match="1 characters too long"):
        migrate([v1(Worker={"replicas": 2}, name="a" * 52)])


@pytest.mark.parametrize(
    ("name", "shorter"),
    [
        ("a" * 52, "a" * 51),
        (f"{'a' * 40}-{'b' * 20}", f"{'a' * 40}"),
        (f"a-{'b' * 60}", f"a-{'b' * 49}"),
        (f"{'a' * 50}-bb", "a" * 50),
    ],
)
def test_a_name_that_is_too_long_comes_with_one_that_is_not(name: str, shorter: str) -> None:
    with pytest.raises(CompileError, match=f"call the job {shorter}, or"):
        migrate([v1(Worker={"replicas": 2}, name=name)])
    assert migrate([v1(Worker={"replicas": 2}, name=shorter)]).documents


def test_an_elastic_job_ends_with_any_of_its_workers_and_with_its_master_if_it_has_one() -> None:
    workers = v1(Worker={"replicas": 3})
    workers["spec"]["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": 3}
    assert jobs(workers)["node"]["template"]["spec"]["successPolicy"] == {"rules": [{"succeededCount": 1}]}
    both = v1(Master=ONE, Worker={"replicas": 3})
    both["spec"]["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": 3}
    assert jobs(both)["node"]["template"]["spec"]["successPolicy"] == {"rules": [{"succeededIndexes": "0"}]}
    assert "successPolicy" not in jobs(v1(Worker={"replicas": 3}))["node"]["template"]["spec"]


def test_a_field_that_older_operators_read_in_spec_is_not_said_to_be_unknown_to_them() -> None:
    job = v1(Worker={})
    job["spec"] |= {"cleanPodPolicy": "All", "shutdownPolicy": "Never"}
    found = {d.path: f"{d.message}; {d.hint}" for d in migrate([job]).diagnostics if d.code == "FieldNotMigrated"}
    assert "until version 1.0" in found["spec.cleanPodPolicy"]
    assert "spec.runPolicy.cleanPodPolicy" in found["spec.cleanPodPolicy"]
    assert "v1 has no field shutdownPolicy" in found["spec.shutdownPolicy"]


def test_a_generated_name_is_refused_with_one_to_write() -> None:
    job = v1(Worker={})
    job["metadata"] = {"generateName": "llm-"}
    with pytest.raises(CompileError, match=r"generateName.*\n.*`name: llm-1`"):
        migrate([job])


def test_fractions_of_resources_are_written_as_the_api_server_takes_them() -> None:
    amounts = {"requests": {"cpu": 0.5, "memory": "1Gi"}, "limits": {"cpu": 1}}
    result = migrate([v1(Worker={"resources": amounts})])
    assert result.documents[0]["spec"]["trainer"]["resourcesPerNode"] == {
        "requests": {"cpu": "500m", "memory": "1Gi"},
        "limits": {"cpu": 1},
    }
    where = "spec.pytorchReplicaSpecs.Worker.template.spec.containers[0].resources.requests.cpu"
    assert [(d.code, d.path) for d in result.diagnostics] == [("MigrationChanges", where)]
    assert migrate([v1(Worker={"resources": {"limits": {"cpu": 1}}})]).diagnostics == []


@pytest.mark.parametrize("kind", ["TFJob", "PaddleJob", "JAXJob"])
def test_a_job_without_any_pod_cannot_be_migrated(kind: str) -> None:
    with pytest.raises(CompileError, match=r"CannotMigrate.*has no pods"):
        migrate([v1(kind, Worker={"replicas": 0})])


@pytest.mark.parametrize(
    ("job", "groups"),
    [
        (v1("TFJob", PS={"replicas": 0}, Worker={"replicas": 2}), {"node": 2}),
        (v1("XGBoostJob", Master=ONE, Worker={"replicas": 0}), {"node": 1}),
        (v1("PaddleJob", Master={"replicas": 0}, Worker={"replicas": 2}), {"worker": 1, "worker-rest": 1}),
    ],
)
def test_a_role_of_no_replicas_gets_no_pod(job: Job, groups: Job) -> None:
    (trainjob,) = (d for d in migrate([job]).documents if d["kind"] == "TrainJob")
    counted = {name: j.get("replicas", 1) for name, j in jobs(job).items()}
    first = next(iter(counted))
    assert {**counted, first: trainjob["spec"]["trainer"]["numNodes"]} == groups


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (v1("PaddleJob", Worker={"replicas": 3}), "numNodes counts the pods of worker alone, 1 of 3"),
        (v1("XGBoostJob", Master=ONE, Worker={"replicas": 2}), "WORLD_SIZE and WORKER_ADDRS are written for 3 pods"),
        (
            v1("XGBoostJob", Master=ONE, Worker={"replicas": 2, "workingDir": "/w"}),
            "numNodes counts the pods of master",
        ),
        (v1("TFJob", PS={}, Worker={"replicas": 2}), "numNodes counts the pods of worker alone, 2 of 3"),
        (v1("PaddleJob", Worker={}), None),
        (v1("XGBoostJob", Master=ONE), None),
        (v1("MPIJob", Launcher={}, Worker={"replicas": 2}), None),
    ],
)
def test_it_is_said_where_the_number_of_nodes_is_not_that_of_all_pods(job: Job, said: str | None) -> None:
    found = [d.message for d in migrate([job]).diagnostics if "numNodes" in d.message]
    assert [message.startswith(said or "") for message in found] == ([True] if said else [])


def test_a_container_whose_name_was_its_authors_choice_is_said_to_be_renamed() -> None:
    job = v1("MPIJob", Launcher={"name": "mpi-launcher"}, Worker={"replicas": 2, "name": "node"})
    assert [d.message for d in migrate([job]).diagnostics] == ["the container mpi-launcher is now called node"]


def test_the_input_is_never_changed() -> None:
    job = v1(Master=ONE, Worker={"replicas": 2})
    before = repr(job)
    migrate([job])
    assert repr(job) == before


def test_one_job_that_cannot_be_migrated_stays_with_those_that_can() -> None:
    result = migrate([v1(Master={}), v1(Worker={}, name="other")])
    assert [d["kind"] for d in result.documents] == ["PyTorchJob", "TrainJob", "TrainingRuntime"]
    assert any(d.severity == "error" for d in result.diagnostics)


@pytest.mark.parametrize("choice", [{"into": "nowhere"}, {"variables": "none"}])
def test_an_unknown_choice_is_refused(choice: Job) -> None:
    with pytest.raises(ValueError, match="unknown"):
        migrate([], **choice)
