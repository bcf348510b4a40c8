"""Every leaf of every case has an origin, and the origin is right: changing what it names changes the leaf."""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from builders import container, job, runtime, trainjob
from explained import Explained, explain_documents, explained
from sensitivity import insensitive

from trainc import CompileError, Options
from trainc.explain.select_job import compile_one
from trainc.kube.documents import leaves, value_at
from trainc.options import Limits
from trainc.pipeline.inputs import Inputs
from trainc.reading.yaml_reader import read_documents

pytestmark = pytest.mark.slow

CASES = {path.stem: path for path in sorted((Path(__file__).parents[1] / "cases").glob("*.yaml"))}
MPI = (job("launcher"), job("node", None))
FILLS_VOLUME = container("dataset-initializer", volumeMounts=[{"name": "initializer", "mountPath": "/workspace"}])
VOLUME = {"volumes": [{"name": "initializer", "persistentVolumeClaim": {"claimName": "data"}}]}
INITIALIZED = (
    job("dataset-initializer", "dataset-initializer", [FILLS_VOLUME], pod=VOLUME),
    job(dependsOn=[{"name": "dataset-initializer", "status": "Complete"}]),
)


def read_case(case: str) -> tuple[Explained, Options]:
    text = CASES[case].read_bytes()
    parser = argparse.ArgumentParser()
    parser.add_argument("--release")
    parser.add_argument("--semantics", default="gitops")
    parser.add_argument("--gang", default="runtime")
    parser.add_argument("--kubernetes")
    first_line = text.decode().partition("\n")[0]
    arguments, _ = parser.parse_known_args(shlex.split(first_line.removeprefix("# trainc:")))
    options = Options(**vars(arguments))
    documents, problems = read_documents(text, f"tests/cases/{case}.yaml", Limits())
    assert not problems
    return explain_documents(documents, options), options


def unexplained(subject: Explained) -> list[str]:
    """Fields without an origin that says where its value is from."""
    return [
        str(field.path)
        for described in subject.explanation.objects
        for field in described.fields
        if field.origin.value != field.value
        or not (field.origin.inputs or field.origin.rule or field.origin.deviation)
        or (field.origin.kind in ("default", "admission") and not field.origin.rule)
    ]


@pytest.mark.parametrize("case", CASES)
def test_every_leaf_of_a_case_has_an_origin(case: str) -> None:
    documents, _ = read_documents(CASES[case].read_bytes(), "case.yaml", Limits())
    subject, options = read_case(case)
    manifests = compile_one(Inputs(documents, [], []), None, options).compiled.manifests
    assert [list(leaves(manifest)) for manifest in manifests]
    described = [{field.path: field.value for field in found.fields} for found in subject.explanation.objects]
    assert described == [{path: leaf.value for path, leaf in leaves(m).items()} for m in manifests]
    assert unexplained(subject) == []


@pytest.mark.parametrize("case", CASES)
def test_what_an_origin_in_a_case_names_decides_the_leaf(case: str) -> None:
    subject, options = read_case(case)
    assert insensitive(subject, options) == []


SITUATIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "an elastic job with a range": (
        trainjob({"numNodes": 2}),
        runtime(policy={"torch": {"elasticPolicy": {"minNodes": 1, "maxNodes": 4, "maxRestarts": 3}}}),
    ),
    "an elastic job without a size": (trainjob(), runtime(policy={"torch": {"elasticPolicy": {"maxNodes": 4}}})),
    "the same number of nodes in job and runtime": (
        trainjob({"numNodes": 2}),
        runtime(policy={"torch": {}, "numNodes": 2}),
    ),
    "a variable of the same value in job and runtime": (
        trainjob({"env": [{"name": "A", "value": "1"}], "image": "example.com/train:1"}),
        runtime(job(containers=[container(env=[{"name": "A", "value": "1"}])])),
    ),
    "no number of nodes anywhere": (trainjob(), runtime(policy={"jax": {}})),
    "a launcher and a gang": (
        trainjob({"numNodes": 3, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}}}),
        runtime(*MPI, policy={"mpi": {}}, gang={"coscheduling": {}}, network={"subdomain": "pods"}),
    ),
    "a launcher that is a node": (
        trainjob(),
        runtime(*MPI, policy={"mpi": {"runLauncherAsNode": True}, "numNodes": 2}, gang={"volcano": {}}),
    ),
    "Intel MPI, in the older API": (
        {**trainjob(), "apiVersion": "kubeflow.org/v2alpha1"},
        {
            **runtime(*MPI, policy={"mpi": {"mpiImplementation": "Intel"}, "numNodes": 2}),
            "apiVersion": "kubeflow.org/v2alpha1",
        },
    ),
    "an elastic job of OME": (
        {
            "apiVersion": "ome.io/v1beta1",
            "kind": "TrainingJob",
            "metadata": {"name": "llm", "namespace": "team-a"},
            "spec": {
                "runtimeRef": {"name": "rt", "kind": "ClusterTrainingRuntime"},
                "trainer": {"numNodes": 2, "image": "mine:2"},
            },
        },
        {
            **runtime(job("worker", None), policy={"torch": {"elasticPolicy": {"minNodes": 1, "maxNodes": 4}}}),
            "apiVersion": "ome.io/v1beta1",
        },
    ),
    "a Flux job with a command of its own": (
        trainjob({"command": ["python"], "args": ["a b.py"], "env": [{"name": "FLUX_QUEUE_POLICY", "value": "easy"}]}),
        runtime(policy={"flux": {"numProcPerNode": 2}, "numNodes": 2}),
    ),
    "a dataset, its Secret and a gang": (
        trainjob(
            initializer={
                "dataset": {
                    "storageUri": "hf://a/b",
                    "env": [{"name": "T", "value": "x"}],
                    "secretRef": {"name": "token"},
                }
            },
        ),
        runtime(*INITIALIZED, policy={"torch": {}}, gang={"coscheduling": {}}),
    ),
    "a gang of Volcano whose scheduler the template names": (
        trainjob({"numNodes": 2}),
        runtime(job(pod={"schedulerName": "volcano"}), policy={"torch": {}}, gang={"volcano": {}}),
    ),
    "MPICH in the older API, with the search domain in the template": (
        {**trainjob(), "apiVersion": "kubeflow.org/v2alpha1"},
        {
            **runtime(
                job("launcher"),
                job("node", None, pod={"dnsConfig": {"searches": ["llm.team-a.svc.cluster.local", "example.com"]}}),
                policy={"mpi": {"mpiImplementation": "MPICH"}, "numNodes": 2},
            ),
            "apiVersion": "kubeflow.org/v2alpha1",
        },
    ),
    "what moves to the JobSet": (
        {
            **trainjob(activeDeadlineSeconds=60, managedBy="kueue.x-k8s.io/multikueue"),
            "metadata": {"name": "llm", "namespace": "a", "labels": {"kueue.x-k8s.io/queue-name": "q"}},
        },
        runtime(),
    ),
    "a patch on a patch": (
        trainjob(
            runtimePatches=[
                {"manager": f"example.com/{name}", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
                    {"name": "node", "template": {"spec": {"template": {"spec": {"nodeSelector": {"zone": zone}}}}}}
                ]}}}}
                for name, zone in (("first", "a"), ("second", "b"))
            ]
        ),
        runtime(job(pod={"nodeSelector": {"zone": "0", "disk": "ssd"}})),
    ),
}  # fmt: skip


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("name_hash", [False, True])
def test_what_an_origin_names_decides_the_leaf(situation: str, name_hash: bool) -> None:
    document, rt = SITUATIONS[situation]
    subject = explained(document, rt, name_hash=name_hash)
    assert unexplained(subject) == []
    if not name_hash:
        assert insensitive(subject, Options(release="2.3")) == []


@pytest.mark.parametrize(
    ("mode", "delivery"), [("external-secrets", "argocd"), ("external-secrets", "flux"), ("presync-job", "argocd")]
)
@pytest.mark.parametrize("name_hash", [False, True])
def test_objects_that_make_keys_name_what_they_take_from_the_job(mode: Any, delivery: Any, name_hash: bool) -> None:
    chosen: dict[str, Any] = {"secrets": mode, "delivery": delivery, "keygen_image": "example.com/keygen:1"}
    document, rt = trainjob({"numNodes": 2}), runtime(*MPI, policy={"mpi": {}})
    subject = explained(document, rt, name_hash=name_hash, **chosen)
    added = [f for d in subject.explanation.objects for f in d.fields if f.origin.by == "Secrets"]
    assert added
    assert [f.path for f in added if not f.origin.inputs or f"--secrets {mode}" not in f.origin.rule] == []
    assert any("--keygen-image" in f.origin.rule for f in added) == (mode == "presync-job")
    assert unexplained(subject) == []
    if not name_hash:
        assert insensitive(subject, Options(release="2.3", **chosen)) == []


def test_what_is_sealed_is_taken_from_the_sealed_document() -> None:
    ciphertext = base64.b64encode(b"\x02\x00" + bytes(600)).decode()
    scope = {"sealedsecrets.bitnami.com/namespace-wide": "true"}
    document = trainjob({"numNodes": 2})
    sealed = {
        "apiVersion": "bitnami.com/v1alpha1",
        "kind": "SealedSecret",
        "metadata": {"name": "llm-mpi-ssh-auth", "namespace": "team-a", "annotations": scope},
        "spec": {"encryptedData": {"ssh-privatekey": ciphertext, "ssh-publickey": ciphertext}},
    }
    subject = explained(document, runtime(*MPI, policy={"mpi": {}}), sealed, secrets="sealed")
    for path in ("spec.encryptedData.ssh-privatekey", f'spec.template.metadata.annotations["{next(iter(scope))}"]'):
        (given,) = subject.origin(path, "SealedSecret").inputs
        assert given.object == "SealedSecret team-a/llm-mpi-ssh-auth"
        assert value_at(sealed, given.index) == subject.field(path, "SealedSecret").value
    assert subject.origin("spec.template.metadata.name", "SealedSecret").inputs[0].path == ("metadata", "name")


@pytest.mark.conformance
@pytest.mark.parametrize("semantics", ["gitops", "controller"])
@pytest.mark.parametrize("release", ["2.0", "2.1", "2.2", "2.3"])
def test_what_an_origin_in_a_recorded_case_names_decides_the_leaf(vectors: Path, release: str, semantics: Any) -> None:
    options = Options(release=release, semantics=semantics)
    explained_cases = 0
    with gzip.open(vectors / f"trainer-{release}.jsonl.gz", "rt") as lines:
        for line in list(lines)[::37]:
            case = json.loads(line)
            try:
                subject = explained(case["trainjob"], case["runtime"], release=release, semantics=semantics)
            except CompileError:
                continue
            explained_cases += 1
            assert unexplained(subject) == [], case["id"]
            assert insensitive(subject, options) == [], case["id"]
    assert explained_cases


def test_the_value_of_an_input_is_what_is_written_there() -> None:
    subject = explained(trainjob({"numNodes": 4}), runtime(policy={"torch": {}}))
    for described in subject.explanation.objects:
        for field in described.fields:
            for given in field.origin.inputs:
                document = subject.job if given.object.startswith("TrainJob") else subject.runtime
                assert value_at(document, given.index) == given.value
