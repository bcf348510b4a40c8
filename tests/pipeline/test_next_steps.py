"""What a hint says to do next, with text to paste, for mistakes that a first job is likely to have."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run
from tables import cases

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
LIMITS = "limits: {nvidia.com/gpu: 8}"


def checked(text: str, folder: Path) -> str:
    (folder / "job.yaml").write_text(text, encoding="utf-8")
    return run("check", str(folder / "job.yaml"), "--release", "2.3").stderr


@cases("old", "new", "help_text")
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
