"""The first line of a rendered file names its source from the folder of trainc.yaml, wherever the build runs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from commands import run

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: nlp}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {image: "example.com/train:1"}
"""
RENDERED = "rendered/nlp/llm.yaml"
LINE = "# Compiled by trainc from jobs/llm.yaml. Edit that file instead.\n"
OF_0_1_0 = "# Compiled by trainc from ml/jobs/llm.yaml. Edit that file instead.\n"


def git(*words: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *identity, *words], check=True, capture_output=True, text=True).stdout


@pytest.fixture(autouse=True)
def monorepo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose folder `ml` has a trainc.yaml, with its output committed."""
    root = tmp_path / "mono"
    (root / "ml" / "jobs").mkdir(parents=True)
    (root / "ml" / "trainc.yaml").write_text('release: "2.3"\nsources: [jobs]\noutput: rendered\n', encoding="utf-8")
    (root / "ml" / "jobs" / "llm.yaml").write_text(JOB, encoding="utf-8")
    monkeypatch.chdir(root)
    git("init", "-q")
    monkeypatch.chdir(root / "ml")
    assert run("build").status == 0
    git("add", "-A")
    git("commit", "-q", "-m", "first")
    return root


def test_it_is_relative_to_the_folder_of_trainc_yaml() -> None:
    assert Path(RENDERED).read_text(encoding="utf-8").startswith(LINE)
    assert run("build", "jobs/llm.yaml", "-o", "other").status == 0
    assert Path("other/nlp/llm.yaml").read_text(encoding="utf-8").startswith(LINE)


def test_a_clone_a_worktree_an_archive_and_a_subfolder_give_the_same_bytes(
    monorepo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Path(RENDERED).read_bytes()
    git("clone", "-q", str(monorepo), str(tmp_path / "clone"))
    git("worktree", "add", "-q", str(tmp_path / "worktree"))
    git("archive", "-o", str(tmp_path / "main.tar"), "HEAD:")
    shutil.unpack_archive(tmp_path / "main.tar", tmp_path / "archive")
    copies = [tmp_path / "clone" / "ml", tmp_path / "worktree" / "ml", tmp_path / "archive"]
    for folder in [*copies, *(copy / "jobs" for copy in copies), monorepo / "ml" / "jobs"]:
        monkeypatch.chdir(folder)
        assert run("build", "--check").status == 0
        assert run("build").status == 0
    assert [(copy / RENDERED).read_bytes() for copy in copies] == [before] * 3
    monkeypatch.chdir(monorepo)
    assert run("build", "--config", "ml/trainc.yaml", "--check").status == 0


def test_a_source_outside_that_folder_goes_by_its_name_alone() -> None:
    Path("../shared").mkdir()
    Path("../shared/big.yaml").write_text(JOB.replace("llm", "big"), encoding="utf-8")
    Path("trainc.yaml").write_text('release: "2.3"\nsources: [../shared]\noutput: rendered\n', encoding="utf-8")
    Path("jobs/llm.yaml").unlink()
    assert run("build").status == 0
    text = Path("rendered/nlp/big.yaml").read_text(encoding="utf-8")
    assert text.startswith("# Compiled by trainc from big.yaml. Edit that file instead.\n")


def test_without_trainc_yaml_a_git_folder_makes_no_difference() -> None:
    Path("trainc.yaml").unlink()
    texts = set()
    for _ in range(2):
        assert run("build", "jobs", "-o", "rendered", "--release", "2.3").status == 0
        texts.add(Path(RENDERED).read_text(encoding="utf-8"))
        shutil.rmtree("../.git", ignore_errors=True)
    assert [text.partition("\n")[0] for text in texts] == [
        "# Compiled by trainc from llm.yaml. Edit that file instead."
    ]


def of_0_1_0() -> None:
    """Name the source from the repository's root, as trainc 0.1.0 did."""
    text = Path(RENDERED).read_text(encoding="utf-8")
    Path(RENDERED).write_text(text.replace(LINE, OF_0_1_0), encoding="utf-8")


def test_files_of_0_1_0_change_that_line_once_and_nothing_else() -> None:
    before = Path(RENDERED).read_bytes()
    of_0_1_0()
    assert run("build", "--check").status == 1
    assert "1 file changed" in run("build").stderr
    assert Path(RENDERED).read_bytes() == before
    assert "up to date" in run("build").stderr


def test_a_file_of_0_1_0_is_not_pruned_by_a_slip_in_its_source() -> None:
    of_0_1_0()
    Path("jobs/other.yaml").write_text(JOB.replace("llm", "other"), encoding="utf-8")
    Path("jobs/llm.yaml").write_text("", encoding="utf-8")
    result = run("build")
    assert (result.status, "error[SourceSkipped]" in result.stderr) == (1, True)
    Path("jobs/llm.yaml").unlink()
    assert run("build").status == 0
    assert not Path(RENDERED).exists()


def test_a_file_at_the_root_with_the_same_path_is_not_the_source() -> None:
    Path("jobs/other.yaml").write_text(JOB.replace("llm", "other"), encoding="utf-8")
    Path("../jobs").mkdir()
    Path("../jobs/llm.yaml").write_text("", encoding="utf-8")
    Path("jobs/llm.yaml").unlink()
    assert run("build").status == 0
    assert not Path(RENDERED).exists()
