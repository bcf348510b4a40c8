"""`trainc runtimes`: what is shipped, and its text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import run

from trainc.reading.catalog import names

RUNTIMES = Path(__file__).parents[2] / "runtimes"


def test_the_list_names_framework_and_releases() -> None:
    head, *rows = run("runtimes", "list").stdout.splitlines()
    assert head.split() == ["NAME", "FRAMEWORK", "RELEASES"]
    assert [row.split()[0] for row in rows] == names()
    assert run("runtimes").stdout == run("runtimes", "list").stdout
    assert next(row.split() for row in rows if row.startswith("jax-")) == [
        "jax-distributed",
        "jax",
        "2.2",
        "2.3",
        "2.4",
    ]


def test_the_list_can_be_that_of_a_release() -> None:
    rows = run("runtimes", "list", "--release", "v2.0.1").stdout.splitlines()[1:]
    assert [row.split()[0] for row in rows] == names("2.0")


@pytest.mark.parametrize(("words", "file"), [([], "2.3"), (["--release", "2.1"], "2.0")])
def test_a_runtime_is_shown_as_it_is_shipped(words: list[str], file: str) -> None:
    result = run("runtimes", "show", "torch-distributed", *words)
    assert (result.status, result.stderr) == (0, "")
    assert result.stdout == (RUNTIMES / "torch-distributed" / f"{file}.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch-distribute", "torch-distributed"),
        ("mpi-distributed", "only up to Trainer 2.0"),
        ("zebra", "runtimes list"),
    ],
)
def test_what_there_is_not_leads_to_what_there_is(name: str, expected: str) -> None:
    result = run("runtimes", "show", name)
    assert (result.status, result.stdout) == (1, "")
    assert expected in result.stderr


OWN = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch-h100}
spec:
  mlPolicy: {numNodes: 2, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          spec:
            template:
              spec:
                containers:
                - {name: node, image: "example.com/base:1", resources: {limits: {nvidia.com/gpu: 8}}}
"""
USER = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: NAME, namespace: nlp}
spec: {runtimeRef: {name: torch-h100}}
"""


def test_the_runtimes_of_the_repository_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runtimes").mkdir()
    (tmp_path / "jobs").mkdir()
    (tmp_path / "runtimes/h100.yaml").write_text(OWN, encoding="utf-8")
    for name in ("bert", "gpt"):
        (tmp_path / f"jobs/{name}.yaml").write_text(USER.replace("NAME", name), encoding="utf-8")
    settings = "sources: [jobs]\nruntimes: [runtimes]\nenvironments: {a: {output: a}, b: {output: b}}\n"
    (tmp_path / "trainc.yaml").write_text(settings, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "jobs")
    head, row, blank, *rest = run("runtimes", "list").stdout.splitlines()
    assert head.split() == ["NAME", "IMAGE", "GPUS", "JOBS", "FILE"]
    assert row.split() == ["torch-h100", "example.com/base:1", "8", "2", "../runtimes/h100.yaml"]
    assert (blank, rest[0].split()[0]) == ("", "NAME")
    shown = run("runtimes", "show", "torch-h100")
    assert shown.stdout.startswith("# ../runtimes/h100.yaml, used by 2 jobs: nlp/bert, nlp/gpt\napiVersion:")
    monkeypatch.chdir(tmp_path.parent)
    assert "torch-h100" not in run("runtimes", "list").stdout
    config = ("--config", f"{tmp_path.name}/trainc.yaml")
    assert run("runtimes", "list", *config).stdout.splitlines()[1].startswith("torch-h100")
    assert run("runtimes", "show", "torch-h100", *config).stdout.startswith(f"# {tmp_path.name}/runtimes/h100.yaml")
    assert "none.yaml cannot be read" in run("runtimes", "list", "--config", "none.yaml").stderr
    monkeypatch.chdir(tmp_path / "jobs")
    (tmp_path / "trainc.yaml").write_text("runtime: x\n", encoding="utf-8")
    assert run("runtimes", "list").status == 1
    for spec in ("[]", "{template: 3}", "{template: {spec: {replicatedJobs: [3, {template: []}]}}}"):
        (tmp_path / "trainc.yaml").write_text("runtimes: [runtimes]\n", encoding="utf-8")
        (tmp_path / "runtimes/h100.yaml").write_text(OWN.partition("spec:")[0] + f"spec: {spec}\n", encoding="utf-8")
        assert run("runtimes", "list").status == 0


@pytest.mark.parametrize(
    "jobs", ["5", "[7]", "[{template: 5}]", "[{template: {spec: {template: {spec: {containers: 5}}}}}]"]
)
def test_what_is_misshapen_is_listed(jobs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trainc.yaml").write_text("", encoding="utf-8")
    head = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\nmetadata: {name: r}\n"
    Path("r.yaml").write_text(f"{head}spec: {{template: {{spec: {{replicatedJobs: {jobs}}}}}}}\n", encoding="utf-8")
    listed = run("runtimes", "list")
    assert (listed.status, listed.stderr) == (0, "")
    assert re.search(r"^r +- +- +0 +r\.yaml$", listed.stdout, re.MULTILINE)
    made = run("new", "x", "--runtime", "r", "--mount", "claim:/data", "--release", "2.3", "-o", "-")
    assert (made.status in (0, 1), made.stderr.count("Traceback")) == (True, 0)
