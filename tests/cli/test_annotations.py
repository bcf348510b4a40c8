"""`build --check` in a workflow: annotations for what is out of date, not too many, and what to do about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run
from repositories import git, job, runtime, write

SETTINGS = 'release: "2.3"\nsources: [jobs]\nruntimes: [runtimes]\noutput: rendered\n'


@pytest.fixture(autouse=True)
def _repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    write("trainc.yaml", SETTINGS)
    runtime()
    for number in range(12):
        job("a", f"job-{number}")


def annotated() -> list[str]:
    return [line for line in run("build", "--check", "--format", "github").stdout.splitlines() if line.startswith("::")]


def test_ten_annotations_at_most_and_the_last_counts_the_rest() -> None:
    assert run("build").status == 0
    assert annotated() == []
    for number in range(12):
        write(f"rendered/a/job-{number}.yaml", (Path(f"rendered/a/job-{number}.yaml").read_text()).replace("WARN", "x"))
    found = annotated()
    assert len(found) == 10
    assert found[-1].startswith("::error title=OutputStale::3 more files are out of date%0Arun `trainc build`")


def test_a_missing_and_a_foreign_file_are_named_too() -> None:
    assert run("build").status == 0
    Path("rendered/a/job-1.yaml").unlink()
    Path("jobs/a/job-2.yaml").unlink()
    assert [line.partition("::")[2].partition("%0A")[0].partition("::")[2] for line in annotated()] == [
        "rendered/a/job-1.yaml is missing",
        "rendered/a/job-2.yaml belongs to no job of the sources",
    ]


def test_an_error_is_an_annotation_and_the_text_says_what_to_do() -> None:
    assert run("build").status == 0
    job("a", "new")
    assert run("build", "--check").stderr.endswith("\nrun `trainc build`, and commit what it writes\n")
    assert "commit" not in run("build", "--check", "-q").stderr
    write("jobs/a/new.yaml", Path("jobs/a/new.yaml").read_text().replace("numNodes", "numNods"))
    (error,) = annotated()
    assert error.startswith("::error file=jobs/a/new.yaml,line=6")


def test_without_check_there_is_nothing_to_annotate() -> None:
    result = run("build", "--format", "github")
    assert (result.status, result.stdout) == (2, "")
    assert "--format github needs --check" in result.stderr


def test_the_secret_of_many_jobs_is_one_annotation() -> None:
    for number in range(3):
        write(
            f"jobs/a/mpi-{number}.yaml",
            "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n"
            f"metadata: {{name: mpi-{number}, namespace: a}}\n"
            "spec:\n  runtimeRef: {name: deepspeed-distributed}\n"
            "  trainer: {command: [mpirun, python, t.py], resourcesPerNode: {limits: {nvidia.com/gpu: 1}}}\n",
        )
    found = [line for line in run("check", "--format", "github").stdout.splitlines() if "SecretNeeded" in line]
    assert len(found) == 1
    assert "(and 2 more like it)" in found[0]


def test_a_check_has_ten_annotations_at_most_of_a_severity_and_a_line_that_counts_the_rest() -> None:
    for number in range(12):
        text = Path(f"jobs/a/job-{number}.yaml").read_text()
        write(f"jobs/a/job-{number}.yaml", text.replace("numNodes", f"numNods{number}"))
    found = run("check", "--format", "github").stdout.splitlines()
    assert sum(line.startswith("::error") for line in found) == 10
    assert found[-1] == "and 2 more errors: `trainc check` without --format shows them"
    assert json.loads(run("check", "--format", "json").stdout)["summary"]["errors"] == 12
