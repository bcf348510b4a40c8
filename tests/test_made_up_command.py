"""A command is one folder and one section of the table: a made-up one is listed, explains itself and its codes, and fails like the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_up import Edits, committed, run_all

HELP = """\
Count the devices of a job.

Examples:
  trainc devices jobs/llm.yaml
"""
COMMAND = '''"""What `trainc devices` does."""

from __future__ import annotations

from trainc.api.arguments import Arguments, Status, Streams
from trainc.api.command import compiled_job
from trainc.api.jobs import JobSet


def run(arguments: Arguments, streams: Streams) -> Status:
    """Print the number of devices of all pods."""
    result = compiled_job(arguments, streams)
    if result is None:
        return Status.DIAGNOSED
    steps = [job for jobset in JobSet.among(result[0].compiled.manifests) for job in jobset.jobs]
    streams.write(f"{sum(job.parallelism * sum(job.devices.values()) for job in steps)}\\n")
    return Status.DONE
'''
FOLDER = "compiler/trainc/features/authoring/devices"
FEATURE: Edits = {
    f"{FOLDER}/__init__.py": '"""Devices, counted."""\n',
    f"{FOLDER}/arguments.txt": HELP,
    f"{FOLDER}/arguments.json": '["job"]\n',
    f"{FOLDER}/command.py": COMMAND,
    f"{FOLDER}/codes.txt": "lint info\n  NoDevices\n",
    f"{FOLDER}/rules/NoDevices.md": "# NoDevices\n\nThe job requests no device.\n",
    "compiler/trainc/features/features.txt": [
        (
            "[authoring/graph]\n",
            "[authoring/devices]\ncommand = devices\nsummary = count the devices of a job\ngroup = look\n\n[authoring/graph]\n",
        )
    ],
}
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: team-a}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 4, command: [torchrun, train.py], resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return committed(tmp_path_factory.mktemp("made-up"), FEATURE)


@pytest.mark.parametrize(
    ("words", "status", "expected"),
    [
        (["devices", "job.yaml"], 0, "32\n"),
        (["devices", "gone.yaml"], 1, "NoSuchPath"),
        (["devices", "job.yaml", "--unheard-of"], 2, ""),
        (["help", "commands"], 0, "count the devices of a job"),
        (["help", "devices"], 0, "trainc devices jobs/llm.yaml"),
        (["devcies"], 2, "did you mean devices"),
        (["rule", "NoDevices"], 0, "The job requests no device."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_it_is_a_command_like_the_others(
    words: list[str], status: int, expected: str, source: Path, tmp_path: Path
) -> None:
    (tmp_path / "job.yaml").write_text(JOB, encoding="utf-8")
    done, stdout, stderr = run_all(source, [words], tmp_path)[0]
    assert (done, expected in stdout + stderr) == (status, True), stdout + stderr
