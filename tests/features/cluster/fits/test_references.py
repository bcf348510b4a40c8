"""Whether the cluster has what a job names: only absences that are certain, at the line that names the object."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from clusters import Json, alone, jobset, kueue, local, namespace, queue
from commands import run

from trainc.features.cluster.fits.answer import fits_named
from trainc.features.cluster.fits.references import NOTHING_CREATED, created_by
from trainc.reading.cluster import Dump

NAMES = "team-a"


def named(kind: str, name: str, where: str = NAMES, **fields: Any) -> Json:
    metadata = {"name": name, **({"namespace": where} if where else {})}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields}


def printed(*items: Json) -> Json:
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": list(items)}


def scheduling(kind: str, name: str) -> Json:
    groups = {"RuntimeClass": "node.k8s.io/v1", "PriorityClass": "scheduling.k8s.io/v1"}
    groups["StorageClass"] = "storage.k8s.io/v1"
    return {"apiVersion": groups[kind], "kind": kind, "metadata": {"name": name}}


CLUSTER = printed(
    namespace(),
    named("Namespace", "team-b", ""),
    named("Secret", "hf", data={"token": "x"}),
    named("Secret", "hf", "team-b", data={"token": "x"}),
    named("ConfigMap", "settings", data={"a": "1"}, binaryData={"b": "MQ=="}),
    named("PersistentVolumeClaim", "datasets"),
    named("ServiceAccount", "default"),
    named("ServiceAccount", "trainer"),
    scheduling("PriorityClass", "high"),
    scheduling("RuntimeClass", "nvidia"),
    scheduling("StorageClass", "fast"),
    kueue("WorkloadPriorityClass", "prod", {}),
)


def with_pod(**spec: Any) -> Json:
    return jobset(to=None, spec=spec)


def with_volume(**volume: Json) -> Json:
    return with_pod(volumes=[{"name": "v", **volume}])


def with_container(**fields: Any) -> Json:
    return with_pod(containers=[{"name": "node", "image": "train:1", **fields}])


def with_env(**source: Json) -> Json:
    return with_container(env=[{"name": "V", "valueFrom": source}])


def ephemeral(name: str) -> Json:
    return with_volume(ephemeral={"volumeClaimTemplate": {"spec": {"storageClassName": name}}})


def in_namespace(name: str) -> Json:
    job = jobset(to=None)
    job["metadata"]["namespace"] = name
    return job


def with_policy(name: str) -> Json:
    job = jobset(to=None)
    template = {"metadata": {"name": "t"}, "spec": {"storageClassName": name}}
    job["spec"]["volumeClaimPolicies"] = [{"templates": [template]}]
    return job


def with_priority(name: str) -> Json:
    job = jobset(to=None)
    job["metadata"]["labels"] = {"kueue.x-k8s.io/priority-class": name}
    return job


def projected(**source: Json) -> Json:
    return with_volume(projected={"sources": [source]})


# A name that is there, one that is not, the job with it, and the end of the path at which the finding is.
PLACES: dict[str, tuple[str, Any, str]] = {
    "a namespace": ("team-b", in_namespace, "metadata.namespace"),
    "a claim": (
        "datasets",
        lambda name: with_volume(persistentVolumeClaim={"claimName": name}),
        "volumes[0].persistentVolumeClaim.claimName",
    ),
    "a Secret as a volume": (
        "hf",
        lambda name: with_volume(secret={"secretName": name}),
        "volumes[0].secret.secretName",
    ),
    "a Secret of a driver": (
        "hf",
        lambda name: with_volume(csi={"driver": "d", "nodePublishSecretRef": {"name": name}}),
        "csi.nodePublishSecretRef.name",
    ),
    "a projected Secret": ("hf", lambda name: projected(secret={"name": name}), "projected.sources[0].secret.name"),
    "a variable": (
        "hf",
        lambda name: with_env(secretKeyRef={"name": name, "key": "token"}),
        "env[0].valueFrom.secretKeyRef.name",
    ),
    "all variables": (
        "settings",
        lambda name: with_container(envFrom=[{"configMapRef": {"name": name}}]),
        "envFrom[0].configMapRef.name",
    ),
    "a ConfigMap as a volume": ("settings", lambda name: with_volume(configMap={"name": name}), "configMap.name"),
    "a pull secret": ("hf", lambda name: with_pod(imagePullSecrets=[{"name": name}]), "imagePullSecrets[0].name"),
    "a service account": ("trainer", lambda name: with_pod(serviceAccountName=name), "serviceAccountName"),
    "a priority class": ("high", lambda name: with_pod(priorityClassName=name), "priorityClassName"),
    "a runtime class": ("nvidia", lambda name: with_pod(runtimeClassName=name), "runtimeClassName"),
    "a storage class": ("fast", ephemeral, "ephemeral.volumeClaimTemplate.spec.storageClassName"),
    "a storage class of the JobSet": ("fast", with_policy, "volumeClaimPolicies[0].templates[0].spec.storageClassName"),
    "Kueue's priority class": ("prod", with_priority, 'metadata.labels["kueue.x-k8s.io/priority-class"]'),
}


def about(job: Json, *cluster: Json) -> list[tuple[str, str]]:
    found = alone_without_basics(job, cluster)
    return [(one.message, one.path) for one in found if one.code == "NotInCluster"]


def alone_without_basics(job: Json, cluster: Any, created: Any = NOTHING_CREATED) -> Any:
    return fits_named([("j", job)], Dump.of_objects(cluster), created).alone[0].diagnostics


@pytest.mark.parametrize("what", PLACES)
def test_what_is_certainly_absent_is_named_where_the_job_names_it(what: str) -> None:
    known, job, path = PLACES[what]
    assert about(job(known), CLUSTER) == []
    ((message, place),) = about(job("gone"), CLUSTER)
    assert (" gone in " in message, place.endswith(path)) == (True, True)


@pytest.mark.parametrize("what", PLACES)
def test_what_the_snapshot_does_not_have_in_full_may_exist(what: str) -> None:
    known, job, _ = PLACES[what]
    parts = CLUSTER["items"]
    kind = about(job("gone"), CLUSTER)[0][0].split()[3]
    for contents in (parts, [{**CLUSTER, "metadata": {}}]):
        found = [d for d in alone_without_basics(job("gone"), contents) if d.code == "NotInCluster"]
        said = [(d.severity, d.message.startswith(f"the snapshot has no {kind} gone in ")) for d in found]
        severity = "warning" if kind == "WorkloadPriorityClass" else "info"
        assert said == ([] if kind == "Namespace" else [(severity, True)])
    found = [d for d in alone_without_basics(job(f"{known}x"), parts) if d.code == "NotInCluster"]
    near = [("warning", f"did you mean {known}?")] if kind != "Namespace" else []
    assert [(d.severity, d.hint) for d in found] == near
    assert about(job("gone"), printed(*(one for one in parts if one["kind"] != kind))) == []


def test_a_queued_job_of_a_priority_that_the_snapshot_may_lack_is_not_refused() -> None:
    job = jobset()
    job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "urgent"
    classes = [kueue("WorkloadPriorityClass", name, {}) for name in ("prod", "idle")]
    answer = alone(job, [queue("a", 16), local("a"), *classes])
    found = [d for d in answer.diagnostics if "urgent" in d.message]
    assert answer.verdict == "fits"
    assert [(d.code, d.severity) for d in found] == [("NotInCluster", "warning")]
    assert found[0].hint.startswith("use idle, prod, or export")


@pytest.mark.parametrize(
    ("job", "says"),
    [
        (with_env(secretKeyRef={"name": "hf", "key": "tokn"}), "Secret hf in namespace team-a has no key tokn"),
        (
            with_env(configMapKeyRef={"name": "settings", "key": "c"}),
            "ConfigMap settings in namespace team-a has no key c",
        ),
        (with_volume(secret={"secretName": "hf", "items": [{"key": "x", "path": "y"}]}), "has no key x"),
        (projected(configMap={"name": "settings", "items": [{"key": "x", "path": "y"}]}), "has no key x"),
    ],
)
def test_a_key_that_is_not_there_is_named(job: Json, says: str) -> None:
    ((message, path),) = about(job, CLUSTER)
    assert (says in message, path.endswith(".key")) == (True, True)


HARMLESS = {
    "keys that are there": with_env(configMapKeyRef={"name": "settings", "key": "b"}),
    "an optional variable": with_env(secretKeyRef={"name": "gone", "key": "k", "optional": True}),
    "an optional key": with_env(secretKeyRef={"name": "hf", "key": "k", "optional": True}),
    "an optional volume": with_volume(secret={"secretName": "gone", "optional": True}),
    "optional variables": with_container(envFrom=[{"secretRef": {"name": "gone", "optional": True}}]),
    "the account that every namespace has": with_pod(serviceAccountName="default"),
    "certificates that every namespace has": with_volume(configMap={"name": "kube-root-ca.crt"}),
    "a priority of the system": with_pod(priorityClassName="system-node-critical"),
}


@pytest.mark.parametrize("what", HARMLESS)
def test_what_pods_can_do_without_or_always_have_gets_nothing(what: str) -> None:
    assert about(HARMLESS[what], CLUSTER) == []


def test_a_job_without_a_namespace_is_not_looked_up() -> None:
    job = with_env(secretKeyRef={"name": "gone", "key": "k"})
    del job["metadata"]["namespace"]
    assert about(job, CLUSTER) == []


def test_values_of_secrets_are_in_no_message() -> None:
    secret = named("Secret", "hf", data={"token": "c2VjcmV0LXZhbHVl"})
    job = with_env(secretKeyRef={"name": "hf", "key": "tokn"})
    found = alone_without_basics(job, [printed(secret, named("Secret", "x", "team-b"))])
    assert "c2VjcmV0LXZhbHVl" not in repr(found)
    assert found[0].hint == "did you mean token?"


MAKERS: dict[str, Json] = {
    "itself": named("Secret", "made"),
    "without a namespace": {"kind": "Secret", "metadata": {"name": "made"}},
    "a sealed one": named("SealedSecret", "other", spec={"template": {"metadata": {"name": "made"}}}),
    "a sealed one of its name": named("SealedSecret", "made", spec={}),
    "an external one": named("ExternalSecret", "other", spec={"target": {"name": "made"}}),
    "a certificate": named("Certificate", "other", spec={"secretName": "made"}),
    "a hook that may create it": named(
        "Role", "keygen", rules=[{"resources": ["secrets"], "resourceNames": ["made"], "verbs": ["get"]}]
    ),
}


@pytest.mark.parametrize("what", MAKERS)
def test_what_the_input_creates_counts(what: str) -> None:
    job = with_env(secretKeyRef={"name": "made", "key": "k"})
    created = created_by([MAKERS[what]], "team-a")
    assert [one.code for one in alone_without_basics(job, [CLUSTER])] == ["NotInCluster", "SnapshotIncomplete"]
    assert [one.code for one in alone_without_basics(job, [CLUSTER], created)] == ["SnapshotIncomplete"]


HAND = """
apiVersion: trainc/v1alpha1
kind: Cluster
namespaces:
  team-a: {secrets: {hugging-face: [token]}, claims: [datasets], queues: [gpus]}
"""
JOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a%s}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: registry.example.com/train:1
    command: [torchrun, train.py]
    env:
    - name: TOKEN
      valueFrom: {secretKeyRef: {name: huggingface, key: token}}
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
                    volumes:
                    - name: data
                      persistentVolumeClaim:
                        claimName: dataset
"""


def test_lists_by_hand_are_enough_and_each_finding_is_at_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "lists.yaml").write_text(HAND)
    (tmp_path / "trainc.yaml").write_text('sources: [job.yaml]\nrelease: "2.3"\ncluster: cluster\n')
    (tmp_path / "job.yaml").write_text(JOB % "")
    for command in ("check", "fits"):
        result = run(command)
        assert (result.status, _lines(result.stderr)) == (0, ["12", "27"])
        assert "did you mean hugging-face?" in result.stderr
        assert "did you mean datasets?" in result.stderr
    (tmp_path / "secret.yaml").write_text(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: huggingface, namespace: team-a}\n"
    )
    (tmp_path / "trainc.yaml").write_text('sources: [job.yaml, secret.yaml]\nrelease: "2.3"\ncluster: cluster\n')
    assert _lines(run("check").stderr) == ["27"]


def _lines(report: str) -> list[str]:
    """The lines of job.yaml that the report names."""
    return [
        line.split(":")[1] for line in report.splitlines() if line.startswith("job.yaml") and "NotInCluster" in line
    ]


def test_a_queue_that_a_list_by_hand_does_not_have_is_an_error_and_one_that_it_has_is_undecided() -> None:
    cluster = [
        {
            "apiVersion": "trainc/v1alpha1",
            "kind": "Cluster",
            "metadata": {"name": "c"},
            "namespaces": {"team-a": {"queues": ["gpus"]}},
        }
    ]
    missing, known = (alone(deepcopy(jobset(to=name)), cluster) for name in ("gpu", "gpus"))
    assert (missing.verdict, [one.code for one in missing.diagnostics]) == ("inactive", ["QueueInactive"])
    assert (known.verdict, [one.severity for one in known.diagnostics]) == ("unknown", ["info"])
