"""Measure a save during `trainc build --watch`: processor time of the process divided by the number of saves."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from benchmarks.jobs import RELEASE, trainjob

_FEW, _MANY = 1, 21
# The polling interval for output, and the time after which a save has no further effect.
_LOOK, _QUIET = 0.01, 0.3


def seconds_per_save(trainc: str, jobs: Path, out: Path) -> float:
    """Processor seconds per save of one job among all in `jobs`, from the difference between many and few saves."""
    few, many = (_seconds(trainc, jobs, out / str(saves), saves) for saves in (_FEW, _MANY))
    return (many - few) / (_MANY - _FEW)


def _seconds(trainc: str, jobs: Path, out: Path, saves: int) -> float:
    words = [trainc, "build", str(jobs), "-o", str(out), "--release", RELEASE, "--quiet", "--watch"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    running = subprocess.Popen(words, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment)
    _wait_for(out, "kind: JobSet")
    for number in range(saves):
        word = f"watched-{saves}-{number}-"
        _save(jobs, word)
        _wait_for(out, word)
    running.terminate()
    _, status, usage = os.wait4(running.pid, 0)
    running.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def _save(jobs: Path, word: str) -> None:
    """Save like an editor: write a temporary file and rename it, which is a single change."""
    beside = jobs / ".saved"
    beside.write_text(trainjob(0).replace("sweep-0", word))
    beside.replace(jobs / "job-00000.yaml")


def _wait_for(out: Path, word: str) -> None:
    """Wait until the output of the first job contains `word` and the watch is idle."""
    made = out / "team-0" / "pretrain-0.yaml"
    while not made.exists() or word not in made.read_text():
        time.sleep(_LOOK)
    time.sleep(_QUIET)
