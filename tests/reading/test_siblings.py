"""Files that a command names and the repository holds: found where it is plain which file is meant, and checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run

ACCELERATE = "distributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 8\nmixed_precision: bf17\n"
LAUNCH = "accelerate launch --config_file {} train.py"
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: a, namespace: ml}}
spec:
  runtimeRef: {{name: torch-distributed}}
  trainer: {{numNodes: 1, command: [bash, -c, {command}], resourcesPerNode: {{limits: {{nvidia.com/gpu: 8}}}}}}
{patch}"""
PATCH = """\
  runtimePatches:
  - manager: a.b/c
    trainingRuntimeSpec: {{template: {{spec: {{replicatedJobs: [{{name: node, template: {{spec: {{template: {{spec: {{
      volumes: [{{name: v, emptyDir: {{}}}}], containers: [{{name: node, {}volumeMounts: [{{name: v, mountPath: {}}}]}}]}}}}}}}}}}]}}}}}}
"""


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "jobs" / "llm").mkdir(parents=True)

    def said(command: str, file: str = "", text: str | bytes = ACCELERATE, patch: str = "") -> str:
        (tmp_path / "jobs/llm/job.yaml").write_text(JOB.format(command=json.dumps(command), patch=patch))
        if file:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_bytes(text if isinstance(text, bytes) else text.encode())
        result = run("check", "--release", "2.3", "jobs/llm/job.yaml")
        return result.stdout + result.stderr

    return said


@pytest.mark.parametrize("file", ["jobs/llm/conf/a.yaml", "jobs/conf/a.yaml", "conf/a.yaml"])
def test_a_file_beside_the_job_or_above_it_is_checked_at_its_lines(check, file: str) -> None:  # type: ignore[no-untyped-def]
    text = check(LAUNCH.format("./conf/a.yaml"), file)
    assert f"{file}:4:1: warning[SettingRefused] mixed_precision in a.yaml is bf17" in text


def test_the_nearest_one_counts(check) -> None:  # type: ignore[no-untyped-def]
    check("true", "a.yaml")
    assert "bf17" not in check(LAUNCH.format("a.yaml"), "jobs/a.yaml", ACCELERATE.replace("bf17", "bf16"))


@pytest.mark.parametrize(
    ("command", "file", "patch"),
    [
        # Another file may be meant.
        (LAUNCH.format("/opt/conf/a.yaml"), "conf/a.yaml", ""),
        (LAUNCH.format("../a.yaml"), "jobs/a.yaml", ""),
        (LAUNCH.format("$DIR/a.yaml"), "a.yaml", ""),
        ("git clone https://x/y && cd y && " + LAUNCH.format("a.yaml"), "a.yaml", ""),
        ("sed -i s/x/y/ a.yaml && " + LAUNCH.format("a.yaml"), "a.yaml", ""),
        ("python make.py > a.yaml; " + LAUNCH.format("a.yaml"), "a.yaml", ""),
        ("cd /workspace && " + LAUNCH.format("a.yaml"), "a.yaml", PATCH.format("", "/workspace")),
        (LAUNCH.format("a.yaml"), "a.yaml", PATCH.format("workingDir: /data/code, ", "/data")),
        (LAUNCH.format("a.yaml"), "", ""),
        # Nobody else's, and no text.
        (LAUNCH.format("a.yaml"), "../a.yaml", ""),
    ],
)
def test_where_another_file_may_be_meant_none_is_read(check, command: str, file: str, patch: str) -> None:  # type: ignore[no-untyped-def]
    assert "bf17" not in check(command, file, patch=patch)


@pytest.mark.parametrize(
    "text", [b"\xff\xfe\x00", b"x" * 300_000, b"[" * 5_000, b"a: &a [*a]\n", b"mixed_precision: [", b""]
)
def test_a_file_that_cannot_be_read_is_left_alone(check, text: bytes) -> None:  # type: ignore[no-untyped-def]
    assert "a.yaml:" not in check(LAUNCH.format("a.yaml"), "a.yaml", text)


def test_a_link_out_of_the_repository_is_not_followed(check, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    outside = tmp_path.parent / "outside.yaml"
    outside.write_text(ACCELERATE)
    (tmp_path / "a.yaml").symlink_to(outside)
    assert "bf17" not in check(LAUNCH.format("a.yaml"))
