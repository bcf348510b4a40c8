"""Programs that lie in the repository, or in the current folder, are input: none is started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trainc.reading.git import find_program

JOB = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a, namespace: b}\nspec: {runtimeRef: {name: torch-distributed}}\n"
PLANTED = '#!/bin/sh\necho "$0" >> "$PLANTED"\nexit 1\n'


def plant(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(PLANTED, encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a commit, and programs called as those that trainc starts."""
    root = tmp_path / "repository"
    root.mkdir()
    (root / "job.yaml").write_text(JOB, encoding="utf-8")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *words], cwd=root, check=True)
    for name in ("git", "kubectl", "trainc", "torchrun", "python3"):
        for folder in (".", "bin", "node_modules/.bin"):
            plant(root / folder / name)
    monkeypatch.chdir(root)
    return root


@pytest.mark.parametrize(
    "command", ["diff git:HEAD job.yaml", "doctor", "build job.yaml", "init x", "rule UnknownField"]
)
def test_none_of_the_repository_is_started(command: str, repository: Path, tmp_path: Path) -> None:
    planted = tmp_path / "planted"
    path = os.pathsep.join((".", "", "bin", str(repository / "node_modules" / ".bin"), os.environ["PATH"]))
    environ = {**os.environ, "PATH": path, "PLANTED": str(planted)}
    words = [sys.executable, "-P", "-m", "trainc", *command.split()]
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=False)
    assert not planted.exists(), planted.read_text(encoding="utf-8")
    assert done.returncode in (0, 1, 2), done.stderr


def test_a_program_is_found_by_an_absolute_path_outside_the_repository(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path / "tools" / "git")
    monkeypatch.setenv("PATH", os.pathsep.join((".", "bin", str(repository / "bin"), str(tmp_path / "tools"))))
    assert find_program("git") == str(tmp_path / "tools" / "git")
    # What `trainc run` starts is the job's in any case, and may come from an environment in the repository.
    assert find_program("torchrun", trusted=True) == str(repository / "bin" / "torchrun")


def test_a_link_into_the_repository_does_not_help(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(repository / "bin")
    monkeypatch.setenv("PATH", str(tmp_path / "link"))
    assert find_program("git") is None
