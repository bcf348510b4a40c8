"""Files of a git revision: which are written, and that nothing leaves the folder or the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from trainc.findings import CompileError
from trainc.options import Limits
from trainc.reading.git import Repository, repository_of, write_revision

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """git in a new repository, whatever the machine's settings."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "repository"
    folder.mkdir()
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]

    def git(*words: str) -> str:
        done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "-q", "-b", "main")
    monkeypatch.chdir(folder)
    return git


def commit(git: Git, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    git("add", "-A")
    git("commit", "-q", "--allow-empty", "-m", "x")


def written(revision: str, target: Path) -> dict[str, str]:
    target.mkdir()
    write_revision(repository_of("."), revision, str(target), Limits())
    return {str(path.relative_to(target)): path.read_bytes().decode() for path in sorted(target.rglob("*.*"))}


def test_what_trainc_reads_is_written_as_it_was(git: Git, tmp_path: Path) -> None:
    files = {"a.yaml": "a: 1\r\n", "deep/b.yml": "b\n", "c d.json": "{}", "deep/t.yaml.j2": "é", "README.md": "no"}
    commit(git, files)
    commit(git, {"a.yaml": "later"})
    files.pop("README.md")
    assert written("HEAD~1", tmp_path / "old") == files
    assert written("main", tmp_path / "new") == {**files, "a.yaml": "later"}
    assert git("status", "--porcelain") == ""


def test_attributes_and_replacements_change_nothing(git: Git, tmp_path: Path) -> None:
    commit(git, {"a.yaml": "$Format:%H$\n", ".gitattributes": "a.yaml export-subst export-ignore text eol=crlf\n"})
    first = git("rev-parse", "HEAD")
    commit(git, {"a.yaml": "other\n"})
    git("replace", first, "HEAD")
    assert written(first, tmp_path / "t")["a.yaml"] == "$Format:%H$\n"


def test_links_stay_links(git: Git, tmp_path: Path) -> None:
    commit(git, {"real.yaml": "a: 1\n"})
    Path("link.yaml").symlink_to("real.yaml")
    Path("out.yaml").symlink_to("/etc/hostname")
    commit(git, {})
    target = tmp_path / "t"
    assert written("HEAD", target)["link.yaml"] == "a: 1\n"
    assert (target / "out.yaml").is_symlink()


def test_the_folder_is_told_from_the_top(git: Git) -> None:
    commit(git, {"a/b/c.yaml": ""})
    top = os.path.realpath(".")
    assert repository_of(".") == Repository(top, "")
    assert repository_of("a/b") == Repository(top, "a/b")


@pytest.mark.parametrize("revision", ["nope", "HEAD~9", "-h", "--help", "", "main:a.yaml", "$(touch x)", "a;b"])
def test_what_is_not_a_revision_is_refused(git: Git, tmp_path: Path, revision: str) -> None:
    commit(git, {"a.yaml": ""})
    with pytest.raises(CompileError) as refused:
        written(revision, tmp_path / "t")
    (found,) = refused.value.diagnostics
    assert found.code == "NoSuchRevision"
    assert repr(revision) in found.message
    assert git("status", "--porcelain") == ""


def test_a_folder_without_repository_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(CompileError, match="not in a git repository"):
        repository_of(str(tmp_path))


def test_a_machine_without_git_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CompileError, match="git cannot be run: no such file or directory"):
        repository_of(str(tmp_path))
