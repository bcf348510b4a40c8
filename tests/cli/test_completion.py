"""Completion: every command, option and value is suggested, and the shells ask for them as they should."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run

from trainc.cli.command import Command, commands
from trainc.cli.help import TOPICS
from trainc.cli.parser import build_parser
from trainc.kube.names import TRAINER_API
from trainc.kube.releases import RELEASES

SHELLS = ("bash", "zsh", "fish")
# (words typed so far, the last of them unfinished; what is suggested)
SUGGESTED = [
    (["ru"], {"rule", "run", "runtimes"}),
    (["build", "--rel"], {"--release"}),
    (["build", "--release", ""], set(RELEASES)),
    (["build", "--format", "y"], {"yaml"}),
    (["runtimes", ""], {"list", "show"}),
    (
        ["runtimes", "show", "torch-d"],
        {"torch-distributed", "torch-distributed-with-cache", "torch-distributed-with-initializers"},
    ),
    (["rule", "UnknownFi"], {"UnknownField"}),
    (["build", "a"], {"a b.yaml"}),
    (["build", "--runtimes", ""], {"jobs"}),
    (["completion", ""], {*SHELLS, "powershell"}),
]
ASK_BASH = (
    'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; '
    '_trainc; printf "%s\\n" "${COMPREPLY[@]}"'
)


def script_of(shell: str, folder: Path) -> Path:
    """The shell's script in a file, beside which nothing lies; the test is skipped where the shell is not installed."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    path = folder / f"completion.{shell}"
    path.write_text(run("completion", shell).stdout, encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where completion is asked for: a file with a blank in its name, and a folder."""
    here = tmp_path / "here"
    (here / "jobs").mkdir(parents=True)
    (here / "a b.yaml").touch()
    return here


def suggestions(*command: str, folder: Path) -> set[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    answer = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    assert answer.stderr == ""
    return {line.split("\t")[0].rstrip("/") for line in answer.stdout.splitlines() if line}


@pytest.mark.parametrize(("typed", "expected"), SUGGESTED)
def test_bash_suggests(typed: list[str], expected: set[str], folder: Path, tmp_path: Path) -> None:
    script = script_of("bash", tmp_path)
    assert suggestions("bash", "-c", ASK_BASH, "bash", str(script), "trainc", *typed, folder=folder) == expected


@pytest.mark.parametrize(("typed", "expected"), [("--release=2.3", {"2.3"}), ("--release=", set(RELEASES))])
def test_bash_suggests_after_an_equals_sign(typed: str, expected: set[str], folder: Path, tmp_path: Path) -> None:
    words = ["trainc", "build", typed]
    assert (
        suggestions("bash", "-c", ASK_BASH, "bash", str(script_of("bash", tmp_path)), *words, folder=folder) == expected
    )


@pytest.mark.parametrize(("typed", "expected"), SUGGESTED)
def test_fish_suggests(typed: list[str], expected: set[str], folder: Path, tmp_path: Path) -> None:
    ask = f"source {script_of('fish', tmp_path)}; complete -C 'trainc {' '.join(typed)}'"
    assert suggestions("fish", "--no-config", "-c", ask, folder=folder) == expected


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_can_read_its_script(shell: str, tmp_path: Path) -> None:
    checked = subprocess.run([shell, "-n", script_of(shell, tmp_path)], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def answer(*words: str) -> list[str]:
    result = run("__complete", *words)
    assert (result.status, result.stderr) == (0, "")
    return [line.split("\t")[0] for line in result.stdout.splitlines()]


@pytest.mark.parametrize("command", commands(), ids=lambda command: command.name)
def test_every_command_and_every_option_is_suggested(command: Command) -> None:
    assert command.name in answer(command.name[:1])
    parsers: list[tuple[tuple[str, ...], argparse.ArgumentParser]] = [((command.name,), build_parser(command))]
    for action in parsers[0][1]._actions:
        if isinstance(action, argparse._SubParsersAction):
            parsers = [((command.name, name), parser) for name, parser in action.choices.items()]
    for words, parser in parsers:
        flags = {flag for action in parser._actions for flag in action.option_strings}
        assert set(answer(*words, "-")) == {*flags, ":4"}


def test_environments_jobs_and_revisions_are_suggested(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "trainc.yaml").write_text("environments: {dev: {output: dev}, prod: {output: prod}}\n")
    (folder / "jobs" / "llm.yaml").write_text(
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: llm, namespace: team-a}\n"
        "spec: {runtimeRef: {name: torch-distributed}}\n"
    )
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "all"], ["tag", "v1"]):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run(["git", *identity, *words], check=True)
    assert answer("build", "--env", "") == ["dev", "prod", ":4"]
    assert answer("explain", "jobs/#") == ["jobs/#team-a/llm", ":4"]
    assert answer("diff", "git:") == ["git:main", "git:v1", ":4"]
    assert answer("build", "--check", "--base", "") == ["main", "v1", ":4"]


def test_names_on_which_a_shell_acts_are_not_suggested(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "trainc.yaml").write_text("environments: {dev: {}}\n")
    names = ("$(id)", "a\nb", "`id`", "a;id", "a b", "a\x1b[31m", "\ud800", "ok")
    documents = [{"kind": "TrainJob", "metadata": {"name": name, "namespace": 5}} for name in names]
    (folder / "jobs" / "odd.yaml").write_text(
        "".join(f"---\n{json.dumps({'apiVersion': TRAINER_API, **document})}\n" for document in documents)
    )
    subprocess.run(["git", "init", "-q", "-b", "main"], check=True)
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", *identity, "commit", "-q", "--allow-empty", "-m", "all"], check=True)
    subprocess.run(["git", "branch", "a$(touch${IFS}b)"], check=True)
    assert answer("build", "--env", "") == ["dev", ":4"]
    assert answer("explain", "jobs/#") == ["jobs/#ok", ":4"]
    assert answer("diff", "git:") == ["git:main", ":4"]


def test_a_broken_trainc_yaml_suggests_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "trainc.yaml").write_text("environments: [\n")
    assert answer("build", "--env", "") == [":4"]


def test_an_unknown_shell_is_wrong_usage() -> None:
    assert run("completion", "tcsh").status == 2


RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch-team}
spec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {containers: []}}}}}]}}}
"""


def test_runtimes_of_the_repository_come_before_the_built_in_ones(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert "torch-team" not in answer("new", "llm", "--runtime", "torch-")
    (folder / "trainc.yaml").write_text("sources: [jobs]\nruntimes: [runtimes]\n")
    (folder / "runtimes").mkdir()
    (folder / "runtimes" / "team.yaml").write_text(RUNTIME)
    for words in (["new", "llm", "--runtime", "torch-"], ["runtimes", "show", "torch-"]):
        assert answer(*words)[:2] == ["torch-team", "torch-distributed"]
    (folder / "trainc.yaml").write_text("sources: [\n")
    assert answer("runtimes", "show", "torch-")[0] == "torch-distributed"


def test_fields_of_the_job_are_suggested(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "jobs" / "llm.yaml").write_text(
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: llm, namespace: team-a}\n"
        "spec: {runtimeRef: {name: torch-distributed}}\n"
    )
    for words in (["jobs/llm.yaml"], ["--release", "2.3", "jobs/llm.yaml"], ["jobs/llm.yaml", "--release", "2.3"]):
        found = answer("explain", *words, "para")
        assert found == ["parallelism", ":4"], words
    assert "spec.network.publishNotReadyAddresses" in answer("explain", "jobs/llm.yaml", "spec.n")
    assert answer("explain", "jobs/nothing.yaml", "spec") == [":4"]
    assert answer("explain", "jobs/l")[-1] == ":0"


def test_powershell_asks_as_the_others_do() -> None:
    script = run("completion", "powershell").stdout
    assert "__complete @words" in script
    assert "':4'" in script


def test_the_manual_has_every_command_with_its_options_and_every_topic() -> None:
    page = run("help", "--man").stdout.replace(r"\-", "-")
    for command in commands():
        part = page.partition(f"\n.SS trainc {command.name}\n")[2].partition("\n.S")[0]
        flags = {flag for action in build_parser(command)._actions for flag in action.option_strings}
        assert {flag for flag in flags if rf"\fB{flag}\fR" not in part} == set()
    assert {topic for topic in TOPICS if f"\n.SS {topic}\n" not in page} == {"commands", "exit-codes"}
    if shutil.which("man"):
        words = ["man", "--warnings", "--local-file", "-"]
        done = subprocess.run(words, input=run("help", "--man").stdout, capture_output=True, text=True, check=True)
        assert done.stderr == ""
