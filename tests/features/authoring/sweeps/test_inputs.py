"""Sweeps in the input: their trials compiled, their budgets, and each mistake at its line."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import Result, run
from tables import cases

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    numNodes: 4
    command: [torchrun, train.py, "--lr=${trialParameters.lr}", "--batch=${trialParameters.batch}"]
    resourcesPerNode:
      limits:
        nvidia.com/gpu: 8
"""
SWEEP = """\
apiVersion: trainc/v1alpha1
kind: Sweep
base: job.yaml
parameters:
  lr: [1e-4, 1e-3]
  batch: [16, 32]
exclude:
- {lr: 1e-3, batch: 16}
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(JOB, encoding="utf-8")


def swept(text: str, *words: str, command: str = "build") -> Result:
    Path("sweep.yaml").write_text(text, encoding="utf-8")
    return run(command, "sweep.yaml", "--release", "2.3", *words)


def told(result: Result) -> list[tuple[str, str]]:
    """Place and code of each diagnostic."""
    return re.findall(r"^(\S+:\d+:\d+): (?:error|warning|info)(\[\w+\])", result.stderr, re.MULTILINE)


def test_each_trial_is_compiled_and_nothing_else() -> None:
    result = swept(SWEEP)
    names = [each["metadata"]["name"] for each in yaml.safe_load_all(result.stdout)]
    assert (result.status, names) == (0, [f"llm-trial-{index}" for index in range(3)])
    lrs = re.findall(r"--lr=(\S+)", result.stdout)
    assert lrs == ["0.0001", "0.0001", "0.001"]


def test_files_say_which_sweep_they_are_from_and_check_agrees() -> None:
    assert swept(SWEEP, "-o", "out").status == 0
    text = Path("out/team-a/llm-trial-2.yaml").read_text(encoding="utf-8")
    assert text.startswith("# Compiled by trainc from sweep.yaml. Edit that file instead.\n")
    assert 'trainer.kubeflow.org/opt-param-batch: "32"' in text
    assert swept(SWEEP, "-o", "out", "--check").status == 0
    assert swept(SWEEP.replace("1e-3]", "1e-2]"), "-o", "out", "--check").status == 1


def test_the_size_is_always_told() -> None:
    assert "3 trials of 32 GPUs: 96 GPUs together, for an unknown time" in swept(SWEEP).stderr
    assert (
        "3 trials of 32 GPUs for 2 h each: 192 GPU-hours without restarts"
        in swept(f"{SWEEP}budget: {{hoursPerTrial: 2}}\n").stderr
    )
    without = JOB.partition("    resourcesPerNode")[0]
    Path("job.yaml").write_text(without, encoding="utf-8")
    assert "info[SweepSize] 3 trials without GPUs" in swept(SWEEP).stderr


@pytest.mark.parametrize(
    ("deadline", "budget", "codes"),
    [
        ("", "{gpuHours: 192, hoursPerTrial: 2}", ["SweepSize"]),
        ("", "{gpuHours: 191, hoursPerTrial: 2}", ["OverBudget"]),
        ("", "{gpuHours: 191}", ["OverBudget"]),
        ("  activeDeadlineSeconds: 3600\n", "{gpuHours: 96, hoursPerTrial: 2}", ["SweepSize"]),
        ("  activeDeadlineSeconds: 7200\n", "{gpuHours: 96, hoursPerTrial: 1}", ["SweepSize"]),
        ("  activeDeadlineSeconds: 7200\n", "{gpuHours: 96}", ["OverBudget"]),
    ],
)
def test_a_budget_is_compared_with_gpus_times_hours(deadline: str, budget: str, codes: list[str]) -> None:
    Path("job.yaml").write_text(JOB + deadline, encoding="utf-8")
    result = swept(f"{SWEEP}budget: {budget}\n")
    found = re.findall(r"\[(SweepSize|OverBudget)\]", result.stderr)
    assert (found, result.status, bool(result.stdout)) == (codes, int(codes == ["OverBudget"]), codes != ["OverBudget"])


def test_sizes_that_differ_are_summed() -> None:
    Path("job.yaml").write_text(
        JOB.replace("numNodes: 4", "numNodes: ${trialParameters.nodes}").replace(
            "Parameters.batch", "Parameters.nodes"
        ),
        encoding="utf-8",
    )
    text = SWEEP.partition("exclude")[0].replace("batch: [16, 32]", "nodes: [1, 2]")
    result = swept(f"{text}budget: {{hoursPerTrial: 1}}\n")
    assert "4 trials of 8 to 16 GPUs for 1 h each: 48 GPU-hours" in result.stderr


@cases("old", "new", "place")
def test_a_mistake_is_reported_at_its_place(old: str, new: str, place: tuple[str, str]) -> None:
    result = swept(SWEEP.replace(old, new))
    assert tuple(place) in told(result), result.stderr
    assert "help:" in result.stderr


def test_a_reference_to_no_parameter_is_reported_in_the_job() -> None:
    Path("job.yaml").write_text(JOB.replace("Parameters.lr", "Parameters.learningRate"), encoding="utf-8")
    result = swept(SWEEP)
    assert told(result) == [("job.yaml:8:35", "[UnknownParameter]")], result.stderr
    assert result.status == 1


def test_a_value_that_the_job_cannot_take_is_reported_where_the_sweep_has_it_and_once() -> None:
    Path("job.yaml").write_text(JOB.replace("numNodes: 4", "numNodes: ${trialParameters.batch}"), encoding="utf-8")
    result = swept(SWEEP.replace("batch: [16, 32]", "batch: [16, many]"))
    assert [place for place in told(result) if place[1] == "[WrongType]"] == [("sweep.yaml:6:15", "[WrongType]")]


def test_what_is_wrong_with_the_base_is_reported_once_for_all_trials() -> None:
    Path("job.yaml").write_text(JOB.replace("numNodes", "numNode"), encoding="utf-8")
    assert told(swept(SWEEP)) == [("job.yaml:7:5", "[UnknownField]")]
    long = JOB.replace("name: llm", f"name: {'l' * 60}")
    Path("job.yaml").write_text(long, encoding="utf-8")
    result = swept(SWEEP)
    assert result.status == 1
    assert len(told(result)) == len(set(told(result)))
    assert {code for _, code in told(result)} <= {"[InvalidName]", "[JobNameTooLong]", "[TooLong]"}


def test_the_sweep_and_its_job_may_share_a_file_or_the_standard_input() -> None:
    shared = SWEEP.replace("base: job.yaml\n", "")
    assert len(re.findall("kind: JobSet", swept(f"{shared}---\n{JOB}").stdout)) == 3
    piped = run("build", "-", "--release", "2.3", stdin=f"{shared}---\n{JOB.replace('llm', 'piped')}".encode())
    assert "name: piped-trial-0" in piped.stdout


def test_of_several_jobs_the_one_after_the_hash_is_meant() -> None:
    Path("job.yaml").write_text(f"{JOB}---\n{JOB.replace('name: llm', 'name: other')}", encoding="utf-8")
    ambiguous = swept(SWEEP)
    assert "job.yaml has 2 TrainJobs" in ambiguous.stderr
    assert "base: job.yaml#llm" in ambiguous.stderr
    for name in ("other", "team-a/other"):
        assert "other-trial-0" in swept(SWEEP.replace("job.yaml", f'"job.yaml#{name}"')).stdout


def test_overlays_change_the_base_first() -> None:
    Path("prod").mkdir()
    overlay = "apiVersion: trainc/v1alpha1\nkind: Overlay\nnamePrefix: prod-\nlabels: [{pairs: {env: prod}}]\n"
    Path("prod/overlay.yaml").write_text(overlay, encoding="utf-8")
    result = swept(SWEEP, "--overlay", "prod")
    assert "name: prod-llm-trial-0" in result.stdout, result.stderr
    assert "env: prod" in result.stdout


def test_check_looks_at_the_trials_too() -> None:
    result = swept(SWEEP, command="check")
    assert "3 TrainJobs compiled" in result.stderr
    assert "[SweepSize]" in result.stderr


@pytest.mark.parametrize("base", ["/etc/hostname", "../../../other.yaml"])
def test_a_base_outside_the_repository_is_refused(base: str) -> None:
    Path(".git").mkdir()
    assert "error[OutsideRoot]" in swept(SWEEP.replace("job.yaml", base)).stderr


JUNK: list[Any] = [
    None, True, -1, 1.5, float("inf"), "", "${trialParameters.nothing}", "<b>\x07", 10**30, [], [None], [[]], {}, {"a": {}},
    {"min": 0, "max": 1e9, "step": 1e-9}, {"min": 1e-300, "max": 1e300, "count": 50, "scale": "log"},
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        for step in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[step], (*path, step))


def mutated(document: Any, source: random.Random) -> Any:
    """The document with another value, or none, in up to three places."""
    made = copy.deepcopy(document)
    for _ in range(source.randint(1, 3)):
        *above, step = source.choice(list(places(made))[1:] or [("kind",)])
        inner = made
        for each in above:
            inner = inner[each]
        if source.random() < 0.7 or step not in inner:
            inner[step] = copy.deepcopy(source.choice(JUNK))
        else:
            del inner[step]
    return made


@pytest.mark.parametrize("seed", range(100))
def test_no_mutation_of_a_sweep_or_its_job_meets_a_defect(seed: int) -> None:
    source = random.Random(seed)
    sweep = {**yaml.safe_load(SWEEP), "parameters": {"lr": [0.1, 0.2], "batch": {"min": 1, "max": 3, "step": 1}}}
    del sweep["base"]
    documents = [mutated(sweep, source), mutated(yaml.safe_load(JOB), source)]
    result = swept(yaml.safe_dump_all(documents))
    assert result.status in (0, 1), result.stderr
    assert (result.status == 1) == ("error[" in result.stderr)
