"""What is opened for reading: regular files inside the folders given, in one place of the code, and up to a bound."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Result, run

from trainc.reading.opening import NoRegularFileError, open_file, read_file

OPENED = Path(__file__).with_name("opened.py")
JOB = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec: {runtimeRef: {name: torch-distributed}}
"""
WRONG = "x1: 1\n" + JOB
OVERLAY = "apiVersion: trainc/v1alpha1\nkind: Overlay\n"
SECRET = "secret: hunter2\n" * 3
ONLY = "trainc.reading.opening"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a job and an overlay, beside a file that is no part of it."""
    top = tmp_path / "repository"
    for name, text in {
        "jobs/llm.yaml": JOB,
        "jobs/t.yaml.j2": JOB.replace("llm", "t"),
        "jobs/wrong.yaml": "kind: TrainJob\nmetadata: {name: [}\n",
        "overlay/overlay.yaml": OVERLAY + "patches: [{path: p.yaml, target: {kind: TrainJob}}]\n",
        "overlay/p.yaml": "metadata: {labels: {a: b}}\n",
        "good/llm.yaml": JOB,
        "trainc.yaml": "release: '2.3'\n",
        "kustomization.yaml": "validators: [overlay/overlay.yaml]\n",
        "../secret.yaml": SECRET,
    }.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text, encoding="utf-8")
    (top / ".git").mkdir()
    monkeypatch.chdir(top)
    return top


@pytest.mark.parametrize(
    "command",
    [
        "build jobs", "build good --overlay overlay", "build good -o out", "build good -o out --check", "check jobs",
        "check jobs --format sarif", "explain good", "graph good",
        "report good -o page.html", "migrate jobs --diff", "diff good jobs", "diff good good", "krm overlay/overlay.yaml",
        "krm", "cmp", "schema", "runtimes list", "rule UnknownField", "init started",
    ],
)  # fmt: skip
def test_one_place_opens_files_for_reading(command: str, repository: Path) -> None:
    given = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n" if command == "krm" else JOB
    for _ in range(2):  # What the first one has written, the second one reads.
        words = [sys.executable, str(OPENED), *command.split()]
        done = subprocess.run(words, cwd=repository, input=given, capture_output=True, text=True, check=False)
        opened = json.loads(done.stderr.rstrip("\n").rpartition("\n")[2])
        assert {module for path, module in opened} <= {ONLY}, opened
        assert {path for path, _ in opened if not path.startswith(str(repository))} == set()


def names(repository: Path, *words: str) -> str:
    """What a command that must fail says."""
    result = run(*words)
    assert result.status == 1
    assert result.stdout == ""
    assert "hunter2" not in result.stderr
    return result.stderr


@pytest.mark.parametrize("command", ["check", "build", "cmp"])
@pytest.mark.parametrize("sources", ["[.]", "['catalog:{outside}']", "['.//{outside}']", "['./{outside}']"])
def test_a_file_whose_name_looks_like_another_place_is_quoted_from_where_it_was_read(
    command: str, sources: str, repository: Path
) -> None:
    outside = str(repository.parent / "secret.yaml")
    for folder in ("catalog:", "."):
        bait = Path(f"{folder}/{outside}")
        bait.parent.mkdir(parents=True, exist_ok=True)
        bait.write_text(WRONG, encoding="utf-8")
    Path("jobs/wrong.yaml").unlink()
    Path("trainc.yaml").write_text(f"release: '2.3'\nsources: {sources.format(outside=outside)}\n", encoding="utf-8")
    reported = names(repository, command)
    assert "x1" in reported


def test_the_catalog_gives_no_other_file() -> None:
    from trainc.reading.catalog import text_of

    for name in (
        "catalog:/etc/hostname",
        "catalog:../pyproject.toml",
        "catalog:../README.md",
    ):
        with pytest.raises(FileNotFoundError):
            text_of(name)


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    file, link, pipe = tmp_path / "file", tmp_path / "link", tmp_path / "pipe"
    file.write_text("a" * 100, encoding="utf-8")
    link.symlink_to(file)
    os.mkfifo(pipe)
    assert read_file(file, 100) == read_file(link, 100) == b"a" * 100
    for path in (pipe, "/dev/zero", f"{file}\0", os.devnull):
        with pytest.raises(NoRegularFileError):
            open_file(path)
    with pytest.raises(NoRegularFileError):
        open_file(link, links=False)
    with pytest.raises(NoRegularFileError, match="more than 99 bytes"):
        read_file(file, 99)


def test_a_pipe_of_the_shell_is_what_its_user_has_named(repository: Path) -> None:
    words = f"{sys.executable} -m trainc build <(cat good/llm.yaml) --release 2.3"
    done = subprocess.run(["bash", "-c", words], cwd=repository, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["jobs/llm.yaml", "overlay/overlay.yaml", "overlay/p.yaml", "trainc.yaml"])
def test_nothing_waits_for_a_pipe(name: str, repository: Path) -> None:
    Path(name).unlink()
    os.mkfifo(name)
    Path("jobs/wrong.yaml").unlink()
    reported = names(repository, "build", "jobs", "--overlay", "overlay", "--config", "trainc.yaml")
    assert "regular file" in reported


def test_settings_do_not_name_the_standard_input(repository: Path) -> None:
    Path("trainc.yaml").write_text("release: '2.3'\nsources: ['-']\n", encoding="utf-8")
    result = run("check", stdin=JOB.encode())
    assert (result.status, "NoSuchPath" in result.stderr) == (1, True)


@pytest.mark.parametrize("entry", ["/dev/zero", "../secret.yaml", "pipe", "'a\\0b'", "link", "/etc/passwd"])
def test_validators_lead_nowhere_else(entry: str, repository: Path) -> None:
    os.mkfifo("pipe")
    Path("link").symlink_to("/dev/zero")
    Path("kustomization.yaml").write_text(f"validators: [{entry.replace(chr(39), chr(34))}]\n", encoding="utf-8")
    configuration = OVERLAY.replace("\nkind", "\nkind", 1) + "metadata: {name: a}\n"
    items = "".join(f"  {line}\n" for line in JOB.splitlines())
    function = "".join(f"  {line}\n" for line in configuration.splitlines())
    text = (
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
        f"items:\n- {items.strip()}\nfunctionConfig:\n{function}"
    )
    result: Result = run("krm", stdin=text.encode())
    assert result.status == 0, result.stderr


@pytest.mark.parametrize("name", ["owned", "journal", "../team-a/llm.yaml"])
@pytest.mark.parametrize("what", ["link", "pipe"])
def test_nothing_of_an_output_folder_leads_elsewhere_or_waits(name: str, what: str, repository: Path) -> None:
    planted = Path("out/.trainc") / name
    planted.parent.mkdir(parents=True, exist_ok=True)
    Path("out/.trainc").mkdir(exist_ok=True)
    if what == "link":
        planted.symlink_to("/dev/zero")
    else:
        os.mkfifo(planted)
    for flags in ((), ("--check",)):
        result = run("build", "good", "-o", "out", *flags)
        assert result.status in (0, 1), result.stderr
    assert not Path("/dev/zero").is_symlink()


@pytest.mark.parametrize("output", [".git/refs/heads", ".git", "a/../.GIT/hooks", "team/.git/x"])
def test_settings_do_not_write_into_git_s_own_folder(output: str, repository: Path) -> None:
    Path("trainc.yaml").write_text(f"release: '2.3'\nsources: [good]\noutput: {output}\n", encoding="utf-8")
    reported = names(repository, "build", "good")
    assert "inside the .git folder" in reported
    assert list(Path(".git").iterdir()) == []


def test_settings_above_the_repository_are_no_settings_of_it(repository: Path) -> None:
    Path("trainc.yaml").unlink()
    Path("../trainc.yaml").write_text("release: '2.0'\noutput: evil\nsources: [secret.yaml]\n", encoding="utf-8")
    result = run("build", "good")
    assert result.status == 0
    assert "ReleaseNotPinned" in result.stderr
    assert not Path("../evil").exists()
