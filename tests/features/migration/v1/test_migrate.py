"""`trainc migrate`: which files it rewrites, shows or passes over, and that it says so."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from commands import run

OLD = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm}
spec:
  runtimeRef: {name: torch-distributed}
  podTemplateOverrides:
  - targetJobs: [{name: node}]
    spec: {nodeSelector: {pool: fast}}
"""
AS_JSON = (
    '{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "llm"}, "spec": '
    '{"runtimeRef": {"name": "torch-distributed"}, "podTemplateOverrides": '
    '[{"targetJobs": [{"name": "node"}], "spec": {"nodeSelector": {"pool": "fast"}}}]}}'
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str, text: str) -> Path:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")
    return Path(path)


@pytest.mark.parametrize("name", ["job.json", "job.yaml", "job.yml"])
def test_yaml_and_json_are_migrated_whatever_their_file_is_called(name: str) -> None:
    for text in (OLD, AS_JSON):
        file = write(f"jobs/{name}", text)
        result = run("migrate", "jobs")
        assert (result.status, result.stderr) == (0, "1 file changed\n")
        assert "runtimePatches" in file.read_text(encoding="utf-8")
        assert run("migrate", "jobs", "--check").status == 0


def test_a_template_is_passed_over_and_named() -> None:
    text = "spec: {{ spec }}\n"
    template = write("jobs/job.yaml.j2", text)
    result = run("migrate", "jobs")
    assert result.status == 0
    assert "info[SkippedDocument] jobs/job.yaml.j2 is a template and was not migrated" in result.stderr
    assert template.read_text(encoding="utf-8") == text
    assert "warning[SkippedDocument] jobs/job.yaml.j2 is a template" in run("migrate", "jobs/job.yaml.j2").stderr


def test_an_overlay_is_migrated_where_it_is_named_and_else_named() -> None:
    write("jobs/prod/overlay.yaml", "apiVersion: trainc/v1alpha1\nkind: Overlay\npatches:\n- path: patch.yaml\n")
    patch = write("jobs/prod/patch.yaml", OLD)
    result = run("migrate", "jobs")
    assert (result.status, patch.read_text(encoding="utf-8")) == (0, OLD)
    assert "info[SkippedDocument] jobs/prod is an overlay and was not migrated" in result.stderr
    assert run("migrate", "jobs/prod").stderr == "1 file changed\n"
    assert "runtimePatches" in patch.read_text(encoding="utf-8")


def test_it_says_so_where_there_is_nothing_to_do() -> None:
    write("jobs/a.yaml", "apiVersion: kubeflow.org/v1\nkind: Other\n")
    assert run("migrate", "jobs").stderr == "nothing to migrate in 1 file\n"
    assert run("migrate", "jobs", "--quiet").stderr == ""


@pytest.mark.parametrize("end", ["", "\n"])
def test_the_diff_can_be_applied_whether_or_not_the_file_ends_with_a_line_end(end: str, folder: Path) -> None:
    shown = [run("migrate", "--diff", str(write(name, OLD[:-1] + end))).stdout for name in ("a.yaml", "b.yaml")]
    named = "".join(f"diff --git a/{n} b/{n}\n{d}" for n, d in zip(("a.yaml", "b.yaml"), shown, strict=True))
    for name in ("a.yaml", "b.yaml"):
        named = named.replace(f"--- {name} (now)", f"--- a/{name}").replace(f"+++ {name} (migrated)", f"+++ b/{name}")
    subprocess.run(["git", "apply", "-"], input=named, text=True, check=True, cwd=folder)
    assert run("migrate", "--check", "a.yaml", "b.yaml").status == 0
