"""`trainc new`: a TrainJob from flags, which every runtime and release takes, or an error and no file."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from commands import run

from trainc.reading import catalog

RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch-h100, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy: {numNodes: 2, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: workers
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: "example.com/base:1"}]}}}
"""
FLAGS = [
    "--nodes",
    "2",
    "--queue",
    "nlp",
    "--namespace",
    "nlp",
    "--mount",
    "datasets:/data",
    "--secret",
    "hf:token=HF_TOKEN",
]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("jobs").mkdir()
    Path("runtimes").mkdir()
    Path("runtimes/torch-h100.yaml").write_text(RUNTIME, encoding="utf-8")
    Path("trainc.yaml").write_text('release: "2.3"\nsources: [jobs]\nruntimes: [runtimes]\n', encoding="utf-8")


def test_a_job_with_everything_checks_clean_and_says_what_was_asked_for() -> None:
    words = ["--gpus", "8", "--image", "example.com/train:1", "--", "torchrun", "train.py", "--epochs", "3"]
    result = run("new", "bert", "--runtime", "torch-h100", *FLAGS, *words)
    assert (result.status, result.stderr) == (0, "jobs/bert.yaml: created; compile it with `trainc build`\n")
    checked = run("check", "--strict")
    assert (checked.status, "1 TrainJob compiled" in checked.stderr) == (0, True), checked.stderr
    [jobset] = yaml.safe_load_all(run("build").stdout)
    assert (jobset["metadata"]["namespace"], jobset["metadata"]["name"]) == ("nlp", "bert")
    assert jobset["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "nlp"
    pod = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert container["command"] == ["torchrun", "train.py", "--epochs", "3"]
    assert container["volumeMounts"] == [{"name": "datasets", "mountPath": "/data"}]
    assert pod["volumes"] == [{"name": "datasets", "persistentVolumeClaim": {"claimName": "datasets"}}]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": "8"}
    secret = {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}
    assert secret in container["env"]


@pytest.mark.parametrize("release", ["2.0", "2.1", "2.2", "2.3"])
def test_every_runtime_of_the_catalog_takes_the_flags(release: str) -> None:
    for name in catalog.names(release):
        # What these fine-tune is the matter of their own fields.
        flags = [] if name.startswith(("torchtune", "deepspeed", "mlx")) or "with-cache" in name else FLAGS
        result = run("new", "job", "--runtime", name, "--release", release, "-o", "-", *flags)
        errors = [line for line in result.stderr.splitlines() if "error[" in line]
        assert errors == [], (name, result.stderr)
        assert yaml.safe_load(result.stdout)["spec"]["runtimeRef"] == {"name": name}


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["bert", "--runtime", "torch-h10"], 1, "did you mean torch-h100"),
        (["Bert", "--runtime", "torch-h100"], 1, "error[InvalidName]"),
        (["../bert", "--runtime", "torch-h100"], 2, "cannot be the name"),
        (["bert", "--runtime", "torch-h100", "--nodes", "0"], 2, "not a positive number"),
        (["bert", "--runtime", "torch-h100", "--mount", "claim"], 2, "CLAIM:PATH"),
        (["bert", "--runtime", "torch-h100", "--mount", "claim:relative"], 2, "CLAIM:PATH"),
        (["bert", "--runtime", "torch-h100", "--secret", "hf:token"], 2, "NAME:KEY=VARIABLE"),
        (["bert", "--runtime", "torch-h100", "--image", "a b"], 1, "error["),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(words: list[str], status: int, said: str) -> None:
    result = run("new", *words)
    assert (result.status, said in result.stderr) == (status, True), result.stderr
    assert list(Path("jobs").iterdir()) == []


def test_no_file_and_no_job_is_taken_over() -> None:
    assert run("new", "bert", "--runtime", "torch-h100").status == 0
    text = Path("jobs/bert.yaml").read_text(encoding="utf-8")
    assert "already exists" in run("new", "bert", "--runtime", "torch-h100", "--nodes", "4").stderr
    again = run("new", "bert", "--runtime", "torch-h100", "-o", "jobs/other.yaml")
    assert (again.status, "there is a TrainJob bert already" in again.stderr) == (1, True)
    assert [path.name for path in Path("jobs").iterdir()] == ["bert.yaml"]
    assert Path("jobs/bert.yaml").read_text(encoding="utf-8") == text


def test_without_settings_other_files_of_the_folder_do_not_matter() -> None:
    Path("trainc.yaml").unlink()
    Path("jobs/copy.yaml").write_text(RUNTIME, encoding="utf-8")
    Path("jobs/broken.yaml").write_text("kind: TrainJob\nspec: {", encoding="utf-8")
    result = run("new", "bert", "--runtime", "torch-distributed", "--release", "2.3")
    assert (result.status, result.stderr) == (0, "bert.yaml: created; compile it with `trainc build`\n")
    assert run("new", "b", "--runtime", "torch-h100", "--runtimes", "runtimes", "--release", "2.3").status == 0
