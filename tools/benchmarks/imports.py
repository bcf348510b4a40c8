"""Measure the imports of a command, by module, with Python's -X importtime; the minimum of several runs."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence

_LINE = re.compile(r"import time:\s+(?P<self>\d+) \|\s+\d+ \|\s+(?P<module>\S+)")
_RUNS = 5


def import_times(python: str, words: Sequence[str]) -> dict[str, float]:
    """Milliseconds by module, in import order; `words` are the arguments after `python -X importtime`."""
    least: dict[str, float] = {}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    for _ in range(_RUNS):
        command = [python, "-X", "importtime", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        for line in _LINE.finditer(done.stderr):
            taken = int(line["self"]) / 1000
            least[line["module"]] = min(least.get(line["module"], taken), taken)
    return least


def by_part(times: dict[str, float]) -> dict[str, tuple[int, float]]:
    """The number of modules and milliseconds for each part of trainc, and for everything else."""
    parts: dict[str, list[float]] = {}
    for module, time in times.items():
        part = ".".join(module.split(".")[:2]) if module.partition(".")[0] == "trainc" else "Python's own"
        parts.setdefault(part, []).append(time)
    return {part: (len(taken), sum(taken)) for part, taken in sorted(parts.items(), key=lambda item: -sum(item[1]))}
