"""What a save costs while `trainc build --watch` runs: processor time of the whole process, over the number of saves."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from benchmarks.jobs import RELEASE, trainjob

_FEW, _MANY = 1, 21
# Between two looks at the output, and so long that nothing more comes of a save.
_LOOK, _QUIET = 0.01, 0.3


def seconds_per_save(trainc: str, jobs: Path, out: Path) -> float:
    """Processor seconds that each of twenty further saves of one job among all in `jobs` takes."""
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
    """As editors save: beside, then in its place, so that it is one change."""
    beside = jobs / ".saved"
    beside.write_text(trainjob(0).replace("sweep-0", word))
    beside.replace(jobs / "job-00000.yaml")


def _wait_for(out: Path, word: str) -> None:
    """Wait until the first job's output has a word, and the watch has nothing left to do."""
    made = out / "team-0" / "pretrain-0.yaml"
    while not made.exists() or word not in made.read_text():
        time.sleep(_LOOK)
    time.sleep(_QUIET)
