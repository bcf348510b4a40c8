"""v1 jobs inside other documents: in AppWrappers and Experiments they are migrated, elsewhere they are named."""

from __future__ import annotations

from typing import Any

import pytest
from tables import cases
from v1_jobs import ONE, v1

from trainc import CompileError, Options, compile_trainjob, migrate
from trainc.features.migration.v1.migrate import Migration, migrate_text
from trainc.options import Limits
from trainc.reading.yaml_reader import read_value

Document = dict[str, Any]
PYTORCH = v1(
    Master={**ONE, "resources": {"limits": {"cpu": 2}}}, Worker={"replicas": 2, "resources": {"limits": {"cpu": 2}}}
)
UNEQUAL = v1(Master=ONE, Worker={"replicas": 3, "workingDir": "/w"})
MPI = v1("MPIJob", Launcher={"command": ["mpirun", "x"]}, Worker={"replicas": 2})


def wrapper(*templates: Document, **component: Any) -> Document:
    components = [{**component, "template": template} for template in templates]
    head = {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper"}
    return {**head, "metadata": {"name": "w", "namespace": "a"}, "spec": {"components": components}}


def experiment(job: Document, **template: Any) -> Document:
    trial = {"apiVersion": job["apiVersion"], "kind": job["kind"], "spec": job["spec"]}
    head = {"apiVersion": "kubeflow.org/v1beta1", "kind": "Experiment", "metadata": {"name": "tune", "namespace": "a"}}
    return {**head, "spec": {"trialTemplate": {"trialParameters": [], **template, "trialSpec": trial}}}


def components(result: Migration) -> list[Document]:
    (document,) = result.documents
    found: list[Document] = document["spec"]["components"]
    return found


def said(result: Migration, code: str = "CannotMigrate") -> dict[str, str]:
    return {d.path: d.message for d in result.diagnostics if d.code == code}


@pytest.mark.parametrize(
    ("job", "pods"),
    [(PYTORCH, [3]), (UNEQUAL, [1, 3]), (MPI, [1, 2])],
    ids=["equal roles", "unequal roles", "MPI"],
)
def test_an_appwrapper_has_the_runtime_with_its_pods_and_then_the_trainjob(job: Document, pods: list[int]) -> None:
    runtime, trainjob = components(migrate([wrapper(job, annotations={"a": "b"}, podSets=[{"path": "template.spec"}])]))
    assert trainjob.pop("annotations") == {"a": "b"}
    assert (list(trainjob), trainjob["template"]["kind"]) == (["template"], "TrainJob")
    assert [each["replicas"] for each in runtime["podSets"]] == pods
    for each in runtime["podSets"]:
        found: Any = runtime
        for step in each["path"].replace("]", "").replace("[", ".").split("."):
            found = found[int(step) if step.isdigit() else step]
        assert found["spec"]["containers"]
    assert runtime["template"]["kind"] == "TrainingRuntime"


def test_what_kueue_counts_of_an_appwrapper_stands_in_the_pod_template() -> None:
    runtime, trainjob = components(migrate([wrapper(PYTORCH)]))
    (job,) = runtime["template"]["spec"]["template"]["spec"]["replicatedJobs"]
    (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
    assert (
        container["resources"] == trainjob["template"]["spec"]["trainer"]["resourcesPerNode"] == {"limits": {"cpu": 2}}
    )


def test_other_components_stay_where_they_are() -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    kinds = [each["template"]["kind"] for each in components(migrate([wrapper(other, PYTORCH, other)]))]
    assert kinds == ["ConfigMap", "TrainingRuntime", "TrainJob", "ConfigMap"]
    assert migrate([wrapper(other)]).documents == [wrapper(other)]


def test_of_an_appwrapper_all_jobs_are_migrated_or_none() -> None:
    with pytest.raises(CompileError) as refused:
        migrate([wrapper(PYTORCH, v1(Master={}))])
    paths = {d.path for d in refused.value.diagnostics if d.severity == "error"}
    assert paths == {"spec.components[1].template.spec.pytorchReplicaSpecs.Master.replicas"}


@pytest.mark.parametrize("job", [PYTORCH, v1("JAXJob", Worker={"replicas": 3}), v1("TFJob", Worker={"replicas": 3})])
def test_the_pods_of_a_trial_meet_under_whatever_name_katib_gives_it(job: Document) -> None:
    tuned, runtime = migrate([experiment(job)]).documents
    trial = tuned["spec"]["trialTemplate"]["trialSpec"]
    assert "name" not in trial.get("metadata", {})
    trial = {**trial, "metadata": {"name": "tune-x7k2p9qd", "namespace": "a"}}
    (built,) = (
        m for m in compile_trainjob(trial, [runtime], Options(release="2.3")).manifests if m["kind"] == "JobSet"
    )
    (replicated,) = built["spec"]["replicatedJobs"]
    (container,) = replicated["template"]["spec"]["template"]["spec"]["containers"]
    label = container["env"][0]
    assert label["name"] == "JOBSET_NAME"
    assert label["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.labels['jobset.sigs.k8s.io/jobset-name']"
    assert "$(JOBSET_NAME)-node-0-0.$(JOBSET_NAME)" in str(container["env"][1:])


@pytest.mark.parametrize(
    ("job", "given", "labels", "container"),
    [
        (PYTORCH, {}, {"replicatedjob-name": "node", "job-completion-index": "0"}, "node"),
        (UNEQUAL, {}, {"replicatedjob-name": "master"}, "node"),
        (PYTORCH, {"job-role": "master"}, {"replicatedjob-name": "node", "job-completion-index": "0"}, "node"),
        (MPI, {"training.kubeflow.org/job-role": "launcher"}, {"replicatedjob-name": "launcher"}, "node"),
        (MPI, {}, {"replicatedjob-name": "launcher", "job-completion-index": "0"}, "node"),
        (PYTORCH, {"app": "mine"}, {"app": "mine"}, "node"),
        (UNEQUAL, {"app": "mine", "job-role": "master"}, {"app": "mine", "replicatedjob-name": "master"}, "node"),
        (UNEQUAL, {"training.kubeflow.org/replica-type": "worker"}, {"replicatedjob-name": "worker"}, "pytorch"),
    ],
)
def test_katib_reads_the_metrics_of_the_pod_that_it_read(
    job: Document, given: Document, labels: Document, container: str
) -> None:
    name = "mpi" if job is MPI else "pytorch"
    chosen = {"primaryPodLabels": given} if given else {}
    tuned, *_ = migrate([experiment(job, primaryContainerName=name, **chosen)]).documents
    template = tuned["spec"]["trialTemplate"]
    assert {key.rpartition("/")[2]: value for key, value in template["primaryPodLabels"].items()} == labels
    assert template["primaryContainerName"] == container
    assert (template["retain"], template["successCondition"]) == (
        True,
        'status.conditions.#(type=="Complete")#|#(status=="True")#',
    )


def test_a_parameter_in_a_runtime_is_refused_because_katib_fills_in_jobs_alone() -> None:
    word = {"command": ["python", "--lr=${trialParameters.lr}"]}
    with pytest.raises(CompileError, match="Katib fills in no parameters") as refused:
        migrate([experiment(v1(Master={**ONE, **word}, Worker={**word, "workingDir": "/w"}))])
    assert [d.path for d in refused.value.diagnostics if d.severity == "error"] == ["spec.trialTemplate.trialSpec"]
    assert len(migrate([experiment(v1(Master={**ONE, **word}, Worker=word))]).documents) == 2


def test_the_name_of_an_experiment_leaves_room_for_those_of_its_trials() -> None:
    long = experiment(PYTORCH)
    long["metadata"] = {"name": "a" * 43, "namespace": "a"}
    with pytest.raises(CompileError, match=r"1 characters too long(?s:.)*creates these jobs 1 characters shorter"):
        migrate([long])
    long["metadata"] = {"name": "a" * 42, "namespace": "a"}
    assert len(migrate([long]).documents) == 2


def test_an_mpijob_as_a_trial_names_no_host_of_its_own() -> None:
    _, runtime = migrate([experiment(MPI)]).documents
    assert "JOBSET_NAME" not in str(runtime)
    assert "dnsConfig" not in str(runtime)


def test_an_mpijob_with_a_hostfile_of_its_own_cannot_be_a_trial() -> None:
    job = v1("MPIJob", Launcher={}, Worker={"replicas": 2})
    job["spec"]["mpiImplementation"] = "Intel"
    with pytest.raises(CompileError, match="needs a ConfigMap with its hosts"):
        migrate([experiment(job)])


def test_experiments_with_equal_jobs_share_a_runtime() -> None:
    other = experiment(PYTORCH)
    other["metadata"] = {"name": "again", "namespace": "a"}
    made = migrate([experiment(PYTORCH), other]).documents
    assert [document["kind"] for document in made] == ["Experiment", "TrainingRuntime", "Experiment"]
    assert made[2]["spec"]["trialTemplate"]["trialSpec"]["spec"]["runtimeRef"]["name"] == "tune"


@cases("document", "path")
def test_a_job_in_any_other_place_stays_and_is_named_with_its_path(document: Document, path: str) -> None:
    with pytest.raises(CompileError) as refused:
        migrate([document])
    assert [(d.code, d.path) for d in refused.value.diagnostics] == [("CannotMigrate", path)]
    assert "trainc migrate" in refused.value.diagnostics[0].hint


@cases("document")
def test_what_only_mentions_v1_is_left_alone(document: Document) -> None:
    assert migrate([document]) == Migration([document], [])


@pytest.mark.parametrize(
    ("version", "kind", "hint"),
    [
        ("kubeflow.org/v1", "MXJob", "port the program"),
        ("xgboostjob.kubeflow.org/v1alpha1", "XGBoostJob", "apiVersion: kubeflow.org/v1"),
        ("batch.paddlepaddle.org/v1", "PaddleJob", "paddleReplicaSpecs"),
        ("kubeflow.org/v1beta2", "PyTorchJob", "apiVersion: kubeflow.org/v1"),
    ],
)
def test_the_jobs_of_older_operators_are_named_with_what_to_do(version: str, kind: str, hint: str) -> None:
    with pytest.raises(CompileError) as refused:
        migrate([{"apiVersion": version, "kind": kind, "metadata": {"name": "j"}, "spec": {}}])
    ((code, found),) = ((d.code, d.hint) for d in refused.value.diagnostics)
    assert code == "CannotMigrate"
    assert hint in found


def test_the_text_of_an_experiment_keeps_its_comments() -> None:
    text = """\
apiVersion: kubeflow.org/v1beta1
kind: Experiment
metadata: {name: tune, namespace: a}
spec:
  trialTemplate:
    primaryContainerName: jax # the one that prints
    trialParameters: []
    trialSpec: # one trial
      apiVersion: kubeflow.org/v1
      kind: JAXJob
      spec:
        jaxReplicaSpecs:
          Worker:
            replicas: 2
            template:
              spec:
                containers:
                - name: jax
                  image: example.com/jax:1 # pinned
                  command: [python3, t.py] # what runs
"""
    result = migrate_text(text, "tune.yaml", Limits()).text
    assert [result.count(comment) for comment in ("# the one that prints", "# one trial", "# what runs")] == [1, 1, 1]
    assert "primaryContainerName: node # the one that prints\n" in result
    assert "command: [python3, t.py] # what runs\n" in result
    experiment, runtime = result.split("---\n")
    assert read_value(experiment)["spec"]["trialTemplate"]["trialSpec"]["kind"] == "TrainJob"
    assert read_value(runtime)["metadata"] == {"name": "tune", "namespace": "a"}
    assert migrate_text(result, "tune.yaml", Limits()).text == result
