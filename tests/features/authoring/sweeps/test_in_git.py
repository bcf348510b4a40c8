"""A Sweep in `sources` is an input like a TrainJob: every command knows its trials, and nothing prunes them by accident."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from commands import Result, run
from repositories import git, write

BASE = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: nlp, labels: {kueue.x-k8s.io/queue-name: gpus}}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    numNodes: 2
    image: "example.com/train:1"
    command: [torchrun, train.py, "--lr=${trialParameters.lr}"]
    resourcesPerNode: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1, memory: 1Gi, nvidia.com/gpu: 8}}
"""
OTHER = BASE.replace("name: llm", "name: other").replace(', "--lr=${trialParameters.lr}"', "")
SWEEP = """\
apiVersion: trainc/v1alpha1
kind: Sweep
base: ../jobs/llm.yaml
parameters: {lr: [1e-4, 1e-3, 1e-2]}
"""
SETTINGS = 'release: "2.3"\nsources: [jobs, sweeps]\noutput: rendered\n'


@pytest.fixture(autouse=True)
def _repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("trainc.yaml", SETTINGS)
    write("jobs/llm.yaml", BASE)
    write("jobs/other.yaml", OTHER)
    write("sweeps/lr.yaml", SWEEP)


def built() -> Result:
    result = run("build")
    assert result.status == 0, result.stderr
    return result


def rendered() -> list[str]:
    return sorted(path.name for path in Path("rendered").rglob("*.yaml"))


TRIALS = ["llm-trial-0.yaml", "llm-trial-1.yaml", "llm-trial-2.yaml"]


def test_its_trials_are_built_with_the_jobs_and_its_base_is_no_job() -> None:
    built()
    assert rendered() == [*TRIALS, "other.yaml"]
    text = Path("rendered/nlp/llm-trial-2.yaml").read_text(encoding="utf-8")
    assert text.startswith("# Compiled by trainc from sweeps/lr.yaml. Edit that file instead.\n")
    assert "--lr=0.01" in text
    assert run("build", "--check").status == 0
    checked = run("check")
    assert (checked.status, "4 TrainJobs compiled" in checked.stderr) == (0, True)


def test_a_trial_ends_with_its_combination_and_not_by_accident() -> None:
    built()
    write("sweeps/lr.yaml", SWEEP.replace(", 1e-2", ""))
    assert run("build", "--check").status == 1
    built()
    assert rendered() == [*TRIALS[:2], "other.yaml"]
    write("trainc.yaml", SETTINGS.replace(", sweeps", ""))
    write("jobs/llm.yaml", OTHER.replace("name: other", "name: llm"))
    refused = run("build")
    assert (refused.status, "error[SourceSkipped]" in refused.stderr) == (1, True)
    write("trainc.yaml", SETTINGS)
    write("sweeps/lr.yaml", SWEEP.replace("parameters", "parameter"))
    assert run("build").status == 1
    assert rendered() == [*TRIALS[:2], "other.yaml"]
    Path("sweeps/lr.yaml").unlink()
    built()
    assert rendered() == ["llm.yaml", "other.yaml"]


def test_diff_sees_trials_that_a_change_adds() -> None:
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "all")
    write("sweeps/lr.yaml", SWEEP.replace("1e-2]", "1e-2, 1e-1]"))
    found = json.loads(run("diff", "--format", "json").stdout)
    assert (found["headline"], [job["name"] for job in found["jobs"]]) == (
        "1 of 5 jobs is new, 16 GPUs",
        ["llm-trial-3"],
    )
    one = run("diff", "git:HEAD:sweeps/lr.yaml", "--format", "json")
    assert one.status == 0, one.stderr
    assert "llm-trial-3" in one.stdout


def test_commands_about_one_job_take_the_number_of_a_trial() -> None:
    explained = run("explain", "sweeps/lr.yaml#llm#2", "parallelism")
    assert (explained.status, "llm-trial-2" in explained.stdout) == (0, True), explained.stderr
    graphs = [run("graph", f"{job}").stdout for job in ("sweeps#nlp/llm#1", "sweeps#llm-trial-1")]
    assert "llm-trial-1" in graphs[0]
    assert graphs[0] == graphs[1]
    several = run("explain", "sweeps#llm")
    assert several.status == 2
    assert "llm is a sweep of 3 trials; choose one with PATH#llm#0" in several.stderr
    assert "there is no TrainJob" in run("explain", "jobs#missing").stderr


def test_report_and_fits_have_a_line_per_trial() -> None:
    write("cluster/nodes.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: nlp}\n")
    fits = run("fits", "--cluster", "cluster", "--format", "json")
    assert "llm-trial-2" in fits.stdout, fits.stderr
    report = run("report", "-o", "report.html")
    assert (report.status, report.stderr.count("4 jobs")) == (0, 1), report.stderr


def test_several_sweeps_of_one_base_need_names_of_their_own() -> None:
    write("sweeps/more.yaml", SWEEP)
    assert "error[DuplicateTrainJob]" in run("check").stderr
    write("sweeps/more.yaml", f"metadata: {{name: more}}\n{SWEEP}")
    built()
    assert rendered() == [*TRIALS, "more-trial-0.yaml", "more-trial-1.yaml", "more-trial-2.yaml", "other.yaml"]


def test_a_base_may_be_outside_the_sources_and_what_is_beside_it_stays_there() -> None:
    Path("bases").mkdir()
    write("bases/llm.yaml", f"{BASE}---\n{BASE.replace('name: llm', 'name: unused')}")
    Path("jobs/llm.yaml").unlink()
    write("sweeps/lr.yaml", SWEEP.replace("../jobs/llm.yaml", "../bases/llm.yaml#llm"))
    built()
    assert rendered() == [*TRIALS, "other.yaml"]


def test_an_overlay_changes_the_trials_through_their_base_also_among_its_resources() -> None:
    overlay = "apiVersion: trainc/v1alpha1\nkind: Overlay\nnamespace: prod\nnamePrefix: p-\n"
    write("overlays/prod/overlay.yaml", f"{overlay}resources: [../../jobs, ../../sweeps]\n")
    write(
        "sweeps/lr.yaml",
        f"metadata: {{name: sweep}}\n{SWEEP}#nlp/llm".replace("llm.yaml\n", "llm.yaml#nlp/llm\n").removesuffix(
            "#nlp/llm"
        ),
    )
    for words in (["overlays/prod"], ["--overlay", "overlays/prod"]):
        result = run("build", *words, "-o", "-")
        names = [each["metadata"] for each in yaml.safe_load_all(result.stdout)]
        assert [(one["namespace"], one["name"]) for one in names] == [
            ("prod", "p-other"), *(("prod", f"p-sweep-trial-{number}") for number in range(3)),
        ], result.stderr  # fmt: skip


UNUSED = "parameters: {lr: [1e-4, 1e-3], seed: [1, 2]}"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ('"--lr=${trialParameters.lr}"', "warning[UnusedParameter] parameters.seed"),
        ("--anything", "info[UnusedParameter] parameters.lr"),
        ('"--lr=${trialParameters.lr}", "--seed=${trialParameters.seed}"', ""),
        ('"--lr=${trialParameters.lr}", "--seed=$(KUBEFLOW_TRAINER_OPT_SEED)"', ""),
    ],
)
def test_a_parameter_that_nothing_mentions_is_reported(command: str, expected: str) -> None:
    write("jobs/llm.yaml", BASE.replace('"--lr=${trialParameters.lr}"', command))
    write("sweeps/lr.yaml", SWEEP.replace("parameters: {lr: [1e-4, 1e-3, 1e-2]}", UNUSED))
    result = run("check")
    assert result.status == 0, result.stderr
    assert (expected or "UnusedParameter") in result.stderr if expected else "UnusedParameter" not in result.stderr


def test_a_single_trial_needs_no_parameter() -> None:
    write("jobs/llm.yaml", BASE.replace(', "--lr=${trialParameters.lr}"', ""))
    write("sweeps/lr.yaml", SWEEP.replace(", 1e-3, 1e-2", ""))
    assert "UnusedParameter" not in run("check").stderr


def test_a_reference_outside_a_sweep_is_an_error() -> None:
    Path("sweeps/lr.yaml").unlink()
    assert "error[PlaceholderNotReplaced]" in run("check").stderr


@pytest.mark.parametrize("version", ["", "apiVersion: trianc/v1alpha1\n", "apiVersion: trainc/v1\n"])
def test_a_misspelt_version_is_an_error_and_the_base_still_no_job(version: str) -> None:
    write("sweeps/lr.yaml", SWEEP.replace("apiVersion: trainc/v1alpha1\n", version))
    result = run("check")
    assert (result.status, "InvalidSweep" in result.stderr) == (1, True)
    assert "PlaceholderNotReplaced" not in result.stderr
    assert "trainc/v1alpha1" in result.stderr


def test_a_sweep_of_another_tool_is_left_alone() -> None:
    write("sweeps/wandb.yaml", "apiVersion: wandb.example.com/v1\nkind: Sweep\nmetadata: {name: x}\n")
    assert run("check").status == 0
