"""What the GitHub action and the generated workflow install: never what a change says that nobody has reviewed."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import run

ACTION = Path(__file__).parents[2] / "action.yml"
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
both = pytest.mark.parametrize("file", ["action.yml", "workflow"])


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A pull request that changes the requirement and a wheel, and a pip that says what it is asked for."""
    root = tmp_path / "repository"
    (root / "vendor").mkdir(parents=True)
    for text in ("trainc==1\n", "evil==1\n"):
        (root / "requirements-trainc.txt").write_text(text, encoding="utf-8")
        (root / "vendor" / "trainc.whl").write_text(text, encoding="utf-8")
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
            subprocess.run([*GIT, *words], cwd=root, check=True)
    pip = tmp_path / "bin" / "pip"
    pip.parent.mkdir()
    pip.write_text('#!/bin/sh\necho "$@"\n[ "$2" != -r ] || cat "$3" vendor/trainc.whl\n', encoding="utf-8")
    pip.chmod(0o755)
    return root


def steps_of(file: str, new: Path) -> Any:
    """The steps of the action, or of the workflow that `trainc init` writes."""
    if file == "action.yml":
        return yaml.safe_load(ACTION.read_text(encoding="utf-8"))["runs"]["steps"]
    if not new.exists():
        assert run("init", str(new), "--only", "workflow", "--requirement", "trainc==1").status == 0
    (workflow,) = new.rglob("trainc*.yaml")
    (job,) = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"].values()
    return job["steps"]


def installed(
    root: Path, file: str, event: str = "pull_request", *, base: str = "HEAD~1", requirement: str = ""
) -> tuple[int, str]:
    """The exit code and output of the step as a runner starts it."""
    (step,) = (one for one in steps_of(file, root.parent / "new") if one.get("name") == "Install trainc")
    environ = {
        "PATH": f"{root.parent}/bin:/usr/bin:/bin", "RUNNER_TEMP": str(root.parent), "OWN": "own", "EVENT": event,
        "REQUIREMENT": requirement, "BASE": base,
    }  # fmt: skip
    words = ["bash", "-eo", "pipefail", "-c", step["run"]]
    done = subprocess.run(words, cwd=root, env=environ, check=False, capture_output=True, text=True)
    return done.returncode, done.stdout


@both
def test_the_requirement_of_a_change_is_that_of_its_base_with_the_wheel_that_is_there(
    file: str, repository: Path
) -> None:
    status, output = installed(repository, file)
    assert (status, output.count("trainc==1"), "evil" in output) == (0, 2, False)


@both
def test_what_is_merged_is_installed(file: str, repository: Path) -> None:
    assert "evil==1" in installed(repository, file, base="")[1]


def test_that_a_new_requirement_waits_is_said(repository: Path) -> None:
    assert "::notice::" not in installed(repository, "workflow", base="HEAD")[1]
    subprocess.run([*GIT, "worktree", "remove", str(repository.parent / "base")], cwd=repository, check=True)
    assert "::notice::requirements-trainc.txt takes effect once it is merged" in installed(repository, "workflow")[1]


def test_the_first_pull_request_has_only_its_own_requirement(repository: Path) -> None:
    subprocess.run([*GIT, "rm", "-q", "requirements-trainc.txt"], cwd=repository, check=True)
    subprocess.run([*GIT, "commit", "-q", "-m", "none"], cwd=repository, check=True)
    (repository / "requirements-trainc.txt").write_text("trainc==2\n", encoding="utf-8")
    assert "trainc==2" in installed(repository, "workflow", base="HEAD")[1]
    assert installed(repository, "action.yml", base="HEAD") == (0, "install own\n")


def test_a_requirement_that_the_workflow_names_is_installed(repository: Path) -> None:
    assert installed(repository, "action.yml", requirement="trainc==2") == (0, "install trainc==2\n")


def test_nothing_is_installed_for_pull_request_target(repository: Path) -> None:
    status, output = installed(repository, "action.yml", "pull_request_target")
    assert status == 1
    assert output.startswith("::error::")
