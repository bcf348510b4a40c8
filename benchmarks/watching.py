"""What a save costs while `trainc build --watch` runs: processor time of the whole process, over the number of saves."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import IO

from benchmarks.jobs import RELEASE, trainjob

_READY = "watching for changes"
_FEW, _MANY = 1, 21


def seconds_per_save(trainc: str, jobs: Path, out: Path) -> float:
    """Processor seconds that each of twenty further saves of one job among all in `jobs` takes."""
    few, many = (_seconds(trainc, jobs, out, saves) for saves in (_FEW, _MANY))
    return (many - few) / (_MANY - _FEW)


def _seconds(trainc: str, jobs: Path, out: Path, saves: int) -> float:
    words = [trainc, "build", str(jobs), "-o", str(out), "--release", RELEASE, "--quiet", "--watch"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    running = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment)
    assert running.stderr is not None
    _wait(running.stderr)
    for number in range(saves):
        _save(jobs, f"watched-{saves}-{number}")
        _wait(running.stderr)
    running.send_signal(signal.SIGINT)
    _, status, usage = os.wait4(running.pid, 0)
    running.returncode = os.waitstatus_to_exitcode(status)
    running.stderr.close()
    return usage.ru_utime + usage.ru_stime


def _save(jobs: Path, word: str) -> None:
    """As editors save: beside, then in its place, so that it is one change."""
    beside = jobs / ".saved"
    beside.write_text(trainjob(0).replace("sweep-0", word))
    beside.replace(jobs / "job-00000.yaml")


def _wait(lines: IO[str]) -> None:
    for line in lines:
        if line.startswith(_READY):
            return
    raise SystemExit("the watch has ended")
