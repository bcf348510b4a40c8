"""Command lines that a launcher refuses, and those that look alike and run. The programs themselves were asked."""

from __future__ import annotations

from typing import Any

import pytest
from tables import cases
from trainings import findings, reported, training


@cases("command", "words")
def test_what_a_launcher_refuses_is_an_error(command: list[str], words: str) -> None:
    (found,) = [
        d for d in reported(training(command, nodes=1 if "tune" in str(command) else 4)) if d.severity == "error"
    ]
    assert found.code == "InvalidLauncherArguments"
    assert words in found.message + found.hint
    assert found.path.startswith("spec.trainer.command[")


@cases("command", "fields")
def test_what_a_launcher_accepts_is_left_alone(command: list[str], fields: dict[str, Any]) -> None:
    other = {"ForeignLauncher", "ArgumentsDropped", "ArgumentNotSplit"}
    assert [found for found in findings(training(command, **fields)) if found[1] not in other] == []


def test_a_launcher_under_a_condition_is_a_warning() -> None:
    command = "if [ -f x ]; then torchrun --nporc_per_node=8 t.py; else torchrun t.py; fi"
    assert findings(training(command)) == [("warning", "InvalidLauncherArguments")]


def test_a_launcher_is_reported_once_at_its_first_mistake() -> None:
    (found,) = reported(training(["torchrun", "--nporc_per_node=8", "--rdzv_backend=nccl"], nodes=1))
    assert found.path == "spec.trainer.command[1]"


@pytest.mark.parametrize(
    "command", [["python", "~/t.py"], ["~/bin/train"], ["bash", "~/run.sh"], ["torchrun", "~/t.py"]]
)
def test_a_home_folder_needs_a_shell(command: list[str]) -> None:
    assert ("error", "CommandCannotStart") in findings(training(command))
    assert ("error", "CommandCannotStart") not in findings(training(" ".join(command)))


@pytest.mark.parametrize("name", ["sbatch", "/usr/bin/qsub"])
def test_a_command_that_hands_the_training_to_another_scheduler_is_an_error(name: str) -> None:
    assert findings(training([name, "train.sbatch"])) == [("error", "CommandCannotStart")]
    assert findings(training(f"cd /app && {name} train.sbatch")) == [("error", "CommandCannotStart")]
    assert findings(training(f"if [ -f x ]; then {name} t; else torchrun t.py; fi")) == [
        ("warning", "CommandCannotStart")
    ]
