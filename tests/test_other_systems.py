"""What Windows and macOS do otherwise, played by fakes: separators, newlines, the search for programs, links to folders."""

from __future__ import annotations

import builtins
import io
import os
from pathlib import Path
from typing import Any

import pytest
from commands import run

from trainc.findings import Diagnostic, Source
from trainc.findings.policy import Rule
from trainc.reading import catalog
from trainc.reading.document import Document
from trainc.reading.files import shown_path
from trainc.reading.git import find_program

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 2}
"""
SETTINGS = 'release: "2.3"\nsources: [jobs]\noutput: rendered\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("jobs").mkdir()
    Path("jobs/llm.yaml").write_text(JOB, encoding="utf-8")
    Path("trainc.yaml").write_text(SETTINGS, encoding="utf-8")
    return tmp_path


@pytest.fixture
def windows_newlines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that is written without a word about newlines gets those of Windows."""
    real = builtins.open

    def translating(
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: Any = None,
        errors: Any = None,
        newline: str | None = None,
        *more: Any,
        **named: Any,
    ) -> Any:
        writes_text = "b" not in mode and bool(set("wxa") & set(mode))
        newline = "\r\n" if writes_text and newline is None else newline
        return real(file, mode, buffering, encoding, errors, newline, *more, **named)

    monkeypatch.setattr(builtins, "open", translating)
    monkeypatch.setattr(io, "open", translating)


@pytest.mark.usefixtures("windows_newlines")
def test_the_fake_translates_what_says_nothing(folder: Path) -> None:
    with open("plain.txt", "w", encoding="utf-8") as file:
        file.write("a\n")
    assert (folder / "plain.txt").read_bytes() == b"a\r\n"


@pytest.mark.usefixtures("windows_newlines")
@pytest.mark.parametrize(
    "words",
    [
        ("build",),
        ("new", "bert", "--runtime", "torch-distributed"),
        ("report", "-o", "report.html"),
        ("init", "repository", "--requirement", "trainc==0.2.0"),
    ],
    ids=lambda words: words[0],
)
def test_files_have_the_same_bytes_as_on_other_systems(folder: Path, words: tuple[str, ...]) -> None:
    result = run(*words)
    assert result.status == 0, result.stderr
    written = [path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".png", ".whl")]
    assert len(written) > 2
    assert [path.name for path in written if b"\r" in path.read_bytes()] == []


@pytest.mark.usefixtures("windows_newlines")
def test_a_migrated_file_keeps_its_own_newlines(folder: Path) -> None:
    old = JOB.replace("numNodes: 2", 'numProcPerNode: "4"')
    for name, newline in (("unix", "\n"), ("windows", "\r\n")):
        (folder / f"{name}.yaml").write_bytes(old.replace("\n", newline).encode())
        assert run("migrate", f"{name}.yaml").status == 0
        migrated = (folder / f"{name}.yaml").read_bytes()
        assert b"numProcPerNode: 4" in migrated
        assert migrated.count(b"\n") == migrated.count(newline.encode()) == len(old.splitlines())


def test_a_source_with_other_newlines_compiles_to_the_same_bytes_and_has_its_problems_in_the_same_places() -> None:
    found = []
    for newline in ("\n", "\r\n"):
        Path("jobs/llm.yaml").write_bytes(JOB.replace("\n", newline).encode())
        manifests = run("build", "jobs/llm.yaml").stdout
        Path("jobs/llm.yaml").write_bytes(JOB.replace("numNodes", "numNode").replace("\n", newline).encode())
        found.append((manifests, run("check", "jobs/llm.yaml").stderr))
    assert found[0] == found[1]
    assert "\r" not in found[1][0]


def test_paths_are_shown_and_matched_with_slashes(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = Rule("UnlikelyAmount", "ignore", "why", "jobs/nlp/*.yaml", "")
    monkeypatch.setattr(os, "sep", "\\")
    assert shown_path("jobs\\nlp\\llm.yaml") == "jobs/nlp/llm.yaml"
    places = ("jobs\\nlp\\llm.yaml", "jobs\\vision\\llm.yaml")
    found = (Diagnostic("UnlikelyAmount", "warning", "x", source=Source(place, 1, 1)) for place in places)
    assert [rule.concerns(one) for one in found] == [True, False]


@pytest.mark.parametrize("name", ["../outside", "a/b", "a\\b", ".hidden"])
def test_a_name_never_is_a_path_whatever_separates_folders(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for separator in ("/", "\\"):
        monkeypatch.setattr(os, "sep", separator)
        assert not isinstance(catalog.find(name, "2.3"), Document)
        assert run("new", name, "--runtime", "torch-distributed").status != 0
    assert sorted(path.name for path in Path("jobs").iterdir()) == ["llm.yaml"]


def made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    path.chmod(0o755)
    return path


def test_windows_finds_a_program_by_its_ending_and_never_in_the_current_folder(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path_factory.mktemp("programs")
    made(folder / "git.EXE")
    made(elsewhere / "git")  # A script for another shell.
    monkeypatch.setenv("PATHEXT", os.pathsep.join((".COM", ".EXE")))
    monkeypatch.setenv("PATH", os.pathsep.join((".", "", "relative", str(elsewhere))))
    monkeypatch.setattr(os, "name", "nt")
    assert find_program("git") is None
    expected = made(elsewhere / "git.EXE")
    assert find_program("git") == str(expected)


def test_a_repository_below_a_linked_folder_is_the_same_as_on_macos_below_tmp(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path_factory.mktemp("private") / "tmp"
    link.symlink_to(folder)
    direct = run("build").stderr
    rendered = (folder / "rendered" / "team-a" / "llm.yaml").read_bytes()
    monkeypatch.chdir(link)
    assert run("build", "--check").status == 0
    (folder / "rendered" / "team-a" / "llm.yaml").unlink()
    assert run("build").stderr == direct
    assert (folder / "rendered" / "team-a" / "llm.yaml").read_bytes() == rendered
