"""docs/many.md shows a workflow that checks each folder of jobs on a machine of its own; its commands run here."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from repositories import JOB, RUNTIME, write

PAGE = Path(__file__).parents[2] / "docs" / "many.md"
WORKFLOW: dict[str, Any] = yaml.safe_load(
    next(re.finditer(r"^```yaml\n(name: trainc\n.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL))[1]
)


def shell(script: str) -> subprocess.CompletedProcess[str]:
    """Run a step's script as GitHub runs it, with this Python's trainc."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, "PATH": path, "GITHUB_OUTPUT": "outputs"}
    return subprocess.run(["bash", "-e", "-c", script], env=environment, capture_output=True, text=True, check=False)


def exit_codes(job: str, folder: str = "") -> list[int]:
    """Run the trainc commands of a job of the workflow for one folder of the matrix."""
    commands = [step["run"] for step in WORKFLOW["jobs"][job]["steps"] if step.get("run", "").startswith("trainc ")]
    assert commands
    return [shell(command.replace("${{ matrix.folder }}", folder)).returncode for command in commands]


@pytest.fixture
def teams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository of two teams whose jobs are built."""
    monkeypatch.chdir(tmp_path)
    write("trainc.yaml", 'release: "2.3"\nsources: [jobs]\nruntimes: [runtimes]\noutput: rendered\n')
    write("runtimes/torch.yaml", RUNTIME.replace("NAME", "torch"))
    for team, name in (("nlp", "bert"), ("vision", "vit")):
        job = JOB.replace("NAME", name).replace("TEAM", team).replace("RUNTIME", "torch")
        write(f"jobs/{team}/{name}.yaml", job)
    assert shell("trainc build").returncode == 0


@pytest.mark.usefixtures("teams")
def test_the_folders_of_the_matrix_are_those_of_the_repository() -> None:
    [step] = [step for step in WORKFLOW["jobs"]["folders"]["steps"] if step.get("id") == "list"]
    done = shell(step["run"])
    if "jq: command not found" in done.stderr:
        pytest.skip("jq is not installed")
    key, _, folders = Path("outputs").read_text(encoding="utf-8").partition("=")
    assert (key, json.loads(folders)) == ("folders", ["jobs/nlp/", "jobs/vision/"])


@pytest.mark.usefixtures("teams")
def test_what_is_built_passes_in_every_folder_and_together() -> None:
    assert exit_codes("check", "jobs/nlp/") == exit_codes("check", "jobs/vision/") == [0, 0]
    assert exit_codes("together") == [0]


@pytest.mark.usefixtures("teams")
def test_a_job_that_was_not_built_again_fails_in_its_folder_alone() -> None:
    path = Path("jobs/nlp/bert.yaml")
    path.write_text(path.read_text(encoding="utf-8").replace("numNodes: 2", "numNodes: 4"), encoding="utf-8")
    assert exit_codes("check", "jobs/nlp/") == [0, 1]
    assert exit_codes("check", "jobs/vision/") == [0, 0]


@pytest.mark.usefixtures("teams")
def test_a_file_that_has_lost_its_job_is_found_by_the_job_that_compiles_everything() -> None:
    Path("jobs/nlp/bert.yaml").unlink()
    write("jobs/nlp/README.md", "empty\n")
    assert exit_codes("check", "jobs/vision/") == [0, 0]
    assert exit_codes("together") == [1]
