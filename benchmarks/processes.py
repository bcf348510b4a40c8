"""Whole processes: wall time, processor time and peak memory, as the kernel counts them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

_FEW = 5


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a command, or the medians of several: seconds, seconds and megabytes."""

    wall: float
    cpu: float
    memory: float


def medians(
    commands: Mapping[str, Sequence[str]], runs: int, edits: Mapping[str, Callable[[int], None]]
) -> dict[str, Run]:
    """The medians of each command, which take turns, so that a slow moment of the machine meets them all.

    `edits` is what happens before each run of a command, and is not measured.
    """
    measured: dict[str, list[Run]] = {name: [] for name in commands}
    for command in commands.values() if runs > _FEW else ():
        _run(command)  # Fills the caches of files; of a long run that is a small part.
    for number in range(runs):
        for name, command in commands.items():
            if name in edits:
                edits[name](number)
            measured[name].append(_run(command))
    return {
        name: Run(median(r.wall for r in found), median(r.cpu for r in found), median(r.memory for r in found))
        for name, found in measured.items()
    }


def _run(command: Sequence[str]) -> Run:
    # Python as users run it, which keeps what it has compiled; nothing else of this process's environment matters.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    nowhere = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], list(command), environment, file_actions=nowhere)
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000)
