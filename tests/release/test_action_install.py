"""What the GitHub action installs: never what a fork says, and nothing at all for pull_request_target."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

ACTION = Path(__file__).parents[2] / "action.yml"
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A pull request that changes the requirement, and a pip that says what it is asked for."""
    root = tmp_path / "repository"
    root.mkdir()
    for text in ("trainc==1\n", "evil==1\n"):
        (root / "requirements-trainc.txt").write_text(text, encoding="utf-8")
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
            subprocess.run([*GIT, *words], cwd=root, check=True)
    pip = tmp_path / "bin" / "pip"
    pip.parent.mkdir()
    pip.write_text('#!/bin/sh\necho "$@"\n[ "$2" != -r ] || cat "$3"\n', encoding="utf-8")
    pip.chmod(0o755)
    return root


def installed(
    root: Path, event: str = "pull_request", *, forked: bool = False, requirement: str = ""
) -> tuple[int, str]:
    """The exit code and output of the step as a runner starts it."""
    (step,) = (
        one
        for one in yaml.safe_load(ACTION.read_text(encoding="utf-8"))["runs"]["steps"]
        if "OWN" in one.get("env", {})
    )
    base = subprocess.run(
        [*GIT, "rev-parse", "HEAD~1"], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()
    environ = {
        "PATH": f"{root.parent}/bin:/usr/bin:/bin", "RUNNER_TEMP": str(root.parent), "OWN": "own", "EVENT": event,
        "REQUIREMENT": requirement, "FORKED_FROM": base if forked else "",
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step["run"]],
        cwd=root,
        env=environ,
        check=False,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout


def test_the_requirement_of_a_fork_is_that_of_the_base(repository: Path) -> None:
    status, output = installed(repository, forked=True)
    assert (status, "trainc==1" in output, "evil" in output) == (0, True, False)


def test_one_of_the_same_repository_may_upgrade(repository: Path) -> None:
    assert "evil==1" in installed(repository)[1]


def test_a_requirement_that_the_workflow_names_is_installed(repository: Path) -> None:
    assert installed(repository, forked=True, requirement="trainc==2") == (0, "install trainc==2\n")


def test_nothing_is_installed_for_pull_request_target(repository: Path) -> None:
    status, output = installed(repository, "pull_request_target")
    assert status == 1
    assert output.startswith("::error::")
