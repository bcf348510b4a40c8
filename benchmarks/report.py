"""docs/benchmarks.md: what was measured, as tables, the ratios first."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.imports import by_part
from benchmarks.processes import Run

_STAGES = {
    "read": "read: from text to a dict",
    "validate": "validate: the TrainJob's schema and defaults",
    "passes": "passes: from dicts to manifests, including the check of the runtime",
    "emit": "emit: from manifests to text",
    "whole": "all of it: from text to text",
}
# One job has changed since the last build.
CACHED = "trainc --cache, one job changed"
# Beside 10,000 jobs, to see how the time grows.
THOUSAND = "trainc, the 1,000 jobs again"
_NOTES = Path(__file__).with_name("notes.md")


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything that was measured: runs by number of jobs and command; seconds by stage; milliseconds by module.

    `passes` is the share that the passes of one job have of what kustomize needs for one job.
    """

    processes: Mapping[int, Mapping[str, Run]]
    stages: Mapping[str, float]
    passes: float
    cold: dict[str, float]
    imports: Mapping[str, dict[str, float]]
    kubectl: str


def report(measured: Measured) -> str:
    """The page."""
    return "\n".join(
        (*_opening(measured), *_processes(measured), *_goals(measured), *_inside(measured), *_imports(measured))
    )


def _opening(measured: Measured) -> Iterator[str]:
    yield "# Benchmarks\n"
    yield "`make bench` writes this page. It runs `trainc build` and `kubectl kustomize` on the same jobs, alternately. trainc gets"
    yield "one TrainJob per file, and a runtime; kustomize gets the JobSet and PodGroup compiled from each, with one namespace and"
    yield "one JSON patch for all of them. Times are those of whole processes, medians of several runs, with the output discarded."
    yield "No test asserts any of these figures.\n"
    yield f"Measured on {_processor()}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()},"
    yield f"kubectl {measured.kubectl}.\n"


def _processor() -> str:
    """The processor's name, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())


def _processes(measured: Measured) -> Iterator[str]:
    yield "## Compared with kustomize\n"
    yield "What trainc needs as a fraction of what kustomize needs; below 1 means less.\n"
    rows = []
    for count, runs in measured.processes.items():
        ours, theirs = runs["trainc"], runs.get("kustomize")
        if theirs is not None:
            pairs = ((ours.wall, theirs.wall), (ours.cpu, theirs.cpu), (ours.memory, theirs.memory))
            rows.append([f"{count:,}", *(f"**{left / right:.3g}**" for left, right in pairs)])
    yield from _table(["jobs", "wall", "processor", "peak memory"], rows)
    yield "![wall time over the number of jobs](benchmarks.svg)\n"
    rows = [
        [f"{count:,}", f"`{name}`", _seconds(run.wall), _seconds(run.cpu), f"{run.memory:.0f} MB"]
        for count, runs in measured.processes.items()
        for name, run in runs.items()
    ]
    yield from _table(["jobs", "program", "wall", "processor", "peak memory"], rows)


def _goals(measured: Measured) -> Iterator[str]:
    one, thousand, most = (measured.processes[count] for count in (1, 1_000, 10_000))
    startup = one["trainc"].wall / one["kustomize"].wall
    throughput = thousand["trainc"].wall / thousand["kustomize"].wall
    growth = most["trainc"].wall / most[THOUSAND].wall
    found = (
        ("one job, wall time, relative to kustomize", startup, 1.2, ""),
        ("1,000 jobs, wall time, relative to kustomize", throughput, 0.05, ""),
        ("10,000 jobs, wall time, relative to 1,000", growth, 11, ""),
        ("10,000 jobs, one changed, with --cache, relative to all", most[CACHED].wall / most["trainc"].wall, 0.15, ""),
        ("10,000 jobs, peak memory", most["trainc"].memory, 200, " MB"),
        ("passes of one job, relative to kustomize on one job", measured.passes, 0.006, ""),
    )
    yield "## Goals\n"
    rows = [
        [what, f"{limit:g}{unit}", f"{value:.3g}{unit}", "yes" if value <= limit else "**no**"]
        for what, value, limit, unit in found
    ]
    yield from _table(["what", "at most", "measured", "met"], rows)
    yield _NOTES.read_text()


def _inside(measured: Measured) -> Iterator[str]:
    yield "## Inside a process\n"
    yield "Medians for one of these jobs by pytest-benchmark, with a new job in each round. Rounds alternate with runs of"
    yield "`kubectl kustomize`, and a goal is judged by the median of the ratios of each pair.\n"
    rows = [[_STAGES[stage], f"{seconds * 1000:.3f} ms"] for stage, seconds in measured.stages.items()]
    yield from _table(["stage", "time"], rows)


def _imports(measured: Measured) -> Iterator[str]:
    yield "## What a command imports\n"
    yield "Measured with `python -X importtime`, the minimum of several runs. It accounts for about a third of the time itself.\n"
    rows = [[f"`{what}`", str(len(times)), f"{sum(times.values()):.1f} ms"] for what, times in measured.imports.items()]
    yield from _table(["command", "modules", "time"], rows)
    yield "`trainc build` of one job, by part:\n"
    parts = [(part, *taken) for part, taken in by_part(measured.cold).items()]
    rows = [[f"`{part}`", str(n), f"{time:.1f} ms"] for part, n, time in parts[:_PARTS]]
    rows.append(["the rest", str(sum(n for _, n, _ in parts[_PARTS:])), f"{sum(t for *_, t in parts[_PARTS:]):.1f} ms"])
    yield from _table(["part", "modules", "time"], rows)
    yield "`python -X importtime -m trainc build JOB` lists every module.\n"


# How many parts are worth a line.
_PARTS = 8


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"
