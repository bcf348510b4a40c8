"""`trainc check`: the same findings in four forms, and no manifests."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from commands import run

WRONG = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    numNode: 2
    env: [{name: PET_NNODES, value: "100%"}]
"""
RIGHT = WRONG.replace("numNode:", "numNodes:").replace("PET_NNODES", "A")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs, all").mkdir()
    (tmp_path / "jobs, all" / "wrong.yaml").write_text(WRONG, encoding="utf-8")
    (tmp_path / "right.yaml").write_text(RIGHT, encoding="utf-8")
    return tmp_path


def test_what_is_right_is_counted() -> None:
    result = run("check", "right.yaml", "--release", "2.3")
    assert (result.status, result.stdout, result.stderr) == (0, "", "1 document checked, 1 TrainJob compiled\n")
    assert run("check", "right.yaml", "--release", "2.3", "-q").stderr == ""


def test_runtimes_alone_are_worth_checking() -> None:
    shown = run("runtimes", "show", "jax-distributed").stdout
    Path("right.yaml").write_text(shown, encoding="utf-8")
    assert run("check", "right.yaml", "--release", "2.3").status == 0
    Path("right.yaml").write_text(shown.replace("numNodes", "numNode"), encoding="utf-8")
    assert run("check", "right.yaml", "--release", "2.3").status == 1


def test_a_runtime_that_no_job_uses_is_tried() -> None:
    shown = run("runtimes", "show", "jax-distributed").stdout
    Path("runtime.yaml").write_text(shown, encoding="utf-8")
    alone = run("check", "runtime.yaml", "--release", "2.3")
    assert alone.stderr.endswith("1 document checked, 0 TrainJobs compiled, 1 unused runtime tried\n")
    label = "trainer.kubeflow.org/trainjob-ancestor-step: trainer"
    assert label in shown
    Path("runtime.yaml").write_text(shown.replace(label, "a: b").replace("name: node", "name: work"), encoding="utf-8")
    assert "[MissingTrainerAncestor]" in run("check", "runtime.yaml", "--release", "2.3").stderr


def test_a_fragment_is_checked_in_its_place_and_never_built() -> None:
    Path("right.yaml").write_text("mlPolicy:\n  numNodes: two\n", encoding="utf-8")
    checked = run("check", "right.yaml", "--release", "2.3")
    assert checked.status == 1
    assert "right.yaml:1:1: info[Fragment] this is part of a runtime's spec" in checked.stderr
    assert "right.yaml:2:3: error[WrongType] mlPolicy.numNodes:" in checked.stderr
    built = run("build", "right.yaml", "--release", "2.3")
    assert (built.status, built.stdout) == (1, "")
    assert "right.yaml:1:1: warning[Fragment] this is part of a runtime's spec, not a complete document" in built.stderr
    assert "[NoTrainJob]" in built.stderr


def test_a_fragment_in_a_folder_is_checked_and_does_not_disturb_a_build() -> None:
    Path("jobs, all/wrong.yaml").write_text(RIGHT, encoding="utf-8")
    Path("jobs, all/piece.yaml").write_text("mlPolicy: {numNode: 2}\n", encoding="utf-8")
    assert "error[UnknownField] mlPolicy.numNode" in run("check", "jobs, all", "--release", "2.3").stderr
    built = run("build", "jobs, all", "--release", "2.3")
    assert built.status == 0
    assert "info[SkippedDocument] skipped 1 document of other kinds" in built.stderr


def test_a_trainjob_without_a_version_is_not_a_document_of_another_kind() -> None:
    Path("right.yaml").write_text(RIGHT.partition("\n")[2], encoding="utf-8")
    result = run("build", "right.yaml", "--release", "2.3")
    assert result.status == 1
    assert "error[UnknownAPIVersion] apiVersion: apiVersion is missing" in result.stderr


def test_text_goes_to_stderr_as_that_of_build_does() -> None:
    checked, built = (run(command, "jobs, all", "--release", "2.3") for command in ("check", "build"))
    assert (checked.status, checked.stdout) == (1, "")
    assert checked.stderr == built.stderr


def test_json_has_the_documented_shape() -> None:
    result = run("check", ".", "--format", "json")
    report = json.loads(result.stdout)
    assert (result.status, result.stderr) == (1, "")
    assert report["version"] == 1
    assert report["summary"] == {"errors": 2, "warnings": 0, "infos": 1}
    pinned, unknown, reserved = report["diagnostics"]
    assert (pinned["code"], pinned["source"]) == ("ReleaseNotPinned", None)
    assert (reserved["code"], reserved["source"]["line"]) == ("ReservedEnv", 8)
    edit = {"line": 7, "column": 5, "endLine": 7, "endColumn": 12, "text": "numNodes"}
    assert unknown == {
        "fixes": [{"title": "Change numNode to numNodes", "edits": [edit]}],
        "code": "UnknownField",
        "severity": "error",
        "message": "Trainer 2.3 has no field numNode here",
        "hint": "did you mean numNodes?",
        "object": "TrainJob team-a/llm",
        "path": "spec.trainer.numNode",
        "source": {"file": "jobs, all/wrong.yaml", "line": 7, "column": 5},
        "url": None,
    }


def test_the_documentation_shows_every_key_of_the_json() -> None:
    page = (Path(__file__).parents[2] / "docs" / "diagnostics-json.md").read_text(encoding="utf-8")
    report = json.loads(run("check", ".", "--format", "json").stdout)
    keys = {*report, *report["summary"], *report["diagnostics"][1], *report["diagnostics"][1]["source"]}
    assert {key for key in keys if f"`{key}`" not in page} == set()


def test_github_commands_are_escaped() -> None:
    Path("right.yaml").write_text(WRONG.replace("numNode:", "numNodes:"), encoding="utf-8")
    result = run("check", "right.yaml", "--format", "github", "--release", "2.3")
    assert result.status == 1
    (line,) = result.stdout.splitlines()
    assert line.startswith(
        "::error file=right.yaml,line=8,col=11,title=ReservedEnv (TrainJob team-a/llm)::spec.trainer"
    )
    assert "%0A" in line
    line, _ = run("check", "jobs, all", "--format", "github", "--release", "2.3").stdout.splitlines()
    assert line.startswith("::error file=jobs%2C all/wrong.yaml,line=7,col=5,title=UnknownField")


def test_sarif_points_at_lines_and_explains_its_rules() -> None:
    log = json.loads(run("check", ".", "--format", "sarif").stdout)
    (sarif_run,) = log["runs"]
    rules = sarif_run["tool"]["driver"]["rules"]
    assert log["version"] == "2.1.0"
    assert [rule["id"] for rule in rules] == ["ReleaseNotPinned", "ReservedEnv", "UnknownField"]
    assert all(rule["shortDescription"]["text"].endswith(".") for rule in rules)
    pinned, unknown, _ = sarif_run["results"]
    assert (pinned["level"], "locations" in pinned) == ("note", False)
    assert rules[unknown["ruleIndex"]]["id"] == unknown["ruleId"] == "UnknownField"
    (location,) = unknown["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "jobs%2C%20all/wrong.yaml"},
        "region": {"startLine": 7, "startColumn": 5},
    }
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "TrainJob team-a/llm spec.trainer.numNode"


@pytest.mark.parametrize("form", ["json", "sarif"])
def test_a_report_without_findings_is_a_report(form: str) -> None:
    result = run("check", "right.yaml", "--release", "2.3", "--format", form)
    assert result.status == 0
    assert json.loads(result.stdout)["version"]


def test_a_broken_configuration_is_reported_in_the_same_form() -> None:
    Path("trainc.yaml").write_text("relase: x\n", encoding="utf-8")
    result = run("check", "right.yaml", "--format", "json")
    (found,) = json.loads(result.stdout)["diagnostics"]
    assert (result.status, found["code"], found["path"]) == (1, "InvalidConfiguration", "relase")


def test_a_claim_in_a_file_of_its_own_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    patch = """\
  trainer: {numNodes: 4}
  runtimePatches:
  - manager: example.com/data
    trainingRuntimeSpec:
      template:
        spec:
          replicatedJobs:
          - name: node
            template:
              spec:
                template:
                  spec:
                    volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
                    containers:
                    - {name: node, volumeMounts: [{name: data, mountPath: /data}]}
"""
    claim = (
        "kind: PersistentVolumeClaim\nmetadata: {name: data, namespace: team-a}\nspec: {accessModes: [ReadWriteOnce]}\n"
    )
    Path("jobs").mkdir()
    job = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: llm, namespace: team-a}\nspec:\n"
    Path("jobs/job.yaml").write_text(f"{job}  runtimeRef: {{name: torch-distributed}}\n{patch}", encoding="utf-8")
    assert "ClaimOnSeveralNodes" not in run("check", "jobs", "--release", "2.3").stderr
    Path("jobs/claim.yaml").write_text(f"apiVersion: v1\n{claim}", encoding="utf-8")
    assert "warning[ClaimOnSeveralNodes]" in run("check", "jobs", "--release", "2.3").stderr


TWO_MISTAKES = str(Path(__file__).parents[2] / "examples" / "mistakes" / "typo.yaml")


def test_concise_is_one_line_for_each_finding() -> None:
    done = run("check", TWO_MISTAKES, "--release", "2.3", "--format", "concise")
    lines = done.stdout.splitlines()
    assert done.status == 1
    assert [re.sub(r"^.*/typo.yaml:", "", line).partition(" spec")[0] for line in lines] == [
        "11:5: error[UnknownField]",
        "14:9: error[InvalidQuantity]",
    ]


def test_junit_has_a_test_for_each_finding_and_one_that_passes_if_there_is_none() -> None:
    suite = ET.fromstring(run("check", TWO_MISTAKES, "--release", "2.3", "--format", "junit").stdout)
    assert (suite.get("tests"), suite.get("failures")) == ("2", "2")
    assert [case.findtext("failure") for case in suite] == ["did you mean numNodes?", "write 8"]
    silent = run(
        "check",
        str(Path(__file__).parents[1] / "cases" / "torch-llm-pretrain.yaml"),
        "--release",
        "2.3",
        "--format",
        "junit",
    ).stdout
    assert 'failures="0"' in silent
    assert len(ET.fromstring(silent)) >= 1
