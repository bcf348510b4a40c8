"""Which fields the cluster's Kubernetes has, by the schemas that each minor publishes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from builders import Json, compiled, container, diagnostics_of, job, one, runtime, trainjob
from kubernetes_schemas import definitions, refusals

from trainc import CompileError, Options, compile_trainjob
from trainc.admission.admit import check_rendered
from trainc.kube.releases import KUBERNETES, normalize_kubernetes
from trainc.reading.document import Document
from trainc.schema.kubernetes import FIELDS

REPOSITORY = Path(__file__).parents[2]
COMMITTED = REPOSITORY / "compiler" / "trainc" / "schema" / "kubernetes_fields.json"
FILE_KEY = {"fileKeyRef": {"volumeName": "env", "path": "a.env", "key": "A"}}
# A pod for each field that some minor lacks and a JobSet may have; one more for a field that all have.
CERTIFICATE = {"signerName": "example.com/signer", "keyType": "ED25519", "credentialBundlePath": "cert.pem"}
PODS: dict[str, Json] = {
    "core.Container.restartPolicyRules": {
        "containers": [
            container(
                restartPolicy="Never",
                restartPolicyRules=[{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}],
            )
        ]
    },
    "core.EnvVarSource.fileKeyRef": {
        "containers": [container(env=[{"name": "A", "valueFrom": FILE_KEY}])],
        "volumes": [{"name": "env", "emptyDir": {}}],
    },
    "core.Lifecycle.stopSignal": {
        "os": {"name": "linux"},
        "containers": [container(lifecycle={"stopSignal": "SIGUSR1"})],
    },
    "core.PodSpec.hostnameOverride": {"hostnameOverride": "trainer"},
    "core.PodSpec.schedulingGroup": {"schedulingGroup": {"podGroupName": "mine"}},
    "core.VolumeProjection.podCertificate": {
        "volumes": [{"name": "cert", "projected": {"sources": [{"podCertificate": CERTIFICATE}]}}]
    },
    "": {"schedulerName": "other"},
}


def with_pod(pod: Json) -> Json:
    return runtime(job(pod=pod))


def test_the_committed_tables_are_what_the_published_schemas_say(tmp_path: Path) -> None:
    definitions("1.37")
    output = tmp_path / "kubernetes_fields.json"
    script = REPOSITORY / "tools" / "scripts" / "generate_kubernetes.py"
    subprocess.run([sys.executable, str(script), "--output", str(output)], check=True, timeout=120)
    assert output.read_text(encoding="utf-8") == COMMITTED.read_text(encoding="utf-8")


@pytest.mark.parametrize("minor", KUBERNETES)
@pytest.mark.parametrize("field", PODS)
def test_a_field_is_refused_exactly_where_the_strict_schema_of_the_minor_refuses_it(field: str, minor: str) -> None:
    jobset = one(compiled(trainjob(), with_pod(PODS[field])), "JobSet")
    found = diagnostics_of("FieldNotInKubernetes", trainjob(), with_pod(PODS[field]), kubernetes=minor)
    assert bool(found) == bool(refusals(jobset, minor)) == (field in FIELDS and minor not in FIELDS[field])
    assert all(d.severity == "error" and d.path.endswith(field.rpartition(".")[2]) for d in found)
    assert all(f"--kubernetes {FIELDS[field].first}" in d.hint for d in found)


def test_a_field_is_told_from_the_struct_that_it_is_in() -> None:
    projected = {"sources": [{"podCertificate": {**CERTIFICATE, "userAnnotations": {"example.com/a": "b"}}}]}
    pod = {"volumes": [{"name": "cert", "projected": projected}]}
    found = {
        m: [
            d.path.rpartition(".")[2]
            for d in diagnostics_of("FieldNotInKubernetes", trainjob(), with_pod(pod), kubernetes=m)
        ]
        for m in KUBERNETES
    }
    assert found == {
        "1.32": ["podCertificate"],
        "1.33": ["podCertificate"],
        "1.34": ["userAnnotations"],
        "1.35": [],
        "1.36": [],
        "1.37": [],
    }


def test_a_field_that_leads_to_unknown_ones_is_reported_alone() -> None:
    pod = PODS["core.VolumeProjection.podCertificate"]
    assert len(diagnostics_of("FieldNotInKubernetes", trainjob(), with_pod(pod), kubernetes="1.32")) == 1


@pytest.mark.parametrize(
    ("pod", "hint"),
    [
        ({"serviceAccount": "trainer"}, "serviceAccountName"),
        ({"volumes": [{"name": "src", "gitRepo": {"repository": "https://example.com/r"}}]}, "init container"),
        ({"volumes": [{"name": "d", "glusterfs": {"endpoints": "e", "path": "p"}}]}, "CSI driver"),
        ({"containers": [container(lifecycle={"preStop": {"tcpSocket": {"port": 1}}})]}, "exec"),
    ],
)
def test_a_deprecated_field_is_a_warning_where_the_cluster_is_named(pod: Json, hint: str) -> None:
    for minor in KUBERNETES:
        (found,) = diagnostics_of("DeprecatedInKubernetes", trainjob(), with_pod(pod), kubernetes=minor)
        assert found.severity == "warning"
        assert hint in found.hint
    assert not diagnostics_of("DeprecatedInKubernetes", trainjob(), with_pod(pod))


def test_what_the_controller_would_do_is_never_refused() -> None:
    pod = PODS["core.PodSpec.hostnameOverride"]
    found = diagnostics_of("FieldNotInKubernetes", trainjob(), with_pod(pod), semantics="controller", kubernetes="1.32")
    assert [d.severity for d in found] == ["warning"]


def test_rendered_jobsets_are_judged_too() -> None:
    manifests = compiled(trainjob(), with_pod(PODS["core.PodSpec.hostnameOverride"])).manifests
    documents = [Document.of(manifest) for manifest in manifests]
    assert "FieldNotInKubernetes" in {
        d.code for d in check_rendered(documents, Options(release="2.3", kubernetes="1.33"))
    }
    assert not [d for d in check_rendered(documents, Options(release="2.3")) if "Kubernetes" in d.code]


@pytest.mark.parametrize("text", ["1.37", "v1.37", "1.37.1"])
def test_a_minor_may_be_written_as_a_version(text: str) -> None:
    assert (Options(kubernetes=text).kubernetes, normalize_kubernetes(text)) == ("1.37", "1.37")


@pytest.mark.parametrize("text", ["1.31", "1.38", "2.3", "latest", "1"])
def test_a_minor_that_nobody_published_schemas_for_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"unknown Kubernetes minor .*; choose one of 1\.32, .*1\.37"):
        Options(kubernetes=text)


def test_the_line_is_the_one_that_wrote_the_field(tmp_path: Path) -> None:
    text = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: example.com/train:1
    env:
    - name: A
      valueFrom: {fileKeyRef: {volumeName: env, path: a.env, key: A}}
  runtimePatches:
  - manager: team-a.example.com/files
    trainingRuntimeSpec:
      template:
        spec:
          replicatedJobs:
          - name: node
            template: {spec: {template: {spec: {volumes: [{name: env, emptyDir: {}}]}}}}
"""
    (tmp_path / "job.yaml").write_text(text, encoding="utf-8")
    from trainc import compile_paths

    with pytest.raises(CompileError) as refused:
        compile_paths([tmp_path / "job.yaml"], options=Options(release="2.3", kubernetes="1.33"))
    (found,) = [d for d in refused.value.diagnostics if d.code == "FieldNotInKubernetes"]
    assert found.source is not None
    assert (found.source.line, found.path.endswith("valueFrom.fileKeyRef")) == (10, True)


def test_nobody_pays_for_what_is_not_asked() -> None:
    program = "import sys, json; from trainc import *; compile_trainjob(*json.load(sys.stdin)); print(*sys.modules)"
    documents: list[Any] = [trainjob(), [runtime()]]
    import json

    ran = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(documents),
        text=True,
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert "trainc.schema.kubernetes" not in ran.stdout.split()
    assert not any("plugins.workload." in module for module in ran.stdout.split())
    assert compile_trainjob(documents[0], documents[1]).manifests
