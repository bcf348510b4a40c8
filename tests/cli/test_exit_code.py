"""`trainc build --exit-code`: hooks learn whether a build wrote anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: NAME, namespace: team-a}
spec:
  runtimeRef: {name: torch-distributed}
"""


@pytest.fixture(autouse=True)
def _in_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("jobs").mkdir()
    write("llm")
    Path("trainc.yaml").write_text('sources: [jobs]\noutput: out\nrelease: "2.3"\n', encoding="utf-8")


def write(name: str, extra: str = "") -> None:
    Path(f"jobs/{name}.yaml").write_text(JOB.replace("NAME", name) + extra, encoding="utf-8")


def status() -> int:
    return run("build", "--exit-code").status


def test_whatever_is_written_changed_or_removed_ends_with_one() -> None:
    assert [status(), status()] == [1, 0]
    write("llm", "  trainer: {numNodes: 2}\n")
    assert [status(), status()] == [1, 0]
    write("second")
    assert [status(), status()] == [1, 0]
    Path("jobs/second.yaml").unlink()
    assert [status(), status()] == [1, 0]


def test_without_it_writing_is_success() -> None:
    assert run("build").status == 0
    assert Path("out/team-a/llm.yaml").exists()


def test_it_needs_an_output_folder() -> None:
    result = run("build", "--exit-code", "-o", "-")
    assert result.status == 2
    assert "--exit-code needs an output folder" in result.stderr
