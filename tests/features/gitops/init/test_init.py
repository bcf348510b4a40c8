"""`trainc init`: a repository that passes its own checks, and sees every change of a TrainJob."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import run, shell_words

from trainc.features.gitops.argocd.health import flux_health_checks

GITOPS = ("argocd", "flux")
FILES = [
    ".gitattributes",
    ".github/CODEOWNERS",
    ".github/workflows/trainc.yaml",
    ".pre-commit-config.yaml",
    ".vscode/cluster.schema.json",
    ".vscode/overlay.schema.json",
    ".vscode/sweep.schema.json",
    ".vscode/settings.json",
    ".vscode/trainc.schema.json",
    ".vscode/trainc.yaml.schema.json",
    "README.md",
    "jobs/pretrain.yaml",
    "overlays/dev/overlay.yaml",
    "overlays/prod/overlay.yaml",
    "requirements-trainc.txt",
    "runtimes/torch-team.yaml",
    "trainc.yaml",
]
DEV = ("build", "--env", "dev")


@pytest.fixture(params=GITOPS)
def repository(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new repository, for each tool, which is the current folder."""
    result = run("init", str(tmp_path / "training"), "--gitops", request.param)
    assert (result.status, result.stdout) == (0, "")
    monkeypatch.chdir(tmp_path / "training")
    return tmp_path / "training"


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def changed(repository: Path, old: str, new: str) -> None:
    job = repository / "jobs" / "pretrain.yaml"
    text = job.read_text(encoding="utf-8")
    assert old in text
    job.write_text(text.replace(old, new), encoding="utf-8")


def test_everything_that_a_repository_needs_is_there(repository: Path) -> None:
    gitops = next(name for name in GITOPS if (repository / name).is_dir())
    there = sorted(path.relative_to(repository).as_posix() for path in repository.rglob("*") if path.is_file())
    written = [path for path in there if not path.startswith("rendered/")]
    health = ["argocd/health/argocd-cm.yaml"] if gitops == "argocd" else []
    assert written == sorted([*FILES, *health, f"{gitops}/dev.yaml", f"{gitops}/prod.yaml"])
    assert [path for path in there if path.endswith(".yaml") and path.startswith("rendered/")] == [
        "rendered/dev/ml-dev/pretrain.yaml",
        "rendered/prod/ml-prod/pretrain.yaml",
    ]
    assert read(repository / "trainc.yaml")["delivery"] == gitops


def test_it_passes_its_own_checks_at_once_and_without_a_warning(repository: Path) -> None:
    for words in (("build", "--check"), (*DEV, "--check"), ("build", "--exit-code"), ("check",)):
        result = run(*words)
        assert (result.status, result.stdout) == (0, ""), result.stderr
        assert "warning" not in result.stderr
        assert "error" not in result.stderr


def test_the_program_itself_sees_a_change_and_shows_it(repository: Path) -> None:
    command = [sys.executable, "-m", "trainc", "build", "--check"]
    before = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (before.returncode, before.stdout) == (0, "")
    changed(repository, "numNodes: 4", "numNodes: 8")
    after = subprocess.run(command, capture_output=True, text=True, check=False)
    assert after.returncode == 1
    assert after.stdout.startswith(
        "--- rendered/prod/ml-prod/pretrain.yaml\n+++ rendered/prod/ml-prod/pretrain.yaml\n@@ "
    )
    lines = after.stdout.splitlines()
    for field in ("completions", "parallelism"):
        assert f"-        {field}: 4" in lines
        assert f"+        {field}: 8" in lines
    assert "rendered/prod: 1 file changed (not written: --check)" in after.stderr


def test_an_environment_of_its_own_settings_sees_only_what_concerns_it(repository: Path) -> None:
    # Development sets numNodes itself.
    changed(repository, "numNodes: 4", "numNodes: 8")
    assert run("build", "--check").status == 1
    assert run(*DEV, "--check").status == 0
    changed(repository, "train.py", "other.py")
    assert run(*DEV, "--check").status == 1


def test_another_overlay_than_that_of_trainc_yaml_never_writes_into_its_output(repository: Path) -> None:
    shown = run("build", "overlays/dev")
    assert shown.status == 0
    assert "namespace: ml-dev" in shown.stdout
    assert run("build", "--overlay", "overlays/dev").stdout == shown.stdout
    assert run("build", "overlays/dev", "--check").status == 2
    assert run("build", "--check").status == 0


def test_what_applies_the_manifests_points_at_them(repository: Path) -> None:
    for environment in ("dev", "prod"):
        path = f"rendered/{environment}"
        if (repository / "argocd").is_dir():
            spec = read(repository / "argocd" / f"{environment}.yaml")["spec"]
            assert spec["destination"]["namespace"] == f"ml-{environment}"
            assert "CreateNamespace=true" in spec["syncPolicy"]["syncOptions"]
            source = spec["source"]
            assert (source["path"], source["directory"]) == (path, {"recurse": True})
        else:
            text = (repository / "flux" / f"{environment}.yaml").read_text(encoding="utf-8")
            namespace, kustomization = yaml.safe_load_all(text)
            assert (namespace["kind"], namespace["metadata"]["name"]) == ("Namespace", f"ml-{environment}")
            assert kustomization["spec"]["path"] == f"./{path}"
            checks = yaml.safe_load(flux_health_checks())["healthCheckExprs"]
            assert kustomization["spec"]["healthCheckExprs"] == checks
        assert (repository / path).is_dir()


def test_every_command_of_hooks_and_workflow_succeeds(repository: Path) -> None:
    hooks = read(repository / ".pre-commit-config.yaml")["repos"][0]["hooks"]
    steps = read(repository / ".github/workflows/trainc.yaml")["jobs"]["rendered"]["steps"]
    commands = [*(hook["entry"] for hook in hooks), *(step["run"] for step in steps if "run" in step)]
    ours = [shell_words(command, BASE="")[1:] for command in commands if command.startswith("trainc ")]
    assert len(ours) == 5
    assert [words for words in ours if run(*words).status] == []


def test_existing_files_are_named_and_nothing_is_written(repository: Path) -> None:
    before = {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()}
    result = run("init")
    assert result.status == 1
    kept = {
        ".gitattributes",
        ".github/CODEOWNERS",
        ".pre-commit-config.yaml",
        ".vscode/settings.json",
        "README.md",
        "requirements-trainc.txt",
    }
    for path in (*(name for name in FILES if name not in kept), "rendered"):
        assert f"error[FileInTheWay] {path} already exists" in result.stderr
    assert {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()} == before


def test_one_file_in_the_way_is_enough(tmp_path: Path) -> None:
    (tmp_path / "trainc.yaml").touch()
    assert run("init", str(tmp_path)).status == 1
    assert [path.name for path in tmp_path.iterdir()] == ["trainc.yaml"]


def test_a_readme_and_other_files_that_are_there_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "README.md").write_text("Ours.\n", encoding="utf-8")
    (tmp_path / "LICENSE").touch()
    monkeypatch.chdir(tmp_path)
    assert run("init").status == 0
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "Ours.\n"
    assert run("build", "--check").status == 0


def test_a_file_where_a_folder_should_be_is_reported(tmp_path: Path) -> None:
    (tmp_path / "training").touch()
    result = run("init", str(tmp_path / "training"))
    assert result.status == 2
    assert "training is a file; use a folder" in result.stderr


def test_the_repository_is_written_where_the_tool_reads_it(tmp_path: Path) -> None:
    url = "https://github.com/my-org/training.git"
    result = run("init", str(tmp_path / "a"), "--repository", url)
    assert read(tmp_path / "a" / "argocd" / "prod.yaml")["spec"]["source"]["repoURL"] == url
    assert "repoURL" not in result.stderr
    assert "set repoURL in argocd" in run("init", str(tmp_path / "b")).stderr


# What GitHub's expression gives at each event, as it is written in the workflow.
BASES = {"pull_request": "refs/remotes/origin/main", "merge_group": "0123abc", "push": ""}
EXPRESSION = (
    "${{ github.event_name == 'pull_request' && format('refs/remotes/origin/{0}', github.base_ref)"
    " || github.event.merge_group.base_sha }}"
)


@pytest.mark.parametrize("event", BASES)
@pytest.mark.parametrize("file", ["action.yml", "workflow"])
@pytest.mark.parametrize("command", ["trainc build --check --format github", "trainc check --format github"])
def test_the_check_of_a_change_compares_with_what_it_started_from(
    command: str, event: str, file: str, repository: Path
) -> None:
    given: dict[str, str] = {}
    if file == "workflow":
        workflow = read(repository / ".github/workflows/trainc.yaml")
        # YAML 1.1 reads the key `on` as true.
        assert set(BASES) == set(workflow[True])
        given, steps = workflow["jobs"]["rendered"]["env"], workflow["jobs"]["rendered"]["steps"]
    else:
        steps = read(Path(__file__).parents[4] / file)["runs"]["steps"]
    (step,) = [step for step in steps if f"{command} $" in step.get("run", "")]
    assert given | step.get("env", {}) == {"BASE": EXPRESSION}
    base = BASES[event]
    (line,) = [line for line in step["run"].splitlines() if line.startswith(command)]
    assert shell_words(line, BASE=base) == [*command.split(), *(["--base", base] if base else [])]


def test_a_branch_has_its_full_name_so_that_no_tag_is_taken_for_it(repository: Path) -> None:
    for file in (repository / ".github/workflows/trainc.yaml", Path(__file__).parents[4] / "action.yml"):
        text = file.read_text(encoding="utf-8")
        assert text.count("origin/") == text.count("refs/remotes/origin/") > 1, file


def test_jobs_are_kept_as_built_in_every_environment(repository: Path) -> None:
    for environment in ("dev", "prod"):
        lines = next((repository / "rendered" / environment).rglob("*.yaml")).read_text(encoding="utf-8").splitlines()
        assert lines[1].startswith("# Built from TrainJob ")
    runtime = repository / "runtimes" / "torch-team.yaml"
    runtime.write_text(runtime.read_text(encoding="utf-8").replace("effect: NoSchedule", "effect: NoExecute"), "utf-8")
    result = run("build", "--check", "--base", "none")
    assert result.status == 0
    for job in ("ml-dev/pretrain", "ml-prod/pretrain"):
        assert f"1 job is kept as built; this line has changed since: {job}" in result.stderr


def test_the_application_clones_the_repository_that_it_is_in(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    remote = ["git", "-C", str(tmp_path), "remote", "add", "origin", "https://me:token@git.corp/ml/training.git"]
    subprocess.run(remote, check=True)
    shown = run("init", str(tmp_path), "--print").stdout
    assert "repoURL: https://git.corp/ml/training.git" in shown
    assert "me:token" not in shown
    assert "git.example.com" not in shown
