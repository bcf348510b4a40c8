"""`trainc diff` as a newcomer types it: in a new repository, outside of git, in a shallow clone, before an upgrade."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from commands import run

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: NAME, namespace: team-a}
spec:
  runtimeRef: {name: torch-distributed}
  labels: {team: a}
  trainer: {command: [torchrun, train.py], numNodes: 2, numProcPerNode: auto}
"""


def git(*words: str, folder: Path) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What `trainc init` writes, committed."""
    folder = tmp_path / "training"
    assert run("init", str(folder)).status == 0
    git("init", folder=folder)
    git("add", "-A", folder=folder)
    git("commit", "-m", "jobs", folder=folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    "words",
    [(), ("rendered/",), ("rendered",), ("rendered/prod",), ("jobs",), ("git:HEAD:rendered", "rendered")],
    ids=" ".join,
)
def test_a_new_repository_has_no_changes(repository: Path, words: tuple[str, ...]) -> None:
    result = run("diff", *words)
    assert (result.status, result.stderr) == (0, "")
    assert ": no changes in " in result.stdout
    assert all("no changes" in line for line in result.stdout.splitlines() if "→" in line)


def test_a_change_shows_against_the_folder_of_all_output(repository: Path) -> None:
    job = repository / "jobs" / "pretrain.yaml"
    job.write_text(job.read_text(encoding="utf-8").replace("numNodes: 4", "numNodes: 8"), encoding="utf-8")
    lines = run("diff", "rendered/").stdout.splitlines()
    start = lines.index("rendered/prod → working tree")
    assert lines[start + 1] == "1 of 1 job restarts, 32 GPUs"


def test_outside_of_git_it_says_so_and_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.yaml").write_text("kind: TrainJob\n  broken: [\n", encoding="utf-8")
    for words in ((), ("git:main",), (".", "git:main")):
        result = run("diff", *words)
        assert result.status == 1
        assert result.stderr.count("error[") == 1
        assert "this folder is not in a git repository" in result.stderr


def test_a_shallow_clone_is_told_how_to_get_the_rest(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("commit", "--allow-empty", "-m", "more", folder=repository)
    git("clone", "--depth", "1", repository.as_uri(), "shallow", folder=tmp_path)
    monkeypatch.chdir(tmp_path / "shallow")
    assert "`fetch-depth: 0`" in run("diff", "git:HEAD~1").stderr
    monkeypatch.chdir(repository)
    assert "fetch-depth" not in run("diff", "git:HEAD~7").stderr


def test_what_a_release_drops_is_reported_even_where_warnings_are_not(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(JOB.replace("NAME", name), encoding="utf-8")
    words = ("diff", str(tmp_path), "--releases", "2.1..2.3", "--quiet", "--format", "json")
    notes = json.loads(run(*words).stdout)["notes"]
    dropped = [note for note in notes if note.startswith("Trainer 2.3 has no ")]
    assert [note.split()[4].rstrip(",") for note in dropped] == ["spec.labels", "spec.trainer.numProcPerNode"]
    assert "which TrainJob team-a/a, TrainJob team-a/b use;" in dropped[0]
    backwards = run("diff", str(tmp_path), "--releases", "2.3..2.1", "--format", "json")
    assert not any("has no" in note for note in json.loads(backwards.stdout)["notes"])
