"""Hints that name what was meant: amounts in bytes, a template's loop, a patch's target, a file that is read twice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import run

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: NAME, namespace: team-a}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {command: [torchrun, t.py], resourcesPerNode: {limits: {memory: AMOUNT}}}
"""
OVERLAY = "apiVersion: trainc/v1alpha1\nkind: Overlay\nresources: [jobs]\n"


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_j2", ".yaml.j2").replace("_yaml", ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("NAME", "llm").replace("AMOUNT", "1Gi"), encoding="utf-8")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        ("64GB", {"64Gi", "64G"}),
        ("64g", {"64Gi", "64G"}),
        ("64 kb", {"64Ki", "64k"}),
        ("1.5TiB", {"1.5Ti", "1.5T"}),
    ],
)
def test_an_amount_as_people_write_bytes_is_written_as_kubernetes_does(
    amount: str, words: set[str], here: Path
) -> None:
    write(here, job_yaml=JOB.replace("AMOUNT", amount))
    (hint,) = re.findall("help: (.*)", run("check", "job.yaml", "--release", "2.3").stderr)
    assert words <= set(hint.replace(",", "").split())


def test_a_name_without_the_variable_of_its_loop_is_named_as_that(here: Path) -> None:
    write(here, sweep_j2=f"{{% for i in range(2) %}}\n---\n{JOB}{{% endfor %}}\n")
    shown = run("check", "sweep.yaml.j2", "--release", "2.3").stderr
    (hint,) = re.findall("help: (.*)", shown)
    assert "loop" in hint


def test_two_files_with_one_name_point_at_the_first(here: Path) -> None:
    write(here, jobs__a_yaml=JOB, jobs__b_yaml=JOB)
    assert "the first one is at jobs/a.yaml:3:" in run("check", "jobs", "--release", "2.3").stderr


def test_a_target_that_nothing_fits_names_the_job_that_is_near(here: Path) -> None:
    target = 'patches:\n- target: {kind: TrainJob, name: lm}\n  patch: "spec: {suspend: true}"\n'
    write(here, jobs__a_yaml=JOB, overlay_yaml=OVERLAY + target)
    assert "help: did you mean llm?" in run("check", ".", "--release", "2.3").stderr


def test_the_fault_of_a_template_is_marked_where_its_line_begins(here: Path) -> None:
    write(here, job_j2="a:\n    {{ missing }}\n")
    assert "job.yaml.j2:2:5: error[TemplateError]" in run("check", "job.yaml.j2", "--release", "2.3").stderr


def test_a_folder_of_runtimes_inside_the_input_shadows_nothing() -> None:
    assert run("init", ".").status == 0
    assert "ShadowedRuntime" not in run("check", ".").stderr
