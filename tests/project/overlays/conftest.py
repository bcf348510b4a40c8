"""Fixtures of overlays."""

from __future__ import annotations

from pathlib import Path

import pytest
from overlaid import JOB, RUNTIME, write


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with one job and its runtime."""
    monkeypatch.chdir(tmp_path)
    write("jobs/llm.yaml", JOB)
    write("jobs/rt.yaml", RUNTIME)
    return tmp_path
