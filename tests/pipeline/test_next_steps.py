"""What a hint says to do next, with text to paste, for mistakes that a first job is likely to have."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: registry.example.com/train:1
    numNodes: 2
    command: [torchrun, train.py]
    resourcesPerNode:
      limits: {nvidia.com/gpu: 8}
"""
COMMAND = "command: [torchrun, train.py]"
LIMITS = "limits: {nvidia.com/gpu: 8}"


def checked(text: str, folder: Path) -> str:
    (folder / "job.yaml").write_text(text, encoding="utf-8")
    return run("check", str(folder / "job.yaml"), "--release", "2.3").stderr


@pytest.mark.parametrize(
    ("old", "new", "help_text"),
    [
        ("name: torch-distributed", "name: ours", "kubectl get clustertrainingruntime ours -o yaml > runtime.yaml"),
        ("name: torch-distributed", "name: 'a b'", "kubectl get clustertrainingruntime 'a b' -o yaml > runtime.yaml"),
        (
            "{name: torch-distributed}",
            "{name: ours, kind: TrainingRuntime}",
            "kubectl get trainingruntime ours --namespace team-a -o yaml > runtime.yaml",
        ),
        ("spec:\n", "spec:\n  initializer: {dataset: {storageUri: cache://a/b}}\n", "{name: torch-distributed-with-cache}"),
        ("spec:\n", "spec:\n  initializer: {model: {storageUri: hf://a/b}}\n", "{name: torch-distributed-with-initializers}"),
        ("spec:\n", "spec:\n  mlPolicy: {numNodes: 2}\n", 'set numNodes under trainer; or, for all jobs of the runtime, add `mlPolicy: {"numNodes": 2}`'),
        (
            "spec:\n",
            "spec:\n  ttlSecondsAfterFinished: 60\n",
            "add `template: {spec: {ttlSecondsAfterFinished: 60}}` to the spec of the runtime",
        ),
        (COMMAND, "command: [bash, -c, “torchrun train.py”]", 'help: write "torchrun train.py"\n'),
        (COMMAND, f"command: [bash, -c, torchrun train.py {'x' * 80} ”a”]", "help: replace it with '\"'\n"),
        (COMMAND, 'command: [torchrun, "train.py --name "my run""]', "the whole item: 'train.py --name \"my run\"'\n"),
        (COMMAND, "command: [torchrun, 'train.py --name 'my run'']", "the whole item: \"train.py --name 'my run'\"\n"),
        (COMMAND, "command:\N{NO-BREAK SPACE}[torchrun]", "replace it with a normal space: `command: [torchrun]`"),
        ("  trainer:\n", "  trainer\n", "help: write `trainer:`, or indent"),
        ("    numNodes: 2", "    numNodes:2", "help: write `numNodes: 2`, or indent"),
        ("    image: ", "\timage: ", "so write `    image: registry.example.com/train:1`"),
        (LIMITS, "limits:\n        # nvidia.com/gpu: 8", "as in limits: {nvidia.com/gpu: 8}, or remove it"),
        (LIMITS, "requests:", "as in requests: {cpu: 16, memory: 64Gi}, or remove it"),
        (f"\n      {LIMITS}", "", "as in limits: {nvidia.com/gpu: 8}, or remove it"),
    ],
)  # fmt: skip
def test_the_help_has_text_to_paste(old: str, new: str, help_text: str, tmp_path: Path) -> None:
    assert help_text in checked(JOB.replace(old, new, 1), tmp_path)


@pytest.mark.parametrize("limits", [LIMITS, "limits: {}", "claims: []"])
def test_resources_with_a_value_are_not_empty(limits: str, tmp_path: Path) -> None:
    assert "has no value" not in checked(JOB.replace(LIMITS, limits), tmp_path)


def test_the_keys_of_a_second_document_are_one_mistake(tmp_path: Path) -> None:
    report = checked(JOB + JOB.replace("llm", "other"), tmp_path)
    assert report.count("error[") == 1
    assert "put a `---` line before this line" in report


@pytest.mark.parametrize("text", ["", "# only a comment\n"])
def test_an_empty_file_says_where_to_begin(text: str, tmp_path: Path) -> None:
    report = checked(text, tmp_path)
    assert "job.yaml, which is empty or has only comments" in report
    assert "write a first one with `trainc new`" in report


def test_a_folder_without_jobs_is_not_called_empty(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("kind: ConfigMap\n")
    report = run("check", str(tmp_path), "--release", "2.3").stderr
    assert f"no TrainJob found in {tmp_path}; with pruning on" in report
