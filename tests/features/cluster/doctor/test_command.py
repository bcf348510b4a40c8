"""`trainc doctor`: what it asks of kubectl, how long it waits, what it makes of files, and its exit code."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from builders import container, job, runtime, trainjob
from commands import run

from trainc.features.cluster.doctor.command import QUESTIONS, QUEUES

CLUSTER = Path(__file__).parent / "cluster"
ROOT = Path(__file__).parents[4]
JOB = str(ROOT / "tests" / "cases" / "torch-distributed.yaml")
READING = ("get", "version")
GOOD = {
    "version": '{"serverVersion": {"gitVersion": "v1.35.1"}}',
    "--raw=/apis/scheduling.k8s.io": '{"kind": "APIGroup", "name": "scheduling.k8s.io", "versions": []}',
    "localqueues.kueue.x-k8s.io --all-namespaces": '{"kind": "LocalQueueList", "items": []}',
    "namespaces": '{"kind": "Namespace", "metadata": {"name": "team-a"}}',
    "deployments.apps": json.dumps(
        {
            "kind": "DeploymentList",
            "items": [
                {
                    "kind": "Deployment",
                    "spec": {
                        "template": {"spec": {"containers": [{"image": "registry.k8s.io/jobset/jobset:v0.12.0"}]}}
                    },
                }
            ],
        }
    ),
}
Fake = Callable[..., Path]


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """A kubectl on PATH that prints what it is told for the words it is called with, and writes them down."""

    def fake(answers: dict[str, str], fails: str = "", waits: str = "") -> Path:
        folder, calls = tmp_path / "bin", tmp_path / "calls"
        folder.mkdir()
        cases = "".join(f"  *' {word} '*) cat <<'END'\n{text}\nEND\n;;\n" for word, text in answers.items())
        failing = f"case \" $* \" in *' {fails} '*) echo 'Error: {fails} is forbidden' >&2; exit 1;; esac\n" * bool(
            fails
        )
        waiting = f"case \" $* \" in *' {waits} '*) exec sleep 60;; esac\n" * bool(waits)
        script = f'#!/bin/sh\necho "$*" >> {calls}\n{failing}{waiting}case " $* " in\n{cases}  *) ;;\nesac\n'
        program = folder / "kubectl"
        program.write_text(script, encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
        return calls

    return fake


def write_job(folder: Path, **gang: dict[str, str]) -> str:
    """A job of a gang that is bound for a queue."""
    document = trainjob({"numNodes": 2})
    document["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "gpus"}
    node = job(containers=[container(command=["torchrun", "train.py"])])
    rt = runtime(node, policy={"torch": {}}, gang={"coscheduling": gang})
    path = folder / "job.yaml"
    path.write_text(f"{json.dumps(document)}\n---\n{json.dumps(rt)}\n", encoding="utf-8")
    return str(path)


def test_every_call_only_reads_and_is_bounded(kubectl: Fake, tmp_path: Path) -> None:
    calls = kubectl(GOOD)
    result = run(
        "doctor", write_job(tmp_path), "--release", "2.3", "--context", "c", "--kubeconfig", "k", "--timeout", "7"
    )
    lines = calls.read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(QUESTIONS) + len(QUEUES) + 1
    assert lines[-1].endswith(" get namespaces team-a --ignore-not-found --output=json")
    for line in lines:
        words = line.split()
        assert words[:3] == ["--request-timeout=7s", "--context=c", "--kubeconfig=k"]
        assert words[3] in READING
    assert result.status == 1  # Neither coscheduling nor Kueue is there.
    assert "podGroupPolicy" in result.stdout


def test_a_cluster_that_has_everything_is_fine(kubectl: Fake) -> None:
    kubectl(GOOD)
    result = run("doctor", JOB, "--release", "2.3")
    assert (result.status, result.stderr) == (0, "")
    assert "v0.12.0" in result.stdout


def test_queues_are_asked_for_where_a_job_names_one(kubectl: Fake) -> None:
    calls = kubectl(GOOD)
    run("doctor", JOB, "--release", "2.3")
    assert "localqueues" not in [
        word for line in calls.read_text(encoding="utf-8").splitlines() for word in line.split()
    ]


def test_a_question_that_is_refused_is_named(kubectl: Fake) -> None:
    kubectl(GOOD, fails="crd")
    result = run("doctor", JOB, "--release", "2.3")
    assert (result.status, "no answer: custom resource definitions: Error: crd is forbidden" in result.stdout) == (
        0,
        True,
    )


def test_a_cluster_that_does_not_answer_is_an_error(kubectl: Fake) -> None:
    kubectl({}, fails="version")
    result = run("doctor", JOB, "--release", "2.3")
    assert (result.status, result.stdout) == (1, "")
    assert "error[ClusterUnreachable] Error: version is forbidden" in result.stderr


def test_kubectl_is_not_waited_for_longer_than_it_was_told_to(kubectl: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainc.features.cluster.doctor.command._GRACE", -1)
    kubectl(GOOD, waits="version")
    result = run("doctor", JOB, "--release", "2.3", "--timeout", "2")
    assert "no answer within 2 s" in result.stderr


@pytest.mark.parametrize("answer", ["not json", "[" * 100_000, "7"])
def test_an_answer_that_is_none_is_told(kubectl: Fake, answer: str) -> None:
    kubectl({**GOOD, "crd": answer})
    result = run("doctor", JOB, "--release", "2.3")
    assert result.status == 0
    assert f"its answer is {'not an object' if answer == '7' else 'not JSON'}" in result.stdout


def test_without_kubectl_the_way_out_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = run("doctor", JOB, "--release", "2.3")
    assert (result.status, "--from DIR" in result.stderr) == (2, True)


def test_files_stand_in_for_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = run("doctor", write_job(tmp_path), "--release", "2.3", "--from", str(CLUSTER))
    assert (result.status, result.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[1:5] == [
        "Kubernetes 1.32 to 1.35 v1.33.9 OK",
        "JobSet 0.12 v0.12.0 OK",
        "Trainer 2.3 - not found compiled jobs do not need it",
        "Kueue 0.18 to 0.20 v0.19.2 OK",
    ]
    assert lines[5].startswith("coscheduling any v0.33.5 OK")


def test_who_may_see_nothing_is_not_told_that_all_is_well(kubectl: Fake) -> None:
    kubectl({"version": GOOD["version"]}, fails="get")
    result = run("doctor", JOB, "--release", "2.3")
    assert result.status == 1
    assert result.stdout.count("no answer: ") == len(QUESTIONS) - 1 + 1  # and the namespace
    lines = [line.split() for line in result.stdout.splitlines()]
    assert [line[3] for line in lines if line[:1] == ["JobSet"]] == ["unknown"]


def test_a_cluster_without_deployments_runs_no_controller(kubectl: Fake) -> None:
    crd = {"kind": "CustomResourceDefinition", "metadata": {"name": "jobsets.jobset.x-k8s.io"}}
    kubectl({**GOOD, "crd": json.dumps(crd), "deployments.apps": '{"kind": "List", "items": []}'})
    result = run("doctor", JOB, "--release", "2.3")
    assert result.status == 1
    assert "not running  it is defined, but no Deployment runs it" in result.stdout


NAMING = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: llm
  namespace: team-a
  labels: {kueue.x-k8s.io/priority-class: prod}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: registry.example.com/train:1
    command: [torchrun, train.py]
    env:
    - name: TOKEN
      valueFrom: {secretKeyRef: {name: hf, key: token}}
    - name: MODE
      valueFrom: {configMapKeyRef: {name: settings, key: mode, optional: true}}
  runtimePatches:
  - manager: team.example.com/data
    trainingRuntimeSpec:
      template:
        spec:
          replicatedJobs:
          - name: node
            template:
              spec:
                template:
                  spec:
                    serviceAccountName: trainer
                    imagePullSecrets: [{name: registry}]
                    volumes:
                    - name: data
                      persistentVolumeClaim: {claimName: datasets}
"""
SECRET: dict[str, object] = {"kind": "Secret", "metadata": {"name": "hf", "namespace": "team-a"}, "data": {"tokn": ""}}
# What each question is answered where the cluster has everything.
ALL = {
    "secrets": [{**SECRET, "data": {"token": ""}}, {"kind": "Secret", "metadata": {"name": "registry", "namespace": "team-a"}}],
    "persistentvolumeclaims": [{"kind": "PersistentVolumeClaim", "metadata": {"name": "datasets", "namespace": "team-a"}}],
    "serviceaccounts": [{"kind": "ServiceAccount", "metadata": {"name": "trainer", "namespace": "team-a"}}],
    "workloadpriorityclasses.kueue.x-k8s.io": [{"kind": "WorkloadPriorityClass", "metadata": {"name": "prod"}}],
}  # fmt: skip


def listed(**changed: list[dict[str, object]]) -> dict[str, str]:
    answers = {**ALL, **{word: changed.get(word.partition(".")[0], items) for word, items in ALL.items()}}
    return {**GOOD, **{word: json.dumps({"kind": "List", "items": items}) for word, items in answers.items()}}


def missing(stdout: str) -> list[str]:
    return [" ".join(line.split()) for line in stdout.splitlines() if "not found" in line and "no job" not in line][1:]


def test_what_jobs_name_is_asked_for_with_one_question_for_each_kind(kubectl: Fake, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(NAMING, encoding="utf-8")
    calls = kubectl(listed())
    result = run("doctor", str(tmp_path / "job.yaml"), "--release", "2.3")
    assert (result.status, missing(result.stdout)) == (0, [])
    asked = [line.split() for line in calls.read_text(encoding="utf-8").splitlines()][len(QUESTIONS) :]
    assert [words[2:4] for words in asked] == [
        ["namespaces", "team-a"], ["persistentvolumeclaims", "--namespace=team-a"],
        ["secrets", "--namespace=team-a"],
        ["serviceaccounts", "--namespace=team-a"], ["workloadpriorityclasses.kueue.x-k8s.io", "--output=json"],
    ]  # fmt: skip
    assert all("--output=json" in words for words in asked if words[2] != "secrets")
    (of_secrets,) = (words for words in asked if words[2] == "secrets")
    assert of_secrets[4].startswith("--output=go-template=")
    assert "$_" in " ".join(of_secrets)  # Their values are not printed.


def test_what_is_missing_has_a_row_each(kubectl: Fake, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(NAMING, encoding="utf-8")
    claim: dict[str, object] = {"kind": "PersistentVolumeClaim", "metadata": {"name": "dataset", "namespace": "team-a"}}
    kubectl(listed(secrets=[SECRET], persistentvolumeclaims=[claim], serviceaccounts=[], workloadpriorityclasses=[]))
    result = run("doctor", str(tmp_path / "job.yaml"), "--release", "2.3")
    assert result.status == 1
    assert missing(result.stdout) == [
        "WorkloadPriorityClass prod - - not found create it before the job starts",
        "ServiceAccount team-a/trainer - - not found create it before the job starts",
        "Secret team-a/registry - - not found create it before the job starts",
        "PersistentVolumeClaim team-a/datasets - - not found did you mean dataset?",
        "Secret team-a/hf, key token - - not found did you mean tokn?",
    ]


def test_what_the_input_creates_is_not_asked_for(kubectl: Fake, tmp_path: Path) -> None:
    made = [("Secret", "hf"), ("Secret", "registry"), ("PersistentVolumeClaim", "datasets")]
    made += [("ServiceAccount", "trainer"), ("Namespace", "team-a")]
    objects = [
        {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "team-a"}} for kind, name in made
    ]
    text = "\n---\n".join([NAMING, *map(json.dumps, objects)])
    (tmp_path / "job.yaml").write_text(text, encoding="utf-8")
    calls = kubectl(listed())
    result = run("doctor", str(tmp_path / "job.yaml"), "--release", "2.3")
    assert (result.status, missing(result.stdout)) == (0, [])
    assert " secrets " not in calls.read_text(encoding="utf-8")


@pytest.mark.parametrize("answer", ["", "7", "[]", '{"kind": "List"}\n{', '"SecretList"'])
def test_what_could_not_be_read_is_not_missing(kubectl: Fake, tmp_path: Path, answer: str) -> None:
    (tmp_path / "job.yaml").write_text(NAMING, encoding="utf-8")
    kubectl({**listed(), "secrets": answer})
    result = run("doctor", str(tmp_path / "job.yaml"), "--release", "2.3")
    assert (result.status, missing(result.stdout)) == (0, [])
    assert "no answer: secrets in namespace team-a: its answer is" in result.stdout


@pytest.mark.parametrize("items", [[None], [{"kind": "Secret"}], [{"kind": "Secret", "metadata": []}], {"a": 1}, "x"])
def test_an_answer_of_another_shape_has_none_of_the_objects(kubectl: Fake, tmp_path: Path, items: object) -> None:
    (tmp_path / "job.yaml").write_text(NAMING, encoding="utf-8")
    kubectl({**listed(), "secrets": json.dumps({"kind": "List", "items": items})})
    result = run("doctor", str(tmp_path / "job.yaml"), "--release", "2.3")
    assert (result.status, len(missing(result.stdout))) == (1, 2)


def test_jobs_of_several_namespaces_need_one_question_for_all(kubectl: Fake, tmp_path: Path) -> None:
    other = NAMING.replace("team-a", "team-b")
    (tmp_path / "job.yaml").write_text(f"{NAMING}---{other}", encoding="utf-8")
    calls = kubectl(listed())
    result = run("doctor", str(tmp_path / "job.yaml"), "--release", "2.3")
    assert "get secrets --all-namespaces --output=go-template" in calls.read_text(encoding="utf-8")
    assert missing(result.stdout) == ["Namespace team-b - - not found did you mean team-a?"]  # fmt: skip


def test_files_say_what_is_missing_too(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(NAMING, encoding="utf-8")
    folder = tmp_path / "cluster"
    folder.mkdir()
    lists = {"team-a": {"secrets": {"hf": ["token"], "registry": []}, "claims": []}}
    hand = {"apiVersion": "trainc/v1alpha1", "kind": "Cluster", "metadata": {"name": "c"}, "namespaces": lists}
    documents = [GOOD["version"], *map(json.dumps, json.loads(GOOD["deployments.apps"])["items"]), json.dumps(hand)]
    (folder / "all.yaml").write_text("\n---\n".join(documents), encoding="utf-8")
    result = run("doctor", str(tmp_path / "job.yaml"), "--release", "2.3", "--from", str(folder))
    claim = "PersistentVolumeClaim team-a/datasets - - not found create it before the job starts"
    assert (result.status, missing(result.stdout)) == (1, [claim])


def test_a_folder_without_answers_is_not_an_empty_cluster(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", write_job(tmp_path)):
        result = run("doctor", JOB, "--release", "2.3", "--from", str(folder))
        assert (result.status, result.stdout, "error[SnapshotIncomplete]" in result.stderr) == (1, "", True)


def test_json_is_for_programs(tmp_path: Path) -> None:
    result = run("doctor", write_job(tmp_path), "--release", "2.0", "--from", str(CLUSTER), "--format", "json")
    form = json.loads(result.stdout)
    assert form["release"] == "2.0"
    assert [c["name"] for c in form["components"]][:2] == ["Kubernetes", "JobSet"]
    assert result.status == 0


def test_a_job_that_does_not_compile_is_reported_next_to_the_table(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(json.dumps(trainjob(runtime="none")), encoding="utf-8")
    result = run("doctor", str(path), "--release", "2.3", "--from", str(CLUSTER))
    assert (result.status, "error[RuntimeNotFound]" in result.stderr) == (1, True)
    assert "JobSet" in result.stdout


def test_each_environment_has_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_job(tmp_path)
    settings = "sources: [job.yaml]\nenvironments: {dev: {release: '2.2'}, prod: {release: '2.3'}}\n"
    (tmp_path / "trainc.yaml").write_text(settings, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = run("doctor", "--from", str(CLUSTER))
    assert [line for line in result.stdout.splitlines() if line.endswith(":")] == ["dev:", "prod:"]
    form = json.loads(run("doctor", "--from", str(CLUSTER), "--format", "json").stdout)
    assert {name: each["release"] for name, each in form["environments"].items()} == {"dev": "2.2", "prod": "2.3"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--timeout", "0"), "1 or more"),
        (("--from", "x", "--context", "c"), "no effect"),
        (("--from", "no-such-folder"), "error[NoSuchPath]"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(words: tuple[str, ...], told: str) -> None:
    result = run("doctor", JOB, "--release", "2.3", *words)
    assert result.status in {1, 2}
    assert told in result.stderr
