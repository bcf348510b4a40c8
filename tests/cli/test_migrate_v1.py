"""`migrate`, `build` and `check` with jobs of Training Operator v1 in the input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run

SHAPES = Path(__file__).parents[1] / "features" / "migrate" / "v1" / "shapes"
TRAINJOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: new}
spec: {runtimeRef: {name: torch-distributed}, trainer: {command: [torchrun, t.py]}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "old.yaml").write_bytes((SHAPES / "pytorch-gloo-cpu.yaml").read_bytes())
    return tmp_path


@pytest.mark.parametrize("command", ["build", "check"])
def test_v1_jobs_alone_are_an_error_that_names_migrate(command: str, folder: Path) -> None:
    result = run(command, str(folder))
    assert result.status == 1
    assert result.stdout == ""
    assert "error[LegacyTrainingJob]" in result.stderr
    assert f"trainc migrate {folder / 'old.yaml'}" in result.stderr


@pytest.mark.parametrize("command", ["build", "check"])
def test_v1_jobs_with_trainjobs_are_a_warning(command: str, folder: Path) -> None:
    (folder / "new.yaml").write_text(TRAINJOB, encoding="utf-8")
    result = run(command, str(folder))
    assert result.status == 0
    assert "warning[LegacyTrainingJob]" in result.stderr


def test_a_trainjob_of_kubeflow_v1_is_not_said_to_be_of_an_api_that_never_was(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(TRAINJOB.replace("trainer.kubeflow.org/v1alpha1", "kubeflow.org/v1"), encoding="utf-8")
    assert "never existed" not in run("check", str(path)).stderr


def test_check_and_diff_write_nothing(folder: Path) -> None:
    before = (folder / "old.yaml").read_bytes()
    assert run("migrate", "--check", str(folder)).status == 1
    assert "+kind: TrainJob" in run("migrate", "--diff", str(folder)).stdout
    assert run("migrate", "--report", str(folder)).status == 0
    assert (folder / "old.yaml").read_bytes() == before


def test_jobs_of_equal_pods_share_a_runtime_across_files(folder: Path) -> None:
    text = (folder / "old.yaml").read_text(encoding="utf-8")
    (folder / "z.yaml").write_text(text.replace("name: digits\n", "name: letters\n"), encoding="utf-8")
    assert run("migrate", str(folder)).status == 0
    assert "name: digits\n  trainer" in (folder / "z.yaml").read_text(encoding="utf-8")
    assert "kind: TrainingRuntime\nmetadata" not in (folder / "z.yaml").read_text(encoding="utf-8")
    assert run("check", str(folder)).status == 0


def test_json_stays_json(tmp_path: Path) -> None:
    container = {"name": "jax", "image": "example.com/jax:1", "command": ["python3", "t.py"]}
    roles = {"Worker": {"replicas": 2, "template": {"spec": {"containers": [container]}}}}
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "JAXJob",
        "metadata": {"name": "j"},
        "spec": {"jaxReplicaSpecs": roles},
    }
    path = tmp_path / "job.json"
    path.write_text(json.dumps(job, indent=4), encoding="utf-8")
    assert run("migrate", str(path)).status == 0
    text = path.read_text(encoding="utf-8")
    first, end = json.JSONDecoder().raw_decode(text)
    second, _ = json.JSONDecoder().raw_decode(text[end:].lstrip())
    assert [first["kind"], second["kind"]] == ["TrainJob", "TrainingRuntime"]
    assert run("check", str(path)).status == 0
    assert run("migrate", "--check", str(path)).status == 0


def test_into_catalog_writes_no_runtime_where_one_fits(folder: Path) -> None:
    (folder / "old.yaml").write_bytes((SHAPES / "pytorch-torchrun-gpus.yaml").read_bytes())
    result = run("migrate", "--into", "catalog", str(folder))
    assert result.status == 0
    text = (folder / "old.yaml").read_text(encoding="utf-8")
    assert "runtimeRef:\n    name: torch-distributed\n" in text
    assert "nodeSelector" in text
    assert "TrainingRuntime" not in text
    assert run("check", str(folder)).status == 0


@pytest.mark.parametrize(
    ("version", "kind", "what"),
    [("kubeflow.org/v1", "MPIJob", "sshd"), ("kubeflow.org/v1beta2", "PyTorchJob", "older")],
)
def test_what_cannot_be_migrated_says_why_and_stays(version: str, kind: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: j}}\nspec: {{}}\n"
    path.write_text(text, encoding="utf-8")
    result = run("migrate", str(path))
    assert result.status == 1
    assert "error[CannotMigrate]" in result.stderr
    assert what in result.stderr
    assert path.read_text(encoding="utf-8") == text
    report = run("migrate", "--report", str(path))
    assert report.status == 1
    assert "1 that cannot be migrated" in report.stdout
