"""zizmor finds nothing in the action, in the workflows of this repository, and in those that `trainc init` writes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from commands import run

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.tools


def test_zizmor_finds_nothing(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "ml"):
        assert run("init", str(folder), "--requirement", "trainc==1").status == 0
    workflows = [*(ROOT / ".github" / "workflows").glob("*.yaml"), *tmp_path.rglob(".github/workflows/*.yaml")]
    assert len(workflows) > 4
    words = [
        "zizmor",
        "--offline",
        "--no-progress",
        "--format",
        "plain",
        str(ROOT / "action.yml"),
        *map(str, workflows),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
