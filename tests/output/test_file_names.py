"""Where a job's manifests go: a file that carries the job's name, unless a tool would take it for its settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run

from trainc.output.ownership import can_be_owned, file_name

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: {name}}}
spec:
  runtimeRef: {{name: torch-distributed}}
"""


@pytest.mark.parametrize(
    ("namespace", "name", "file"),
    [
        ("team-a", "llm", "team-a/llm.yaml"),
        ("", "llm", "llm.yaml"),
        ("", "kustomization", "kustomization.jobset.yaml"),
        ("team-a", "kustomization", "team-a/kustomization.jobset.yaml"),
        ("", "overlay", "overlay.jobset.yaml"),
        ("", "trainc", "trainc.jobset.yaml"),
        ("trainc", "kustomizations", "trainc/kustomizations.yaml"),
    ],
)
def test_a_file_is_called_what_its_job_is_unless_tools_look_for_that_name(namespace: str, name: str, file: str) -> None:
    assert file_name(namespace, name) == file
    assert can_be_owned(file)


@pytest.mark.parametrize("name", ["kustomization", "overlay", "trainc"])
def test_what_was_rendered_is_manifests_to_every_command(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(JOB.format(name=name), encoding="utf-8")
    build = ("build", "job.yaml", "--release", "2.3", "-o", "out")
    assert run(*build).status == 0
    assert [run(*build, "--check").status, run("check", "out").status, run("diff", "out", "out").status] == [0, 0, 0]
