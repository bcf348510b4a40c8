"""The recorded counts of instructions: that they are of the commands that are counted."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.commands import RECORDED, START, over_jobs


def test_each_command_that_is_counted_has_a_recorded_count() -> None:
    recorded = json.loads(RECORDED.read_text())["counts"]
    single = {"start of Python, M", *(f"{name}, M" for name in START)}
    single |= {"build, one job, M", "build, a warning in each job, one job, M", "explain, one job, M"}
    assert recorded.keys() == single | {f"{name}, k per job" for name in over_jobs(Path())}
    assert all(count > 0 for count in recorded.values())
