"""The recorded counts of instructions: that they are of the commands that are counted."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.commands import RECORDED, START, over_jobs


def test_what_has_a_recorded_count_is_counted() -> None:
    recorded = json.loads(RECORDED.read_text())["counts"]
    single = {"start of Python, M", *(f"{name}, M" for name in START)}
    single |= {"build, one job, M", "build, a warning in each job, one job, M", "explain, one job, M"}
    # A count that was out of date is left out until the next whole run.
    assert single <= recorded.keys() <= single | {f"{name}, k per job" for name in over_jobs(Path())}
    assert all(count > 0 for count in recorded.values())
