"""Conformance: the job templates that an API server was asked about, and what it said."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

# The share of refusals that name the field that the API server names.
PLACED = 0.97


@pytest.mark.conformance
def test_trainc_refuses_what_the_api_server_refuses_and_where(vectors: Path) -> None:
    program = [sys.executable, str(vectors / "check_pods.py"), "-v", str(vectors / "pods.jsonl.gz")]
    scored = subprocess.run(program, capture_output=True, text=True, check=False)
    assert scored.returncode == 0, scored.stdout + scored.stderr
    tally = {name: int(count) for name, count in re.findall(r"(right|placed|not placed) (\d+)", scored.stdout)}
    assert tally["right"] > 1000
    assert tally["placed"] >= PLACED * (tally["placed"] + tally["not placed"])


@pytest.mark.conformance
def test_trainc_refuses_the_pods_that_the_api_server_refuses_of_jobs_that_it_accepts(vectors: Path) -> None:
    program = [sys.executable, str(vectors / "check_pods2.py"), "-v", str(vectors / "pods2.jsonl.gz")]
    scored = subprocess.run(program, capture_output=True, text=True, check=False)
    assert scored.returncode == 0, scored.stdout + scored.stderr
    assert re.search(r"^46/46 as the API server; warnings on accepted cases: \{\}$", scored.stdout, re.MULTILINE)
