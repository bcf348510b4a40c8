"""Refused pods, from the command line and from Python: how severe they are, and on which line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import run

from trainc import Options, admit, compile_trainjob

RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: rt}
spec:
  mlPolicy: {torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
                priority: 1000
                containers:
                - {name: node, image: "example.com/train:1"}
"""
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: rt}
  trainer:
    resourcesPerNode: {limits: {memory: 32Gi}}
"""
DEFAULT = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "everyone"},
    "value": 1000,
    "globalDefault": True,
}
CAPS = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "caps", "namespace": "team-a"},
    "spec": {"limits": [{"type": "Container", "max": {"memory": "16Gi"}}]},
}
ROOM = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n"},
    "status": {
        "allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a job whose pods have a priority of their own."""
    (tmp_path / "jobs").mkdir()
    (tmp_path / "cluster").mkdir()
    (tmp_path / "jobs" / "job.yaml").write_text(JOB)
    (tmp_path / "rt.yaml").write_text(RUNTIME)
    config = 'release: "2.3"\nsources: [jobs]\nruntimes: [rt.yaml]\ncluster: cluster\n'
    (tmp_path / "trainc.yaml").write_text(config)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def snapshot(folder: Path, *objects: object) -> None:
    (folder / "cluster" / "all.json").write_text(json.dumps({"kind": "List", "items": objects}))


def test_a_refused_pod_is_an_error_on_the_line_that_causes_it(folder: Path) -> None:
    snapshot(folder, ROOM)
    checked = run("check")
    assert checked.status == 1
    assert "rt.yaml:15:17: error[PriorityNotOfClass]" in checked.stderr
    assert run("build").status == 1


def test_the_snapshot_decides(folder: Path) -> None:
    snapshot(folder, ROOM, DEFAULT)
    assert run("check").status == 0


def test_an_amount_outside_a_limit_range_is_found_in_the_job(folder: Path) -> None:
    snapshot(folder, ROOM, DEFAULT, CAPS)
    checked = run("check")
    assert checked.status == 1
    assert "jobs/job.yaml:7:33: error[OutsideLimitRange]" in checked.stderr
    assert "help: lower it to 16Gi" in checked.stderr


def test_an_object_in_the_file_of_the_job_counts(folder: Path) -> None:
    (folder / "jobs" / "job.yaml").write_text(f"{JOB}---\n{json.dumps(DEFAULT)}\n")
    assert run("build", "-o", "-").status == 0


def test_a_snapshot_without_limits_says_nothing(folder: Path) -> None:
    snapshot(folder, ROOM, DEFAULT, {**CAPS, "metadata": {"name": "caps", "namespace": "team-b"}})
    assert run("check").status == 0


def test_a_rendered_jobset_is_checked_too(folder: Path) -> None:
    (folder / "rt.yaml").write_text(RUNTIME.replace("priority: 1000", "restartPolicy: Never"))
    (folder / "jobs" / "rendered.yaml").write_text(run("build", "-o", "-").stdout)
    (folder / "jobs" / "job.yaml").unlink()
    snapshot(folder, ROOM)
    assert run("check").status == 0
    snapshot(folder, ROOM, CAPS)
    checked = run("check")
    assert checked.status == 1
    assert "error[OutsideLimitRange]" in checked.stderr


def documents() -> tuple[dict[str, Any], dict[str, Any]]:
    node: dict[str, Any] = {"priority": 7, "containers": [{"name": "node", "image": "example.com/train:1"}]}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    jobs = [{"name": "node", "template": {"metadata": {"labels": labels}, "spec": {"template": {"spec": node}}}}]
    api, name = "trainer.kubeflow.org/v1alpha1", {"name": "rt", "namespace": "team-a"}
    job: dict[str, Any] = {"apiVersion": api, "kind": "TrainJob", "metadata": {**name, "name": "llm"}}
    job["spec"] = {"runtimeRef": {"kind": "TrainingRuntime", "name": "rt"}}
    runtime: dict[str, Any] = {"apiVersion": api, "kind": "TrainingRuntime", "metadata": name}
    runtime["spec"] = {"template": {"spec": {"replicatedJobs": jobs}}}
    return job, runtime


@pytest.mark.parametrize("semantics", ["gitops", "controller"])
def test_in_python_it_is_a_warning_because_the_objects_themselves_are_accepted(semantics: str) -> None:
    job, runtime = documents()
    compiled = compile_trainjob(job, [runtime], Options(release="2.3", semantics=semantics))  # type: ignore[arg-type]
    assert ("PriorityNotOfClass", "warning") in [(d.code, d.severity) for d in compiled.diagnostics]
    (jobset,) = (manifest for manifest in compiled.manifests if manifest["kind"] == "JobSet")
    assert ("PriorityNotOfClass", "warning") in [(d.code, d.severity) for d in admit(jobset).diagnostics]
