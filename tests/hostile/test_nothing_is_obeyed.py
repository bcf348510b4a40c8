"""What a terminal, a browser or a CI runner would obey stands in no output that people or CI read."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from commands import run
from tables import cases

from trainc.findings.text import escape_line, escape_report, escape_xml
from trainc.reading.opening import is_git_folder

HEAD = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: "
JOB = (
    HEAD
    + "TrainJob\nmetadata: {name: llm, namespace: team-a}\nspec: {runtimeRef: {name: mine}, trainer: {image: %s}}\n"
)
RUNTIME = (
    HEAD
    + "ClusterTrainingRuntime\nmetadata: {name: mine}\nspec: {template: {spec: {replicatedJobs: [{name: node, template: "
    "{spec: {template: {spec: {volumes: [{name: v, hostPath: {path: %s}}], nodeSelector: {%s: a}, "
    "containers: [{name: node, image: 'a:1', command: [sh, -c, %s]}]}}}}}]}}}\n"
)
TEXT = '"/\\n::error::x\\e]0;pwn\\a\\e[31m\\e[8m\\u202e\\x9b##[add-mask]error##vso[task.x]y\\u2028::stop-commands::x\\r::debug::x"'
CLUSTER = (
    "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: %s}\nspec: {cohortName: x, stopPolicy: 7}\n---\n"
    "apiVersion: v1\nkind: Node\nmetadata: {name: a, labels: {b: %s}}\nstatus: {allocatable: {cpu: x}}\n"
)
V1 = (
    "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: old, namespace: team-a}\nspec: {pytorchReplicaSpecs: {Worker: "
    "{template: {spec: {containers: [{name: pytorch, image: %s}]}}}}}\n"
)
COMMANDS = (
    "explain jobs", "explain jobs image", "explain jobs containers[node].command", "explain jobs nodeSelector", "graph jobs",
    "graph jobs --format mermaid", "graph jobs --format dot", "graph jobs --format svg", "report -o -", "check", "build -q -o out --check",
    "diff jobs other", "diff jobs other --format markdown", "check --format text", "fits jobs --cluster cluster.yaml",
    "migrate --report v1.yaml", "migrate --check v1.yaml",
)  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose every text is a command to somebody."""
    for folder, text in (("jobs", TEXT), ("other", "b")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "job.yaml").write_text(JOB % text, encoding="utf-8")
        (tmp_path / folder / "rt.yaml").write_text(RUNTIME % ((text,) * 3), encoding="utf-8")
    (tmp_path / "::add-mask::error.yaml").write_text(JOB % "a" + "  x: 1\n  nme##[x]: 1\n", encoding="utf-8")
    (tmp_path / "cluster.yaml").write_text(CLUSTER % (TEXT, TEXT), encoding="utf-8")
    (tmp_path / "v1.yaml").write_text(V1 % TEXT, encoding="utf-8")
    (tmp_path / "trainc.yaml").write_text(
        "release: '2.2'\nsemantics: controller\nsources: [jobs]\noutput: out\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_unobeyed(text: str) -> None:
    assert [c for c in text if not (c.isprintable() or c in "\n\t")] == []
    assert not re.search(r"##\w*\[", text)
    assert [line for line in re.split("[\n\r]", text) if line.strip().startswith("::")] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_says_what_somebody_would_obey(command: str, repository: Path) -> None:
    result = run(*command.split())
    assert result.status in (0, 1), result.stderr
    assert_unobeyed(result.stderr)
    assert result.stdout or "check" in command or "fits" in command
    if "svg" in command:
        pytest.importorskip("svg")
        ET.fromstring(result.stdout)
    elif "report" not in command:
        assert_unobeyed(result.stdout)


@pytest.mark.parametrize("command", ["check", "build", "explain", "graph", "migrate --check", "diff jobs"])
def test_the_name_of_a_file_is_not_a_command(command: str, repository: Path) -> None:
    result = run(*command.split(), "::add-mask::error.yaml")
    assert result.status in (0, 1)
    assert_unobeyed(result.stderr)


def test_colours_stay_and_nothing_else() -> None:
    assert (
        escape_report("\x1b[31ma\x1b[0m\x1b[2J\x1b]0;x\x07\n", colored=True)
        == "\x1b[31ma\x1b[0m\\x1b[2J\\x1b]0;x\\x07\n"
    )
    assert escape_report("\x1b[31m::error::\n", colored=True) == "\x1b[31m\\x3a:error::\n"
    assert escape_report("\x1b[31ma") == "\\x1b[31ma"
    assert escape_report("a\r\nb\rc\t→ é\n") == "a\r\nb\\rc\t→ é\n"
    assert escape_report("a::b\n  ::c ##[d]\n") == "a::b\n  \\x3a:c #\\x23[d]\n"
    assert escape_report("## a ##vso[task.x]y ##teamcity[z") == "## a #\\x23vso[task.x]y #\\x23teamcity[z"
    assert escape_line("a\u202e\n") == "a\\u202e\\n"
    assert escape_xml("<a>\x1b\ufffe é\n</a>") == "<a>\\x1b\\ufffe é\n</a>"


def test_a_report_needs_no_extra(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "svg", None)
    monkeypatch.delitem(__import__("sys").modules, "trainc.features.authoring.graph.drawing", raising=False)
    result = run("report", "-o", "-")
    assert (result.status, "<html" in result.stdout, "Traceback" in result.stderr) == (0, True, False)
    result = run("graph", "jobs", "--format", "svg")
    assert (result.status, "svg.py" in result.stderr) == (2, True)


OLD = "apiVersion: kubeflow.org/v2alpha1\nkind: TrainJob\nmetadata: {name: llm}\nspec: {runtimeRef: {name: x}}  # ##[y\u200e\n"


@pytest.mark.parametrize("runner", [None, "CI", "TF_BUILD", "TEAMCITY_VERSION"])
def test_a_patch_that_goes_to_a_file_applies_and_one_that_a_runner_reads_commands_nothing(
    runner: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CI", "TF_BUILD", "TEAMCITY_VERSION"):
        monkeypatch.delenv(name, raising=False)
    if runner:
        monkeypatch.setenv(runner, "true")
    monkeypatch.chdir(tmp_path)
    Path("old.yaml").write_text(OLD, encoding="utf-8")
    patch = run("migrate", "--diff", "old.yaml", "-q").stdout
    if runner:
        assert_unobeyed(patch)
    else:
        assert (
            "-spec: {runtimeRef: {name: x}}  # ##[y\u200e\n" in patch
            or " spec: {runtimeRef: {name: x}}  # ##[y\u200e\n" in patch
        )


@pytest.mark.parametrize("form", ["concise", "github", "gitlab", "json", "junit", "sarif"])
def test_a_report_for_programs_holds_nothing_that_a_terminal_obeys(form: str, repository: Path) -> None:
    (repository / "jobs" / "name.yaml").write_text((JOB % "a").replace("llm", TEXT), encoding="utf-8")
    report = run("check", "--format", form).stdout
    assert r"\u202e" in report
    # A runner takes a line that begins with `::` for one command, whatever follows.
    assert_unobeyed(re.sub("(?m)^::.*", lambda line: line[0].replace("##", "").lstrip(":"), report))


@cases("name")
def test_no_output_folder_is_git_s_own_on_any_file_system(name: str, repository: Path) -> None:
    (repository / "trainc.yaml").write_text(f"sources: [jobs]\noutput: '{name}'\n", encoding="utf-8")
    assert "is inside the .git folder" in run("build").stderr


@pytest.mark.parametrize("name", ["git", "git~", "gitops", ".github", "my.git-out", "rendered"])
def test_other_names_of_output_folders_are_fine(name: str) -> None:
    assert not is_git_folder(name)
