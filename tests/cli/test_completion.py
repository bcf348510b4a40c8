"""Completion: the scripts know every command and option, and the shells read them as they are meant."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from commands import run

from trainc.cli.command import COMMANDS
from trainc.cli.shells.words import all_commands, paths_to_words
from trainc.kube.releases import RELEASES

SHELLS = ("bash", "zsh", "fish")
# (words typed so far, the last of them unfinished; what is suggested)
SUGGESTED = [
    (["ru"], {"rule", "run", "runtimes"}),
    (["build", "--rel"], {"--release"}),
    (["build", "--release", ""], set(RELEASES)),
    (["build", "--format", "y"], {"yaml"}),
    (["runtimes", ""], {"list", "show"}),
    (["runtimes", "show", "torch-d"], {"torch-distributed", "torch-distributed-with-cache"}),
    (["rule", "UnknownFi"], {"UnknownField"}),
    (["build", "a"], {"a b.yaml"}),
    (["build", "--runtimes", ""], {"jobs"}),
    (["completion", ""], set(SHELLS)),
]
ASK_BASH = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _trainc; printf "%s\\n" "${COMPREPLY[@]}"'


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
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert answer.stderr == ""
    return {line.split("\t")[0].rstrip("/") for line in answer.stdout.splitlines() if line}


@pytest.mark.parametrize(("typed", "expected"), SUGGESTED)
def test_bash_suggests(typed: list[str], expected: set[str], folder: Path, tmp_path: Path) -> None:
    script = script_of("bash", tmp_path)
    assert suggestions("bash", "-c", ASK_BASH, "bash", str(script), "trainc", *typed, folder=folder) == expected


@pytest.mark.parametrize(("typed", "expected"), [(["=", "2.3"], {"2.3"}), (["="], set(RELEASES))])
def test_bash_suggests_after_an_equals_sign(typed: list[str], expected: set[str], folder: Path, tmp_path: Path) -> None:
    words = ["trainc", "build", "--release", *typed]
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


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_every_option_is_in_the_script(shell: str) -> None:
    script = run("completion", shell).stdout
    commands = all_commands()
    assert [command.name for command in commands] == [command.name for command in COMMANDS]
    flags = {flag for _, words in paths_to_words(commands) for option in words.options for flag in option.flags}
    assert len(flags) > 20
    for flag in flags:
        shown = f"-l {flag[2:]} " if shell == "fish" and flag.startswith("--") else flag
        assert shown in script or (shell == "fish" and f"-s {flag[1:]}" in script), flag


def test_an_unknown_shell_is_wrong_usage() -> None:
    assert run("completion", "tcsh").status == 2
