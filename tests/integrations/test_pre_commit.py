"""The hooks of this repository, run by pre-commit itself in a repository that uses them."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from commands import run

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]
HOOKS = REPOSITORY / ".pre-commit-hooks.yaml"
SECOND = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: second
spec:
  runtimeRef:
    name: torch-team
"""


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=test", "-c", "user.email=test@example.com", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def committed(folder: Path) -> None:
    """A git repository of everything in `folder`."""
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "Begin.")


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This repository as it stands now, files that nobody has committed included, in a git repository of its own."""
    if importlib.util.find_spec("pre_commit") is None:
        pytest.skip("pre-commit is not installed; `pip install pre-commit` brings it")
    if shutil.which("git") is None or not (REPOSITORY / ".git").exists():
        pytest.skip("this is no git repository, and pre-commit takes hooks from one")
    folder = tmp_path_factory.mktemp("hooks")
    listed = git(REPOSITORY, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in filter(None, listed):
        if (REPOSITORY / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(REPOSITORY / name, folder / name)
    committed(folder)
    return folder


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    """A repository as `trainc init` makes it."""
    folder = tmp_path / "jobs"
    assert run("init", str(folder)).status == 0
    committed(folder)
    return folder


@pytest.fixture
def configured(jobs: Path, hooks: Path) -> Path:
    """A repository with both hooks, which pre-commit installs once for all tests."""
    use = {"repo": str(hooks), "rev": git(hooks, "rev-parse", "HEAD").strip()}
    config = {"repos": [{**use, "hooks": [{"id": "trainc-build"}, {"id": "trainc-check"}]}]}
    (jobs / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return jobs


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit keeps what it has installed."""
    return tmp_path_factory.mktemp("pre-commit")


def pre_commit(folder: Path, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    programs = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", *words, "--color=never"],
        cwd=folder,
        env={**os.environ, "PATH": programs, "PRE_COMMIT_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def outcome(done: subprocess.CompletedProcess[str], hooks: Sequence[str]) -> list[str]:
    """Passed or Failed for each hook; the test is skipped where pre-commit could not install them."""
    unreachable = ("No matching distribution", "Could not find a version", "Failed to establish a new connection")
    if any(reason in done.stdout + done.stderr for reason in unreachable):
        pytest.skip("pre-commit cannot install the hooks: the package index is out of reach")
    reported = {line.partition(".")[0]: line.rpartition(".")[2] for line in done.stdout.splitlines() if "...." in line}
    assert list(reported) == list(hooks), done.stdout + done.stderr
    return list(reported.values())


def test_the_hooks_look_at_everything_and_are_commands_that_exist() -> None:
    hooks = {hook["id"]: hook for hook in yaml.safe_load(HOOKS.read_text(encoding="utf-8"))}
    assert list(hooks) == ["trainc-build", "trainc-check"]
    for hook in hooks.values():
        assert (hook["language"], hook["pass_filenames"], hook["always_run"]) == ("python", False, True)
        program, *words = hook["entry"].split()
        assert program == "trainc"
        assert run(*words, "--help").status == 0


@pytest.mark.tools
@pytest.mark.xdist_group("pre-commit")
def test_the_hooks_fail_for_a_new_file(configured: Path, home: Path) -> None:
    jobs, both = configured, ("trainc build", "trainc check")
    (jobs / "jobs" / "second.yaml").write_text(SECOND, encoding="utf-8")
    git(jobs, "add", ".")
    first = pre_commit(jobs, home, "run", "--all-files")
    assert outcome(first, both) == ["Failed", "Passed"]
    assert first.returncode == 1
    assert "rendered/prod: 1 file created" in first.stdout
    assert "?? rendered/prod/ml-prod/second.yaml\n" in git(jobs, "status", "--porcelain", "--untracked-files=all")


@pytest.mark.tools
@pytest.mark.xdist_group("pre-commit")
def test_the_hooks_see_what_is_changed_wrong_and_deleted(configured: Path, home: Path) -> None:
    jobs = configured
    job, both = jobs / "jobs" / "pretrain.yaml", ("trainc build", "trainc check")

    def ran() -> list[str]:
        git(jobs, "add", ".")
        return outcome(pre_commit(jobs, home, "run"), both)

    assert ran() == ["Passed", "Passed"]
    good = job.read_text(encoding="utf-8")
    job.write_text(good.replace("numNodes: 4", "numNodes: 8"), encoding="utf-8")
    assert ran() == ["Failed", "Passed"]
    assert ran() == ["Passed", "Passed"]
    git(jobs, "rm", "-q", "--cached", "rendered/prod/ml-prod/pretrain.yaml")
    assert outcome(pre_commit(jobs, home, "run"), both) == ["Failed", "Passed"]
    job.write_text(good.replace("numNodes", "numNode"), encoding="utf-8")
    assert ran() == ["Failed", "Failed"]
    (jobs / "jobs" / "second.yaml").write_text(SECOND, encoding="utf-8")
    # pre-commit passes no names of deleted files. The patch of development is about the job that goes.
    job.unlink()
    assert ran() == ["Failed", "Failed"]
    overlay = jobs / "overlays" / "dev" / "overlay.yaml"
    overlay.write_text(overlay.read_text(encoding="utf-8").partition("patches:")[0], encoding="utf-8")
    assert ran() == ["Failed", "Passed"]
    assert ran() == ["Passed", "Passed"]
    assert sorted(path.name for path in (jobs / "rendered" / "prod" / "ml-prod").iterdir()) == ["second.yaml"]


@pytest.mark.tools
@pytest.mark.xdist_group("pre-commit")
def test_the_hooks_of_a_new_repository_pass_and_then_see_a_change(jobs: Path, home: Path) -> None:
    if importlib.util.find_spec("pre_commit") is None:
        pytest.skip("pre-commit is not installed; `pip install pre-commit` brings it")
    hooks = ("trainc check", "trainc build", "trainc build --check")
    assert outcome(pre_commit(jobs, home, "run", "--all-files"), hooks) == ["Passed"] * 3
    job = jobs / "jobs" / "pretrain.yaml"
    job.write_text(job.read_text(encoding="utf-8").replace("torchrun", "python"), encoding="utf-8")
    assert outcome(pre_commit(jobs, home, "run", "--all-files"), hooks) == ["Passed", "Failed", "Passed"]
