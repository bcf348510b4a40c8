"""A cache that a commit brings decides nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from commands import Result, run

from trainc.batch.cache import tracked_by_git

JOB = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a, namespace: b}\nspec: {runtimeRef: {name: torch-distributed}}\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a job, and with a cache in its working tree."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)
    monkeypatch.chdir(tmp_path)
    Path("jobs").mkdir()
    Path("jobs/a.yaml").write_text(JOB, encoding="utf-8")
    git("init", "-q")
    assert build().status == 0
    return tmp_path


def git(*words: str) -> None:
    subprocess.run(["git", *words], check=True, capture_output=True)


def build() -> Result:
    return run("build", "jobs", "--cache", ".cache/trainc", "--release", "2.3")


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_a_cache_that_git_tracks_is_neither_read_nor_written(version: str, repository: Path) -> None:
    git("config", "index.version", version)
    assert not tracked_by_git(".cache/trainc")
    (pack,) = Path(".cache/trainc").glob("*.pack")
    Path(".cache/trainc/0.pac").write_bytes(b"")
    git("add", "-f", ".cache")
    before = pack.read_bytes(), pack.stat().st_mtime_ns
    result = build()
    assert result.status == 0
    assert "git tracks files in it" in result.stderr
    assert (pack.read_bytes(), pack.stat().st_mtime_ns) == before


def test_a_cache_that_git_does_not_track_is_used(repository: Path) -> None:
    git("add", "-A")
    assert not tracked_by_git(".cache/trainc")
    assert not tracked_by_git("/")
    assert build().stderr == ""


def test_a_worktree_has_its_index_elsewhere(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "x")
    other = tmp_path_factory.mktemp("other") / "tree"
    git("worktree", "add", "-q", str(other))
    shutil.copytree(".cache", other / ".cache")
    os.chdir(other)
    assert not tracked_by_git(".cache/trainc")
    git("add", "-f", ".cache")
    assert tracked_by_git(".cache/trainc")
