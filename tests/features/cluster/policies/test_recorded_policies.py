"""Policies and Pod Security, against what an API server answered."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.conformance
@pytest.mark.slow  # a minute: each policy is a command of its own
def test_every_answer_is_that_of_the_api_server(vectors: Path) -> None:
    program = [sys.executable, str(vectors / "check_policies.py"), "-v", str(vectors / "policies.jsonl.gz")]
    scored = subprocess.run(program, capture_output=True, text=True, check=False)
    assert scored.returncode == 0, scored.stdout + scored.stderr
    right, total = scored.stdout.strip().splitlines()[-1].removesuffix(" as the API server").split("/")
    assert right == total != "0"
    assert "silent" not in scored.stdout
