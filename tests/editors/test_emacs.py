"""A session in Emacs with its own language client, eglot, as editors/emacs configures it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from editor import JOB, written

ROOT = Path(__file__).parents[2]
CONFIGURATION = ROOT / "editors" / "emacs" / "trainc-eglot.el"
SESSION = Path(__file__).parent / "session.el"

pytestmark = pytest.mark.editors


@pytest.fixture(scope="module")
def emacs() -> str:
    program = shutil.which("emacs")
    if program is None:
        pytest.skip("emacs is not installed; `apt-get install emacs-nox elpa-eglot` brings it")
    found = subprocess.run([program, "--batch", "--eval", "(require 'eglot)"], capture_output=True, check=False)
    if found.returncode:
        pytest.skip("emacs has no eglot; `apt-get install elpa-eglot` brings it for Emacs 28")
    return program


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH on which `trainc` is the one that is tested."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "trainc"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m trainc "$@"\n')
    program.chmod(0o755)
    return f"{program.parent}{os.pathsep}{os.environ['PATH']}"


def test_a_mistake_is_shown_explained_and_fixed(emacs: str, path: str, tmp_path: Path) -> None:
    (tmp_path / "repository").mkdir()
    repository = written(tmp_path / "repository")
    wrong = JOB.replace("numNodes", "numNode")
    (repository / "jobs" / "llm.yaml").write_text(wrong)
    report = tmp_path / "report.json"
    command = [emacs, "--batch", "-l", str(SESSION), str(CONFIGURATION), str(repository / "jobs/llm.yaml"), str(report)]
    environment = {**os.environ, "PATH": path, "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    seen = json.loads(report.read_text(encoding="utf-8"))
    assert "did you mean numNodes?" in seen["said"][0]
    assert seen["line"] == wrong[: wrong.index("numNode")].count("\n") + 1
    assert seen["fixed"] == JOB
    assert "parallelism" in seen["told"]
