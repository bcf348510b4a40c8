"""A copy of trainc with a made-up commit on top: what a release or a framework that does not exist would cost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import trainc

REPOSITORY = Path(trainc.__file__).parents[2]
DRIVER = """
import json, sys
from commands import run
results = [run(*words) for words in json.load(sys.stdin)]
print(json.dumps([(each.status, each.stdout, each.stderr) for each in results]))
"""
# What a commit does to a file: a piece of its text and what takes its place, or the text of a new file.
Edits = Mapping[str, Sequence[tuple[str, str]] | str]


def committed(folder: Path, edits: Edits) -> Path:
    """The source root of a copy of trainc, below `folder`, with a commit on top."""
    for part in ("compiler", "runtimes"):
        shutil.copytree(REPOSITORY / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name, edit in edits.items():
        file = folder / name
        if isinstance(edit, str):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(edit, encoding="utf-8")
            continue
        text = file.read_text(encoding="utf-8")
        for old, new in edit:
            assert text.count(old) == 1, (name, old)
            text = text.replace(old, new)
        file.write_text(text, encoding="utf-8")
    return folder / "compiler"


def run_all(source: Path, commands: Sequence[Sequence[str]], folder: Path) -> list[tuple[int, str, str]]:
    """Status, stdout and stderr of each command, run in `folder` by the trainc whose source root is `source`."""
    path = os.pathsep.join((str(source), str(Path(__file__).parent)))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", DRIVER],
        input=json.dumps(commands),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results: list[Any] = json.loads(done.stdout)
    return [(status, stdout, stderr) for status, stdout, stderr in results]
