"""The first week of a team: from `trainc init` to a second branch that is merged, with the commands of hooks and CI."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import Result, run, shell_words

pytestmark = pytest.mark.slow

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: {name}
spec:
  runtimeRef:
    name: torch-team
  trainer:
    image: ghcr.io/example/train:1.0.0
    command: [torchrun, {name}.py]
    numNodes: {nodes}
    resourcesPerNode:
      limits:
        nvidia.com/gpu: 8
"""


def git(*words: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    done = subprocess.run(["git", *identity, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def done(*words: str) -> Result:
    result = run(*words)
    assert result.status == 0, (words, result.stdout, result.stderr)
    return result


def build() -> None:
    done("build")


def continuous_integration() -> None:
    """The steps of the workflow that init wrote, in their order."""
    workflow = yaml.safe_load(Path(".github/workflows/trainc.yaml").read_text(encoding="utf-8"))
    commands = [
        step["run"] for step in workflow["jobs"]["rendered"]["steps"] if step.get("run", "").startswith("trainc ")
    ]
    assert len(commands) >= 2
    for command in commands:
        done(*shell_words(command, BASE="")[1:])


def commit(message: str) -> None:
    git("add", "-A")
    git("commit", "--quiet", "--message", message)


def rendered() -> set[str]:
    return {path.stem for path in Path("rendered/prod").rglob("*.yaml")}


def headline(base: str) -> str:
    """Of production."""
    return str(json.loads(done("diff", base, "--format", "json").stdout)["environments"]["prod"]["headline"])


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new repository, pushed as it is."""
    done("init", str(tmp_path / "training"), "--requirement", "trainc==0.1.0")
    monkeypatch.chdir(tmp_path / "training")
    git("init", "--quiet", "--initial-branch=main")
    commit("trainc init")
    return tmp_path / "training"


def add_job(branch: str, name: str, nodes: int) -> None:
    git("switch", "--quiet", "--create", branch, "main")
    Path("jobs", f"{name}.yaml").write_text(JOB.format(name=name, nodes=nodes), encoding="utf-8")
    assert run("build", "--check").status == 1
    build()
    assert headline("git:main") == f"1 of 2 jobs is new, {nodes * 8} GPUs"
    continuous_integration()
    commit(f"add {name}")


def test_from_init_to_the_second_merged_branch(repository: Path) -> None:
    continuous_integration()
    assert "no changes" in done("diff", "rendered/").stdout

    # Looking at one job writes and removes nothing.
    shown = done("build", "jobs/pretrain.yaml")
    assert "kind: JobSet" in shown.stdout
    assert git("status", "--porcelain") == ""

    # Two people add a job each; both are merged without a conflict.
    add_job("vision", "vision", 2)
    add_job("speech", "speech", 3)
    git("switch", "--quiet", "main")
    git("merge", "--quiet", "--no-edit", "vision")
    git("merge", "--quiet", "--no-edit", "speech")
    continuous_integration()
    assert rendered() == {"pretrain", "vision", "speech"}
    assert not Path("rendered/prod/.trainc/owned").exists()

    # One job changes: the headline says which part of the cluster is touched, and nothing else is.
    git("switch", "--quiet", "--create", "bigger")
    path = Path("jobs/vision.yaml")
    path.write_text(path.read_text(encoding="utf-8").replace("numNodes: 2", "numNodes: 4"), encoding="utf-8")
    assert headline("git:main") == "1 of 3 jobs restarts, 16 GPUs"
    build()
    assert {line.split("/")[-1] for line in git("status", "--porcelain").splitlines()} == {"vision.yaml"}
    commit("a bigger job")
    continuous_integration()

    # A job that leaves is removed by a whole build, and by no other.
    Path("jobs/speech.yaml").unlink()
    done("build", "jobs/vision.yaml", "--output", "rendered/prod", "--overlay", "overlays/prod")
    assert "speech" in rendered()
    build()
    assert rendered() == {"pretrain", "vision"}
    assert headline("git:HEAD") == "1 of 3 jobs ends, 24 GPUs"
    commit("speech is done")
    git("switch", "--quiet", "main")
    git("merge", "--quiet", "--no-edit", "bigger")
    continuous_integration()


def test_a_repository_with_hooks_and_jobs_of_its_own_takes_trainc_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet", "--initial-branch=main")
    Path("README.md").write_text("Ours.\n", encoding="utf-8")
    Path(".pre-commit-config.yaml").write_text(
        "repos:\n  - repo: meta\n    hooks:\n      - id: identity\n", encoding="utf-8"
    )
    commit("before")
    done("init")
    assert git("diff", "--numstat").split()[1:] == ["0", ".pre-commit-config.yaml"]
    hooks: list[dict[str, Any]] = yaml.safe_load(Path(".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    for hook in hooks[1]["hooks"]:
        done(*hook["entry"].split()[1:])
    continuous_integration()
