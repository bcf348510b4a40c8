"""`trainc init` in a repository that has some of it already, and the requirement that makes its first push green."""

from __future__ import annotations

import json
import subprocess
from difflib import ndiff
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import run
from tables import cases

from trainc.features.gitops.init.scaffold import Requirement, requirement_of, with_hooks

THEIRS = """\
# Ours.
default_stages: [pre-commit]
repos:
- repo: https://github.com/pre-commit/pre-commit-hooks   # the usual ones
  rev: v5.0.0
  hooks:
    - id: check-yaml
"""
DEEPER = """\
repos:
    - repo: local
      hooks: [{id: other, name: other, entry: "true", language: system}]
# Below the list.
fail_fast: true"""


def git(*words: str, folder: Path) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def ids(text: str) -> list[str]:
    return [hook["id"] for repo in yaml.safe_load(text)["repos"] for hook in repo["hooks"]]


@pytest.mark.parametrize(("theirs", "first"), [(THEIRS, "check-yaml"), (DEEPER, "other")])
def test_hooks_are_added_and_nothing_else_of_the_file_changes(tmp_path: Path, theirs: str, first: str) -> None:
    path = tmp_path / ".pre-commit-config.yaml"
    path.write_text(theirs, encoding="utf-8")
    assert run("init", str(tmp_path)).status == 0
    text = path.read_text(encoding="utf-8")
    assert ids(text) == [first, "trainc-check", "trainc-build", "trainc-proof"]
    assert [line for line in ndiff(theirs.splitlines(), text.splitlines()) if line.startswith("- ")] == []
    before, after = yaml.safe_load(theirs), yaml.safe_load(text)
    assert {key: after[key] for key in before if key != "repos"} == {k: v for k, v in before.items() if k != "repos"}
    assert run("init", str(tmp_path), "--only", "hooks").status == 0
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("theirs", ["repos: []\n", "repos: [{repo: meta, hooks: [{id: identity}]}]\n", "a: [\n", ""])
def test_a_file_that_cannot_be_added_to_is_refused_with_a_way_out(tmp_path: Path, theirs: str) -> None:
    path = tmp_path / ".pre-commit-config.yaml"
    path.write_text(theirs, encoding="utf-8")
    result = run("init", str(tmp_path), "--only", "hooks")
    assert result.status == 1
    assert "--print" in result.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    assert ids(run("init", "--only", "hooks", "--print").stdout)[0] == "trainc-check"


def test_adding_hooks_to_their_own_file_is_the_same_file() -> None:
    ours = run("init", "--only", "hooks", "--print").stdout
    assert with_hooks(ours, ours) == ours


def test_settings_of_the_editor_are_added_to(tmp_path: Path) -> None:
    (tmp_path / ".vscode").mkdir()
    path = tmp_path / ".vscode" / "settings.json"
    path.write_text('{"editor.rulers": [100], "yaml.schemas": {"a.json": "*.a"}}', encoding="utf-8")
    assert run("init", str(tmp_path), "--only", "editor").status == 0
    settings = json.loads(path.read_text(encoding="utf-8"))
    assert settings["editor.rulers"] == [100]
    assert settings["yaml.schemas"]["a.json"] == "*.a"
    for schema in set(settings["yaml.schemas"]) - {"a.json"}:
        assert "$schema" in json.loads((tmp_path / schema).read_text(encoding="utf-8"))
    path.write_text("{} // mine", encoding="utf-8")
    assert run("init", str(tmp_path), "--only", "editor").status == 1


@pytest.mark.parametrize("part", ["jobs", "gitops", "hooks", "workflow", "editor", "kustomize"])
def test_a_part_is_written_alone_and_printed_without_being_written(tmp_path: Path, part: str) -> None:
    printed = run("init", str(tmp_path / "none"), "--only", part, "--print")
    assert (printed.status, printed.stderr) == (0, "")
    assert not (tmp_path / "none").exists()
    result = run("init", str(tmp_path / "one"), "--only", part)
    assert (result.status, result.stdout) == (0, "")
    written = {path for path in (tmp_path / "one").rglob("*") if path.is_file() and "rendered" not in path.parts}
    for path in written:
        name = path.relative_to(tmp_path / "one").as_posix()
        assert name in result.stderr
        assert path.read_text(encoding="utf-8") in printed.stdout or name == "requirements-trainc.txt"


def test_only_hooks_go_into_a_repository_that_has_the_rest(tmp_path: Path) -> None:
    assert run("init", str(tmp_path)).status == 0
    assert run("init", str(tmp_path)).status == 1
    (tmp_path / ".pre-commit-config.yaml").unlink()
    (tmp_path / ".github/workflows/trainc.yaml").unlink()
    assert run("init", str(tmp_path), "--only", "hooks", "--only", "workflow").status == 0
    assert (tmp_path / ".github/workflows/trainc.yaml").exists()


def test_the_overlay_of_development_changes_no_other_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("init", str(tmp_path)).status == 0
    monkeypatch.chdir(tmp_path)
    job = yaml.safe_load((tmp_path / "jobs" / "pretrain.yaml").read_text(encoding="utf-8"))
    job["metadata"]["name"] = "cpu"
    job["spec"]["trainer"]["resourcesPerNode"] = {"limits": {"cpu": 4}}
    (tmp_path / "jobs" / "cpu.yaml").write_text(json.dumps(job), encoding="utf-8")
    result = run("build", "jobs/cpu.yaml", "jobs/pretrain.yaml", "--overlay", "overlays/dev")
    assert result.status == 0, result.stderr
    limits = {
        item["metadata"]["labels"]["name"] if "labels" in item["metadata"] else item["metadata"]["name"][:3]: item[
            "spec"
        ]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
        for item in yaml.safe_load_all(result.stdout)
    }
    assert limits == {"cpu": {"cpu": "4"}, "pre": {"nvidia.com/gpu": "1"}}


# Where trainc came from.


@cases("recorded", "line")
def test_the_requirement_is_where_this_trainc_came_from(recorded: Any, line: str) -> None:
    assert requirement_of(recorded, "0.1.0") == Requirement(line)


def test_a_wheel_of_this_machine_goes_into_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "a b" / "trainc-0.1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    wheel.write_bytes(b"wheel")
    found = requirement_of({"url": wheel.as_uri(), "archive_info": {}}, "0.1.0")
    assert found == Requirement("./vendor/trainc-0.1.0-py3-none-any.whl", wheel=str(wheel))
    monkeypatch.setattr("trainc.features.gitops.init.command._own_requirement", lambda: found)
    assert run("init", str(tmp_path / "new")).status == 0
    assert (tmp_path / "new" / "vendor" / wheel.name).read_bytes() == b"wheel"
    assert found.line in (tmp_path / "new" / "requirements-trainc.txt").read_text(encoding="utf-8").splitlines()


def test_a_clone_is_its_origin_at_its_commit_once_that_is_pushed(tmp_path: Path) -> None:
    git("init", "--bare", "origin.git", folder=tmp_path)
    git("clone", "origin.git", "clone", folder=tmp_path)
    clone = tmp_path / "clone"
    git("commit", "--allow-empty", "-m", "one", folder=clone)
    recorded = {"url": clone.as_uri(), "dir_info": {"editable": True}}
    assert "does not exist on other machines" in requirement_of(recorded, "0.1.0").problem
    git("push", "origin", "HEAD", folder=clone)
    assert requirement_of(recorded, "0.1.0").problem  # A path is an origin that others do not have.
    commit = git("rev-parse", "HEAD", folder=clone).strip()
    for url, written in [
        ("https://token@git.example.com/p/trainc.git", "https://git.example.com/p/trainc.git"),
        ("git@git.example.com:p/trainc.git", "ssh://git@git.example.com/p/trainc.git"),
    ]:
        git("remote", "set-url", "origin", url, folder=clone)
        assert requirement_of(recorded, "0.1.0") == Requirement(f"trainc @ git+{written}@{commit}")


def test_what_is_given_is_what_is_written(tmp_path: Path) -> None:
    given = "trainc @ git+https://git.example.com/platform/trainc@8f3c2d1"
    result = run("init", str(tmp_path), "--requirement", given)
    assert given in (tmp_path / "requirements-trainc.txt").read_text(encoding="utf-8")
    assert "no other machine" not in result.stderr
    workflow = yaml.safe_load((tmp_path / ".github/workflows/trainc.yaml").read_text(encoding="utf-8"))
    scripts = [step.get("run", "") for step in workflow["jobs"]["rendered"]["steps"]]
    assert any("pip install -r requirements-trainc.txt\n" in script for script in scripts)
    assert run("init", str(tmp_path / "x"), "--requirement", "a\nb").status == 2


def test_requirements_that_are_there_stay(tmp_path: Path) -> None:
    (tmp_path / "requirements-trainc.txt").write_text("trainc==0.0.9\n", encoding="utf-8")
    assert run("init", str(tmp_path)).status == 0
    assert (tmp_path / "requirements-trainc.txt").read_text(encoding="utf-8") == "trainc==0.0.9\n"
