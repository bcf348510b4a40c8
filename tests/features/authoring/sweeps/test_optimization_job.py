"""An OptimizationJob with a grid is a sweep: its trials are compiled, and what is not known beforehand is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from commands import Result, run
from tables import cases

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: OptimizationJob
metadata: {name: tune, namespace: team-a}
spec:
  objectives: [{metric: loss}]
  searchAlgorithm: {grid: {}}
  numTrials: 4
  parallelTrials: 2
  parameters:
  - name: lr
    searchSpace: {categorical: {choices: ["0.1", "0.01"]}}
  - name: batch
    searchSpace: {categorical: {choices: ["16", "32"]}}
  trainJobTemplate:
    metadata:
      labels: {kueue.x-k8s.io/queue-name: gpus}
      annotations: {team/contact: ada}
    spec:
      runtimeRef: {name: torch-distributed}
      trainer:
        numNodes: 2
        command: [torchrun, train.py]
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def swept(text: str, *words: str) -> Result:
    Path("tune.yaml").write_text(text, encoding="utf-8")
    return run("build", "tune.yaml", "--release", "2.3", *words)


def test_its_trials_are_those_of_its_controller() -> None:
    manifests = list(yaml.safe_load_all(swept(JOB).stdout))
    assert [each["metadata"]["name"] for each in manifests] == [f"tune-trial-{index}" for index in range(4)]
    first = manifests[0]["metadata"]
    assert first["namespace"] == "team-a"
    assert first["labels"] == {
        "kueue.x-k8s.io/queue-name": "gpus",
        "trainer.kubeflow.org/optimizationjob-name": "tune",
    }
    assert (
        first["annotations"].items()
        >= {
            "team/contact": "ada",
            "trainer.kubeflow.org/opt-param-lr": "0.1",
            "trainer.kubeflow.org/opt-param-batch": "16",
        }.items()
    )
    env = manifests[1]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {"name": "KUBEFLOW_TRAINER_OPT_BATCH", "value": "32"} in env


def test_overlays_change_its_template() -> None:
    Path("prod").mkdir()
    Path("prod/overlay.yaml").write_text(
        "apiVersion: trainc/v1alpha1\nkind: Overlay\nlabels: [{pairs: {env: prod}}]\n", encoding="utf-8"
    )
    assert swept(JOB, "--overlay", "prod").stdout.count("env: prod") == 4


@cases("old", "new", "place", "code")
def test_a_mistake_is_told_at_its_place(old: str, new: str, place: str, code: str) -> None:
    result = swept(JOB.replace(old, new))
    assert result.status == 1
    assert (place, code) in re.findall(r"^tune.yaml:(\S+): error\[(\w+)\]", result.stderr, re.MULTILINE), result.stderr


@pytest.mark.parametrize(
    "spec", ["[]", "3", "{searchAlgorithm: {grid: {}}, parameters: {a: 1}}", "{searchAlgorithm: [grid]}"]
)
def test_another_shape_is_refused(spec: str) -> None:
    text = f"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: OptimizationJob\nmetadata: []\nspec: {spec}\n"
    assert "error[InvalidSweep]" in swept(text).stderr
