"""A document of trainc's own whose kind, version or fields are misspelt is named, and never skipped in silence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from commands import run
from hostile_inputs import HEAD

OURS, CLUSTER, SWEEP = "apiVersion: trainc/v1alpha1\n", "kind: Cluster\n", "kind: Sweep\n"
NODES = "nodes: [{name: worker, taints: [{key: gpu, effect: NoSchedule}]}]\n"
TRIALS = "base: job.yaml\nparameters: {lr: [1, 2]}\n"
# A list of what a cluster has, and what says that it was meant to be one.
LISTS: Mapping[str, tuple[str, str]] = {
    "its kind": (f"{OURS}kind: Clsuter\n{NODES}", "write Cluster"),
    "no kind": (f"{OURS}{NODES}", "kind is missing"),
    "its group": (f"apiVersion: trianc/v1alpha1\n{CLUSTER}{NODES}", "write trainc/v1alpha1"),
    "its version": (f"apiVersion: trainc/v1\n{CLUSTER}{NODES}", "write trainc/v1alpha1"),
    "no version": (f"{CLUSTER}{NODES}", "apiVersion is missing"),
    "a field of a taint": (f"{OURS}{CLUSTER}{NODES}".replace("key", "kye"), "did you mean key?"),
    "an effect": (f"{OURS}{CLUSTER}{NODES}".replace("NoSchedule", "NoShedule"), "'NoShedule' is not supported"),
}
SWEEPS: Mapping[str, tuple[str, str]] = {
    "its kind": (f"{OURS}kind: Swep\n{TRIALS}", "write Sweep"),
    "no kind": (f"{OURS}{TRIALS}", "kind is missing"),
    "its version": (f"apiVersion: trainc/v2\n{SWEEP}{TRIALS}", "write apiVersion: trainc/v1alpha1"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("jobs").mkdir()
    Path("jobs/job.yaml").write_text(HEAD, encoding="utf-8")


@pytest.mark.parametrize("what", LISTS)
def test_a_list_of_what_a_cluster_has(what: str) -> None:
    text, said = LISTS[what]
    Path("cluster.yaml").write_text(text, encoding="utf-8")
    result = run("fits", "jobs", "--cluster", "cluster.yaml")
    assert result.status == 1
    assert re.search(r"cluster.yaml:\d+:\d+: error.SnapshotUnreadable.", result.stderr)
    assert said in result.stderr


def test_the_cluster_of_another_project_is_not_ours() -> None:
    other = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: a}\n"
    Path("cluster.yaml").write_text(other, encoding="utf-8")
    assert run("fits", "jobs", "--cluster", "cluster.yaml").status == 0


@pytest.mark.parametrize("what", SWEEPS)
def test_a_sweep(what: str) -> None:
    text, said = SWEEPS[what]
    Path("jobs/sweep.yaml").write_text(text, encoding="utf-8")
    result = run("check", "jobs")
    assert result.status == 1
    assert "error[InvalidSweep]" in result.stderr
    assert said in result.stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.yaml", f'{OURS}kind: "Sweep"\n{TRIALS}'),
        ("s.yaml", f"{OURS}kind:  Sweep\n{TRIALS}"),
        (
            "s.json",
            '{"apiVersion": "trainc/v1alpha1", "kind":"Sweep", "base": "job.yaml", "parameters": {"lr": [1, 2]}}',
        ),
    ],
)
def test_a_sweep_is_found_however_it_is_written(name: str, text: str) -> None:
    Path("jobs", name).write_text(text, encoding="utf-8")
    assert "2 TrainJobs compiled" in run("check", "jobs").stderr
