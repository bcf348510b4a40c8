"""A subfolder of a monorepo: places are those of the repository, bytes those of the folder, and others are left alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import run
from published_schemas import published
from repositories import git, unpack, write

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: bert, namespace: nlp}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: "example.com/train:1"
    command: [torchrun, train.py]
"""
SETTINGS = 'release: "2.3"\noutput: rendered\n'
REQUIREMENT = ["--requirement", "trainc @ git+https://git.example.com/platform/trainc@8f3c2d1"]


@pytest.fixture(autouse=True)
def _monorepo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "company").mkdir()
    monkeypatch.chdir(tmp_path / "company")
    git("init", "-q")
    write("web/index.html", "<p>Hello")


def load(path: str) -> Any:
    return yaml.safe_load(Path(path).read_text(encoding="utf-8"))


def test_hooks_and_workflow_are_where_they_are_read_and_concern_the_folder_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run("init", "ml", *REQUIREMENT).status == 0
    assert not Path("ml/.github").exists()
    assert not Path("ml/.pre-commit-config.yaml").exists()
    workflow = load(".github/workflows/trainc-ml.yaml")
    events = workflow[True]  # YAML 1.1 reads `on` so.
    assert events["pull_request"]["paths"] == events["push"]["paths"] == ["ml/**", ".github/workflows/trainc-ml.yaml"]
    assert "merge_group" in events
    assert workflow["jobs"]["rendered"]["defaults"] == {"run": {"working-directory": "ml"}}
    hooks = load(".pre-commit-config.yaml")["repos"][0]["hooks"]
    for hook in hooks:
        # A commit that only deletes a job changes no file that pre-commit looks at.
        assert (hook["always_run"], hook["pass_filenames"]) == (True, False)
        assert (hook["language"], hook["additional_dependencies"]) == ("python", REQUIREMENT[1:])
        assert run(*hook["entry"].split()[1:]).status == 0, hook
    assert load("ml/argocd/dev.yaml")["spec"]["source"]["path"] == "ml/rendered/dev"
    monkeypatch.chdir("ml")
    assert run("build", "--check").status == 0
    for command in [step["run"] for step in workflow["jobs"]["rendered"]["steps"] if "run" in step]:
        if command == "trainc check --format github":
            assert run(*command.split()[1:]).status == 0


def test_a_second_folder_adds_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("init", "ml", *REQUIREMENT).status == 0
    assert run("init", "research/vision", *REQUIREMENT).status == 0
    assert run("init", "research/vision", "--only", "hooks").status == 0
    hooks = [hook for repo in load(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    assert [hook["id"] for hook in hooks] == [
        *("trainc-check-ml", "trainc-build-ml", "trainc-proof-ml"),
        *(f"trainc-{hook}-research-vision" for hook in ("check", "build", "proof")),
    ]
    assert Path(".github/workflows/trainc-research-vision.yaml").exists()
    monkeypatch.chdir("research")
    assert run("init", "vision", "--only", "gitops", "--gitops", "flux").status == 0


@pytest.mark.parametrize("folder", ["a;id", "$(id)", "a'b", 'a"b', "${{ x }}", "a#b", "a\nb", "a`id`", "a: b"])
def test_a_folder_that_a_script_would_run_is_refused(folder: str) -> None:
    write(f"{folder}/trainc.yaml", SETTINGS)
    write("ml/trainc.yaml", json.dumps({"release": "2.3", "output": f"rendered/{folder}"}))
    for part in ("dump", "workflow", "hooks", "gitops"):
        for where in (folder, *["ml"] * ("\n" in folder)):
            result = run("init", where, "--only", part)
            assert (result.status, "as one word: rename it" in result.stderr) == (2, True), (part, where)


def test_a_folder_with_a_space_is_one_word_everywhere() -> None:
    write("my team/trainc.yaml", SETTINGS)
    assert run("init", "my team", "--only", "dump", "--only", "workflow").status == 0
    script = Path(".github/workflows/trainc-dump.yaml").read_text(encoding="utf-8")
    assert 'folder="my team/live/$name"\n' in script
    write("other/trainc.yaml", "environments: {us: {output: out, live: {dump: ../dumps/of us}}}\n")
    said = run("init", "other", "--only", "dump", "--print").stdout
    assert 'folder="other/live/$name"; [ "$name" != us ] || folder="dumps/of us"\n' in said
    assert "/my\\ team/rendered/\n" in Path(".github/CODEOWNERS").read_text(encoding="utf-8")


@pytest.mark.parametrize("repos", ["[x]", "[3]", "[{hooks: x}]", "[{hooks: [x]}]", "[{hooks: {a: b}}]", "x", "[[]]"])
def test_hooks_of_any_shape_are_left_alone(repos: str) -> None:
    write(".pre-commit-config.yaml", f"repos: {repos}\n")
    write("ml/trainc.yaml", SETTINGS)
    assert "FileInTheWay" in run("init", "ml", "--only", "hooks").stderr
    write("ml/.vscode/settings.json", '{"a": "\\ud800"}')
    assert "FileInTheWay" in run("init", "ml", "--only", "editor").stderr


@pytest.mark.parametrize("url", ["https://[::1", "x\ny: z", "https://h/a: b # c"])
def test_an_origin_that_yaml_reads_otherwise_is_no_address(url: str) -> None:
    git("config", "remote.origin.url", url)
    write("ml/trainc.yaml", SETTINGS)
    assert run("init", "ml", "--only", "gitops").status == 0
    assert load("ml/argocd/training.yaml")["spec"]["source"]["repoURL"] == "https://git.example.com/ml/training.git"


def test_from_below_and_from_the_root_the_same_files_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    write("ml/trainc.yaml", SETTINGS)
    write("ml/jobs/bert.yaml", JOB)
    assert run("init", "--only", "hooks").status == 2
    assert "run `trainc init ml --only hooks`" in run("init", "--only", "hooks").stderr
    monkeypatch.chdir("ml/jobs")
    assert run("init", "--only", "hooks", *REQUIREMENT).status == 0
    text = Path("../../.pre-commit-config.yaml").read_text(encoding="utf-8")
    assert "trainc check --config ml/trainc.yaml" in text
    assert Path("../requirements-trainc.txt").exists()


def test_the_generated_hooks_and_workflows_fit_the_schemas_of_their_tools() -> None:
    from jsonschema.validators import validator_for

    assert run("init", "ml", *REQUIREMENT).status == 0
    for file, name in (
        (".pre-commit-config.yaml", "pre-commit-config.json"),
        (".github/workflows/trainc-ml.yaml", "github-workflow.json"),
    ):
        schema = published(name)
        # The collection is older than merge queues.
        text = Path(file).read_text(encoding="utf-8").replace("\non:", '\n"on":').replace("  merge_group:\n", "")
        validator = validator_for(schema)(schema)
        assert [error.message for error in validator.iter_errors(yaml.safe_load(text))] == []


def test_places_are_relative_to_the_root_of_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    write("ml/trainc.yaml", SETTINGS)
    write("ml/jobs/bert.yaml", JOB.replace("image", "imag"))
    monkeypatch.chdir("ml")
    assert "::error file=ml/jobs/bert.yaml,line=7," in run("check", "--format", "github").stdout
    sarif = json.loads(run("check", "--format", "sarif").stdout)["runs"][0]["results"]
    places = {each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in sarif}
    assert places == {"ml/jobs/bert.yaml"}
    gitlab = json.loads(run("check", "--format", "gitlab").stdout)
    assert [(each["location"]["path"], each["location"]["lines"]["begin"]) for each in gitlab] == [
        ("ml/jobs/bert.yaml", 7)
    ]
    assert "jobs/bert.yaml:7:5: error" in run("check").stderr
    monkeypatch.chdir("..")
    assert "::error file=ml/jobs/bert.yaml,line=7," in run("check", "ml", "--format", "github").stdout


def test_a_gitlab_report_has_a_fingerprint_for_each_finding_that_survives_an_edit_above(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write("ml/trainc.yaml", SETTINGS)
    write("ml/jobs/bert.yaml", JOB.replace("image", "imag").replace("command", "comand"))
    monkeypatch.chdir("ml")
    before = json.loads(run("check", "--format", "gitlab").stdout)
    write("jobs/bert.yaml", "# A comment.\n" + Path("jobs/bert.yaml").read_text(encoding="utf-8"))
    after = json.loads(run("check", "--format", "gitlab").stdout)
    assert [each["fingerprint"] for each in before] == [each["fingerprint"] for each in after]
    assert len({each["fingerprint"] for each in before}) == len(before) == 2
    allowed = {"description", "check_name", "fingerprint", "severity", "location"}
    assert all(set(each) == allowed for each in before)
    assert {each["severity"] for each in before} <= {"info", "minor", "major", "critical", "blocker"}
    write("trainc.yaml", "sources: [none]\n")
    missing, *_ = json.loads(run("check", "--format", "gitlab").stdout)
    assert missing["location"]["path"] == "ml/trainc.yaml"


def test_the_application_of_a_folder_counts_from_the_root_of_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    write("ml/trainc.yaml", SETTINGS)
    write("ml/jobs/bert.yaml", JOB)
    monkeypatch.chdir("ml")
    assert run("build").status == 0
    application = (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: {source: {path: PATH}}\n"
    )
    write("argocd/a.yaml", application.replace("PATH", "ml/rendered"))
    assert "SettingsNotUsed" not in run("check").stderr
    write("argocd/a.yaml", application.replace("PATH", "ml/renderd"))
    assert "there is no ml/renderd: this Application has nothing to apply" in run("check").stderr
    assert "did you mean ml/rendered?" in run("check").stderr


def test_at_the_root_a_command_says_where_the_settings_are() -> None:
    write("ml/trainc.yaml", SETTINGS)
    write("ml/jobs/bert.yaml", JOB)
    assert "warning[SettingsNotUsed] trainc.yaml is in ml" in run("check").stderr
    assert "trainc.yaml is in ml: run trainc there" in run("build", "--check").stderr
    assert "SettingsNotUsed" not in run("check", "ml").stderr
    assert "SettingsNotUsed" not in run("check", "--config", "ml/trainc.yaml").stderr
    assert "1 TrainJob compiled" in run("check", "--config", "ml/trainc.yaml").stderr
    write("trainc.yml", SETTINGS)
    assert "trainc.yml:1:1: warning[SettingsNotUsed] trainc.yml is not read" in run("check").stderr


def test_the_same_bytes_from_a_clone_a_worktree_an_archive_and_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("ml/trainc.yaml", SETTINGS)
    write("ml/jobs/bert.yaml", JOB)
    assert run("build", "--config", "ml/trainc.yaml").status == 0
    rendered = Path("ml/rendered/nlp/bert.yaml").read_bytes()
    assert rendered.startswith(b"# Compiled by trainc from jobs/bert.yaml. Edit that file instead.\n")
    git("add", "-A")
    git("commit", "-qm", "all")
    git("clone", "-q", ".", str(tmp_path / "clone"))
    git("worktree", "add", "-q", str(tmp_path / "worktree"))
    git("archive", "-o", str(tmp_path / "all.tar"), "HEAD")
    unpack(tmp_path / "all.tar", tmp_path / "archive")
    for name in ("clone", "worktree", "archive", "company"):
        for folder in ("ml", "ml/jobs"):
            monkeypatch.chdir(tmp_path / name / folder)
            checked = run("build", "--check")
            assert (checked.status, checked.stdout) == (0, ""), (name, folder, checked.stderr)
        (tmp_path / name / "ml/rendered/nlp/bert.yaml").unlink()
        assert run("build").status == 0
        assert (tmp_path / name / "ml/rendered/nlp/bert.yaml").read_bytes() == rendered


def test_what_is_installed_has_the_extra_that_the_settings_need_and_the_index_of_a_private_network() -> None:
    write("ml/trainc.yaml", SETTINGS + "policies: [policies]\n")
    assert (
        run("init", "ml", "--only", "hooks", "--index-url", "https://pypi.example.com/simple", *REQUIREMENT).status == 0
    )
    line = "trainc[policy] @ git+https://git.example.com/platform/trainc@8f3c2d1"
    lines = Path("ml/requirements-trainc.txt").read_text(encoding="utf-8").splitlines()
    assert lines[-2:] == ["--index-url https://pypi.example.com/simple", line]
    for hook in load(".pre-commit-config.yaml")["repos"][0]["hooks"]:
        assert hook["additional_dependencies"] == ["--index-url=https://pypi.example.com/simple", line]


def test_a_requirement_that_nobody_can_install_is_a_sentence_that_pip_shows() -> None:
    from trainc.features.gitops.init.scaffold import requirement_of

    found = requirement_of({"url": "file:///nowhere/trainc", "dir_info": {}}, "0.2.0")
    assert found.problem
    assert "trainc==" not in found.line
    assert found.line.startswith("Replace this line")
    assert found.with_extras(["policy"]) == found


def test_what_is_at_the_root_is_listed_there_and_the_placeholder_is_named(tmp_path: Path) -> None:
    (tmp_path / "repo/.git").mkdir(parents=True)
    folder = tmp_path / "repo/ml"
    lines = run("init", str(folder), *REQUIREMENT).stderr.splitlines()
    below, root = lines.index(f"created in {folder}:"), lines.index("created at the root of the repository:")
    assert below < lines.index("  trainc.yaml") < root
    assert [Path(line.strip()).relative_to(tmp_path / "repo") for line in lines[root + 1 : root + 4]] == [
        Path(".github/CODEOWNERS"),
        Path(".github/workflows/trainc-ml.yaml"),
        Path(".pre-commit-config.yaml"),
    ]
    assert "  set repoURL in argocd/*.yaml, a placeholder now, to the URL of your repository" in lines
    text = (folder / "argocd/prod.yaml").read_text(encoding="utf-8")
    assert (
        "repoURL: https://git.example.com/ml/training.git # a placeholder: write the URL of this repository\n" in text
    )
    known = run("init", str(tmp_path / "other"), "--repository", "https://git.corp/a.git", *REQUIREMENT)
    assert "placeholder" not in known.stderr
    assert "placeholder" not in (tmp_path / "other/argocd/prod.yaml").read_text(encoding="utf-8")
    flux = run("init", str(tmp_path / "flux"), "--gitops", "flux", *REQUIREMENT).stderr
    assert ("repoURL" in flux, "kubectl apply -f flux/" in flux) == (False, True)
