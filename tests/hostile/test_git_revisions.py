"""Crafted git trees given to `diff`: nothing is written outside, and what is too large is known before it is read."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import run

from trainc.findings import CompileError
from trainc.options import Limits
from trainc.reading.git import repository_of, write_revision

JOB = b"""apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: a, namespace: b}
spec: {runtimeRef: {name: torch-distributed}}
"""
FILE, LINK, FOLDER = "100644", "120000", "40000"
Tree = Callable[..., str]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """Makes a branch `evil` of entries (mode, name, bytes, or the entries of a folder); git checks none of them."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "t")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "t@example.com")
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "temporary").mkdir()

    def git(*words: str, given: bytes = b"") -> str:
        return subprocess.run(["git", *words], input=given, check=True, capture_output=True).stdout.decode().strip()

    def made(entries: list[tuple[str, str, object]]) -> str:
        raw = b""
        for mode, name, content in entries:
            if isinstance(content, list):
                digest = made(content)
            elif isinstance(content, bytes):
                digest = git("hash-object", "-w", "--stdin", given=content)
            else:
                digest = str(content)
            raw += f"{mode} {name}\0".encode() + bytes.fromhex(digest)
        return git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", given=raw)

    def commit(*entries: tuple[str, str, object]) -> str:
        digest = made(list(entries))
        git("update-ref", "refs/heads/evil", git("commit-tree", digest, "-m", "x"))
        return digest

    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "x")
    Path("job.yaml").write_bytes(JOB)
    return commit


def test_no_link_is_made_below_a_link(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    outside = str(tmp_path / "home").encode()
    for name in ("x", "X"):
        tree((FILE, "job.yaml", JOB), (LINK, name, outside), (FOLDER, "x", [(LINK, "evil", b"/repo/evil.sh")]))
        result = run("diff", "git:evil", "--release", "2.3")
        assert (result.status, result.stdout) == (1, ""), result.stderr
        assert "error[UnreadableFile]" in result.stderr
        assert list((tmp_path / "home").iterdir()) == []
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize(
    "entries",
    [
        [(LINK, "a.yaml", b"a\0b")],
        [(LINK, "a.yaml", b"")],
        [(LINK, "a.yaml", b"a" * 5000)],
        [(FILE, "a.yaml", JOB), (FILE, "a.yaml", JOB)],
        [(FILE, "a.yaml", JOB), (FOLDER, "a.yaml", [(FILE, "b.yaml", JOB)])],
        [(FILE, "a" * 300 + ".yaml", JOB)],
        [(FILE, "a.yaml", "1" * 40)],
    ],
)
def test_what_no_folder_can_hold_is_refused_with_a_diagnostic(
    entries: list[tuple[str, str, object]], tree: Tree, tmp_path: Path
) -> None:
    tree((FILE, "0.yaml", JOB), *entries)
    result = run("diff", "git:evil", "--release", "2.3")
    assert (result.status, result.stdout) == (1, "")
    assert "error[" in result.stderr
    assert "trainc-diff" not in result.stderr
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_tree_of_millions_of_files_is_refused_while_it_is_listed(tree: Tree, tmp_path: Path) -> None:
    inner = tree(*((FILE, f"{i}.yaml", JOB) for i in range(10)))
    for _ in range(5):
        inner = tree(*((FOLDER, f"{i}", inner) for i in range(10)))
    tree((FOLDER, "bomb", inner), (FILE, "job.yaml", JOB))
    with pytest.raises(CompileError, match="more than 1,000,000 bytes"):
        write_revision(repository_of("."), "evil", str(tmp_path), Limits(file_bytes=1_000_000))
    assert list(tmp_path.glob("*.yaml")) == []
    # The one file that is asked for costs what it costs.
    result = run("diff", "git:evil:job.yaml", "job.yaml", "--max-file-bytes", "10000", "--release", "2.3")
    assert (result.status, result.stderr) == (0, "")


def test_what_is_too_large_is_refused_before_it_is_read(tree: Tree, tmp_path: Path) -> None:
    tree(*((FILE, f"{i}.yaml", b"#" * 100_000) for i in range(61)))
    target = tmp_path / "target"
    target.mkdir()
    with pytest.raises(CompileError, match="limit of bytes, 5,000,000"):
        write_revision(repository_of("."), "evil", str(target), Limits(file_bytes=5_000_000))
    with pytest.raises(CompileError, match="more than 60 files"):
        write_revision(repository_of("."), "evil", str(target), Limits(documents=60))
    assert list(target.iterdir()) == []


def test_a_part_of_a_revision_is_read_with_the_settings_and_runtimes_that_it_needs(tree: Tree) -> None:
    settings = b"release: '2.3'\nruntimes: [runtimes]\n"
    runtime = JOB.partition(b"kind")[0] + (
        b"kind: ClusterTrainingRuntime\nmetadata: {name: mine}\nspec: {template: {spec: {replicatedJobs: [{name: node, "
        b"template: {spec: {template: {spec: {containers: [{name: node, image: 'a:1'}]}}}}}]}}}\n"
    )
    job = JOB.replace(b"torch-distributed", b"mine")
    tree(
        (FOLDER, "jobs", [(FILE, "job.yaml", job)]),
        (FOLDER, "runtimes", [(FILE, "mine.yaml", runtime)]),
        (FILE, "trainc.yaml", settings),
    )
    result = run("diff", "git:evil:jobs", "git:evil:jobs/job.yaml")
    assert (result.status, result.stderr) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="the name is none there")
def test_pathspecs_are_taken_for_what_they_are(tree: Tree) -> None:
    tree((FILE, "job.yaml", JOB), (FILE, ":(glob)*.yaml", JOB.replace(b"name: a", b"name: b")))
    result = run("diff", "git:evil::(glob)*.yaml", "job.yaml", "--release", "2.3")
    assert result.status == 0
    assert "b/b" in result.stdout
