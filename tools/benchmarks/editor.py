"""Measure the language server: PYTHONPATH=tests:tools python -m benchmarks.editor [json].

Uses a workspace of 2,000 jobs and one runtime. Measures processor time of the server: from `initialized` to the first
diagnostics of an open job, from each key press to its diagnostics, and for each other request. Key presses in the
runtime compile some of the jobs that use it. The resolution is 10 ms. Prints a table, or JSON: the mean and the largest
of each, in seconds.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

from editor import Editor, editing

from benchmarks.jobs import RELEASE, RUNTIME, trainjob

JOBS = 2_000
PRESSES = 40
GOALS = {"first diagnostics": 1.5, "key press in a job": 0.03}


def main() -> None:
    """Print the seconds of each."""
    with TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        (root / "trainc.yaml").write_text(f'release: "{RELEASE}"\n')
        (root / "runtime.yaml").write_text(RUNTIME)
        for number in range(JOBS):
            (root / f"job-{number:05}.yaml").write_text(trainjob(number))
        found = _measured(root)
    if sys.argv[1:] == ["json"]:
        print(json.dumps({what: [mean(times), max(times)] for what, times in found.items()}))
        return
    print(f"{'what':28}    mean  largest  goal")
    for what, times in found.items():
        goal = GOALS.get(what)
        print(f"{what:28}  {mean(times):6.3f}  {max(times):7.3f}  {'' if goal is None else f'{goal:g}'}")


def _measured(root: Path) -> dict[str, list[float]]:
    job, text = "job-00500.yaml", trainjob(500)
    found: dict[str, list[float]] = {}
    with editing(root) as session:

        def measure(what: str, act: Callable[[], object]) -> None:
            before = _processor_time(session.process.pid)
            act()
            found.setdefault(what, []).append(_processor_time(session.process.pid) - before)

        measure("first diagnostics", lambda: session.open(job))
        for number in range(PRESSES):
            typed = text.replace("sweep-500", f"sweep-{number}")
            measure("key press in a job", lambda typed=typed: session.change(job, typed))  # type: ignore[misc]
        for method, params in _requests(session, job).items():
            for _ in range(5):
                measure(method, lambda m=method, p=params: session.request(f"textDocument/{m}", p))  # type: ignore[misc]
        measure("first diagnostics, runtime", lambda: session.open("runtime.yaml"))
        for number in range(PRESSES):
            typed = RUNTIME.replace("1.4.2", f"1.4.{number}")
            measure("key press in the runtime", lambda typed=typed: session.change("runtime.yaml", typed))  # type: ignore[misc]
    return found


def _requests(session: Editor, job: str) -> dict[str, dict[str, object]]:
    document = {"textDocument": {"uri": session.uri(job)}}
    place = session.at(job, 10, 6)
    return {
        "hover": place,
        "completion": place,
        "definition": session.at(job, 8, 11),
        "codeLens": document,
        "documentSymbol": document,
    }


def _processor_time(process: int) -> float:
    """Processor time of a process in seconds, from Linux's /proc."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        sys.exit("the processor time of another process is read from /proc, which Linux has")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
