"""Environments of trainc.yaml: every command works on all of them or on some, and says which one a finding is about."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from clusters import node
from commands import run
from tables import cases

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: example.com/train:1
    command: [python]
    args: ["--port=$PORT"]
"""
OVERLAY = "apiVersion: trainc/v1alpha1\nkind: Overlay\nnamespace: ml-{name}\n"
# Only the pods of prod look for each other where none of them is.
ALONE = """\
patches:
  - target: {kind: TrainJob}
    patch: {spec: {trainer: {numNodes: 2, env: [{name: NCCL_SOCKET_IFNAME, value: lo}]}}}
"""
CONFIGURATION = """\
release: "2.3"
sources: [jobs]
environments:
  dev: {overlay: overlays/dev, output: rendered/dev}
  prod: {overlay: overlays/prod, output: rendered/prod, nameHash: true}
"""
BOTH = ("rendered/dev/ml-dev/llm.yaml", "rendered/prod/ml-prod/llm.yaml")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("jobs/llm.yaml", JOB)
    write("trainc.yaml", CONFIGURATION)
    for name in ("dev", "prod"):
        write(f"overlays/{name}/overlay.yaml", OVERLAY.format(name=name))


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def rendered() -> tuple[str, ...]:
    return tuple(sorted(path.as_posix() for path in Path("rendered").rglob("*.yaml")))


def name_in(path: str) -> str:
    (jobset,) = (d for d in yaml.safe_load_all(Path(path).read_text(encoding="utf-8")) if d["kind"] == "JobSet")
    name: str = jobset["metadata"]["name"]
    return name


@pytest.mark.parametrize("more", [()])
def test_a_build_without_path_writes_every_environment_as_a_whole(more: tuple[str, ...]) -> None:
    write("jobs/other.yaml", JOB.replace("llm", "other"))
    built = run("build", *more)
    assert (built.status, built.stdout) == (0, "")
    assert "rendered/dev: 2 files created\nrendered/prod: 2 files created\n" in built.stderr
    assert name_in(BOTH[0]) == "llm"
    assert re.fullmatch("llm-[a-z0-9]{6}", name_in(BOTH[1]))
    assert run("build", "--check").status == 0
    Path("jobs/other.yaml").unlink()
    assert run("build", "--check").status == 1
    assert "rendered/dev: 1 file removed\nrendered/prod: 1 file removed\n" in run("build").stderr
    assert rendered() == BOTH


def test_one_environment_is_built_alone_and_leaves_the_others() -> None:
    assert run("build", "--env", "dev").status == 0
    assert rendered() == BOTH[:1]
    assert run("build", "--env", "prod", "--env", "dev").status == 0
    assert rendered() == BOTH


def test_an_error_in_one_environment_keeps_all_output_back_and_names_it() -> None:
    write("overlays/prod/overlay.yaml", OVERLAY.format(name="prod") + ALONE)
    for words in (("build",), ("check",), ("report", "-o", "out.html")):
        result = run(*words)
        assert (result.status, result.stdout) == (1, "")
        assert len(re.findall(r"error\[LoopbackInterface\].*\(in prod\)\n", result.stderr)) == 1, result.stderr
    assert not Path("rendered").exists()
    assert run("build", "--env", "dev").status == 0


def test_files_by_hand_in_one_output_keep_all_output_back() -> None:
    write(BOTH[1], "# mine\n")
    result = run("build")
    assert result.status == 1
    assert "error[FileInTheWay]" in result.stderr
    assert rendered() == BOTH[1:]


def test_a_finding_that_is_the_same_in_all_environments_is_reported_once_and_about_none() -> None:
    checked = run("check")
    assert checked.status == 0
    assert checked.stderr.count("warning[UnexpandedShellVariable]") == 1
    assert "(in " not in checked.stderr
    assert checked.stderr.endswith(
        "dev: 1 document checked, 1 TrainJob compiled\nprod: 1 document checked, 1 TrainJob compiled\n"
    )
    assert run("build").stderr.count("warning[UnexpandedShellVariable]") == 1


def test_every_form_of_the_report_names_the_environment() -> None:
    write("overlays/prod/overlay.yaml", OVERLAY.format(name="prod") + ALONE)
    found = json.loads(run("check", "--format", "json").stdout)["diagnostics"]
    about = {d["code"]: d.get("environments") for d in found}
    assert about["LoopbackInterface"] == ["prod"]
    assert about["UnexpandedShellVariable"] is None
    assert re.search(r"::error .*LoopbackInterface.*\(in prod\)", run("check", "--format", "github").stdout)
    results = json.loads(run("check", "--format", "sarif").stdout)["runs"][0]["results"]
    about = {result["ruleId"]: result.get("properties") for result in results}
    assert about == {"LoopbackInterface": {"environments": ["prod"]}, "UnexpandedShellVariable": None}
    assert "environments" in (Path(__file__).parents[2] / "docs" / "diagnostics-json.md").read_text(encoding="utf-8")


def test_rules_and_comments_are_for_the_environment_that_needs_them() -> None:
    write("overlays/prod/overlay.yaml", OVERLAY.format(name="prod") + ALONE)
    rules = "rules: {LoopbackInterface: {level: ignore, reason: one host}}"
    write("trainc.yaml", CONFIGURATION.replace("nameHash: true", f"nameHash: true, {rules}"))
    assert run("check").status == 0
    write("trainc.yaml", CONFIGURATION)
    patch = ALONE.replace("    patch:", "    # trainc: ignore[LoopbackInterface] one host\n    patch:")
    write("overlays/prod/overlay.yaml", OVERLAY.format(name="prod") + patch)
    checked = run("check")
    assert checked.status == 0, checked.stderr
    # The comment is of no use in dev, and so what.
    assert "UnusedIgnore" not in checked.stderr


def test_a_path_is_about_no_environment_unless_one_is_named() -> None:
    assert "namespace:" not in run("build", "jobs").stdout
    assert "namespace: ml-dev" in run("build", "jobs", "--env", "dev").stdout
    assert "namespace: ml-prod" in run("build", "overlays/prod").stdout
    assert "ml-dev" in run("explain", "jobs", "--env", "dev").stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("build", "--env", "pord"), "trainc.yaml has no environment 'pord'; did you mean prod?"),
        (("check", "--env", "x"), "trainc.yaml has no environment 'x'; known environments: dev, prod"),
        (("build", "-o", "-"), "each environment needs an `output` of its own; choose one of dev, prod with --env"),
        (("build", "-o", "out"), "each environment needs an `output` of its own"),
        (("build", "jobs", "-o", "rendered"), "is the output of dev: use --env dev"),
        (
            ("build", "jobs", "--env", "dev", "-o", "rendered/prod"),
            "rendered/prod is the output of prod: use --env prod",
        ),
        (("fits",), "--cluster DIR is missing"),
    ],
)
def test_wrong_usage_names_the_environments(words: tuple[str, ...], expected: str) -> None:
    result = run(*words)
    assert result.status == 2
    assert expected in result.stderr


@cases("environments", "expected")
def test_what_is_wrong_with_environments_is_reported_at_its_place(environments: str, expected: str) -> None:
    write("trainc.yaml", f"release: '2.3'\nenvironments: {environments}\n")
    result = run("check")
    assert result.status == 1
    assert "trainc.yaml:2:" in result.stderr
    assert expected in result.stderr


def test_fits_asks_the_cluster_of_each_environment() -> None:
    write("prod-cluster/nodes.yaml", yaml.safe_dump(node("a", "rack-1")))
    write("trainc.yaml", CONFIGURATION.replace("nameHash: true", "cluster: prod-cluster"))
    answered = run("fits", "--format", "json")
    assert list(json.loads(answered.stdout)["environments"]) == ["prod"]
    assert run("fits").stdout.startswith("prod:\n")


def test_the_report_shows_the_jobs_of_all_environments() -> None:
    page = run("report", "-o", "-").stdout
    assert "<td>dev</td>" in page
    assert "<td>prod</td>" in page
    assert "<td>dev</td>" not in run("report", "--env", "prod", "-o", "-").stdout


def test_diff_compares_each_environment_with_itself() -> None:
    assert run("build").status == 0
    for command in ("init -q", "add .", "-c user.name=a -c user.email=a@b commit -qm a"):
        subprocess.run(["git", *command.split()], check=True)
    for words in ((), ("rendered",), ("rendered/dev",), ("git:HEAD",)):
        result = run("diff", *words, "--exit-code")
        assert result.status == 0, result.stdout + result.stderr
    write("jobs/llm.yaml", JOB.replace("example.com/train", "example.com/other"))
    shown = run("diff", "--format", "json", "--exit-code")
    assert shown.status == 1
    assert list(json.loads(shown.stdout)["environments"]) == ["dev", "prod"]
    assert run("diff", "--env", "prod", "--exit-code").status == 1
    text = run("diff", "rendered").stdout
    assert text.startswith("dev:\n")
    assert "\nprod:\n" in text


def test_argo_cd_compiles_the_environment_that_the_application_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARGOCD_APP_PARAMETERS", json.dumps([{"name": "environment", "string": "prod"}]))
    result = run("cmp")
    assert result.status == 0, result.stderr
    assert "namespace: ml-prod" in result.stdout
