"""Several processes: the bytes, the order and the diagnostics are those of one, however processes are started."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest
from commands import run

from trainc.batch import workers
from trainc.batch.context import Context, Shared, UnusualError
from trainc.cli.batching import process_count
from trainc.explain import place
from trainc.options import Options

pytestmark = pytest.mark.slow

JOB = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: j{n}, namespace: team-{team}}}
spec:
  runtimeRef: {{name: {runtime}}}
  trainer: {{numNodes: {n}{extra}}}
"""
RUNTIME = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: rt}
spec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {containers: [{name: node, image: a:1}]}}}}}]}}}
"""


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nine job files whose names and jobs are in different order, some with warnings, and a runtime."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(workers, "_WORTH_A_PROCESS", 1)
    monkeypatch.setattr(workers, "_CHUNK", 2)
    (tmp_path / "jobs").mkdir()
    for n in range(1, 10):
        text = JOB.format(n=n, team=n % 3, runtime="rt" if n % 2 else "torch-distributed", extra="")
        (tmp_path / "jobs" / f"{10 - n}.yaml").write_text(text)
    (tmp_path / "jobs" / "rt.yaml").write_text(RUNTIME)
    return tmp_path / "jobs"


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize("words", [[], ["--format", "json"], ["--name-hash", "-v"], ["--cache", "cache"]])
def test_two_processes_build_what_one_builds(words: list[str]) -> None:
    one = run("build", "jobs", "--release", "2.3", *words)
    assert one.status == 0
    assert one.stdout.count("team-1") == 3
    assert run("build", "jobs", "--release", "2.3", *words, "-j", "2") == one


@pytest.mark.parametrize("n", [3, 6])
def test_errors_are_those_of_one_process(n: int, jobs: Path) -> None:
    (jobs / "3.yaml").write_text(JOB.format(n=7, team=1, runtime="nothing", extra=", numNode: 1"))
    # The name of another file's job, or one that is wrong, too.
    (jobs / "4.yaml").write_text(JOB.format(n=n, team=0, runtime="torch-distribute", extra=""))
    one = run("build", "jobs", "--release", "2.3")
    assert one.status == 1
    assert run("build", "jobs", "--release", "2.3", "-j", "2") == one


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_processes_can_be_started_in_any_way(method: str, jobs: Path) -> None:
    shared = Shared((str(jobs / "rt.yaml"),), b"", (), (), Options(release="2.3"), "yaml")
    context, files = Context(shared, place), [str(jobs / f"{n}.yaml") for n in range(1, 10)]
    made = list(workers.compile_files(files, shared, context, 2, method))
    assert made == list(workers.compile_files(files, shared, context, 1))
    assert [file for file, _, _ in made] == files


def test_an_input_that_changes_meanwhile_is_compiled_as_a_whole(jobs: Path) -> None:
    shared = Shared((str(jobs / "rt.yaml"),), b"", (), (), Options(release="2.3"), "yaml")
    context = Context(shared, place)
    (jobs / "rt.yaml").write_text(RUNTIME + "# changed\n")
    with pytest.raises(UnusualError, match="changed while it was being read"):
        list(workers.compile_files([str(jobs / f"{n}.yaml") for n in range(1, 10)], shared, context, 2))


def test_few_files_are_not_worth_a_process(jobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(workers, "_WORTH_A_PROCESS", 100)
    monkeypatch.setattr(workers, "_spread", refuse)
    assert run("build", str(jobs), "--release", "2.3", "-j", "8").status == 0


def test_zero_and_auto_mean_all_cores(capsys: pytest.CaptureFixture[str]) -> None:
    assert process_count(0) >= 1
    assert process_count(3) == 3
    assert run("build", ".", "-j", "auto", "--help").status == 0
    assert run("build", ".", "--jobs=-1").status == 2
    assert "'-1' is not a number of processes" in capsys.readouterr().err
