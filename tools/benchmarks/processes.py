"""Measure whole processes: wall time, processor time and peak memory, as reported by the kernel."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_FEW = 5


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a command, or the least of several: seconds, seconds and megabytes."""

    wall: float
    cpu: float
    memory: float


def least(commands: Mapping[str, Sequence[str]], runs: int) -> dict[str, Run]:
    """The least time and memory of each command. Commands alternate, so that a slow moment of the machine affects all.

    Errors: a command that fails ends the program.
    """
    measured: dict[str, list[Run]] = {name: [] for name in commands}
    for command in commands.values() if runs > _FEW else ():
        _run(command)  # Fills the file caches.
    for _ in range(runs):
        for name, command in commands.items():
            measured[name].append(_run(command))
    return {
        name: Run(min(r.wall for r in found), min(r.cpu for r in found), min(r.memory for r in found))
        for name, found in measured.items()
    }


def succeeds(command: Sequence[str]) -> bool:
    """Whether a command can be measured, such as one of an earlier version that may not have it."""
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _run(command: Sequence[str]) -> Run:
    # Python as users run it, with bytecode caching; the rest of this process's environment is irrelevant.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    nowhere = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], list(command), environment, file_actions=nowhere)
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status) not in (
        0,
        1,
    ):  # 1 says that something was found, such as a job that does not fit.
        raise SystemExit(f"{' '.join(command)} failed")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000)
