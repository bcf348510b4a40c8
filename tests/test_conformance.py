"""Conformance: what the controllers of all releases, and JobSet's admission, were recorded to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FILES = [
    *(f"trainer-{minor}.jsonl.gz" for minor in ("2.0", "2.1", "2.2", "2.3")),
    "admission.jsonl.gz",
    "updates.jsonl.gz",
]


@pytest.mark.conformance
@pytest.mark.parametrize("name", FILES)
def test_every_recorded_case_is_exact(name: str, vectors: Path) -> None:
    program = [sys.executable, str(vectors / "check_vectors.py"), "-v", "3", str(vectors / name)]
    scored = subprocess.run(program, capture_output=True, text=True, check=False)
    assert scored.returncode == 0, scored.stdout + scored.stderr
    count, total = scored.stdout.strip().rpartition("all: ")[2].removesuffix(" exact").split("/")
    assert count == total != "0"
