"""Write docs/benchmarks.md: the results as tables, ratios first."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.commands import RECORDED
from benchmarks.imports import by_part
from benchmarks.processes import Run
from benchmarks.templating import RJSONNET, RJSONNET_JSON

_STAGES = {
    "read": "read: from text to a dict",
    "validate": "validate: the TrainJob's schema and defaults",
    "passes": "passes: from dicts to manifests, including the check of the runtime",
    "emit": "emit: from manifests to text",
    "whole": "all of it: from text to text",
}
# In addition to 10,000 jobs, to show how the time grows.
THOUSAND = "trainc, the 1,000 jobs again"
WARNED = "trainc, a warning in each job"
TWENTY = "trainc, twenty runtimes"
IMAGE = "trainc, as in the image"
ONE_JOB, THOUSAND_ALONE, THOUSAND_WARNED = "one job", "1,000 JobSets", "1,000 JobSets, a warning in each"
EXPLAIN = "`trainc explain` of one job, a whole process"
PYYAML = "PyYAML with libyaml, reading and writing the output"


@dataclass(frozen=True, slots=True)
class Measured:
    """All results: runs by number of jobs and command; seconds by stage; milliseconds by module.

    `alone` are runs for a thousand JobSets without PodGroups; `start` those of commands that only start, and of Python;
    `commands` are runs of each command, by number of jobs; `commands_before` those for a hundred jobs, by command and
    program, this version and earlier ones; `passes` are the seconds per job by version; `programs` are the versions of
    the other programs. `python` is what all of this ran under, and `pythons` are runs under this one and another, by what
    is measured and program. `in_repository` are runs in a repository of 2,000 kept jobs. `editing` are the mean and the largest seconds of what an editor asks for. `many` are the jobs
    and the seconds of `compile_many`, wall and processor time, if they were measured.
    """

    processes: Mapping[int, Mapping[str, Run]]
    alone: Mapping[str, Run]
    start: Mapping[str, Run]
    commands: Mapping[int, Mapping[str, Run]]
    commands_before: Mapping[str, Mapping[str, Run]]
    stages: Mapping[str, float]
    passes: Mapping[str, float]
    cold: dict[str, float]
    imports: Mapping[str, dict[str, float]]
    programs: tuple[str, str]
    python: str
    pythons: Mapping[str, Mapping[str, Mapping[str, Run]]]
    editing: Mapping[str, tuple[float, float | None]]
    many: Mapping[str, Any] | None
    in_repository: Mapping[str, Run]


def report(measured: Measured) -> str:
    """The page."""
    return "\n".join(
        (
            *_opening(measured),
            *_processes(measured),
            *_alone(measured),
            *_pythons(measured),
            *_goals(measured),
            *_commands(measured),
            *_commands_before(measured),
            *_in_repository(measured),
            *_editing(measured),
            *_many(measured),
            *_inside(measured),
            *_imports(measured),
        )
    )


def _opening(measured: Measured) -> Iterator[str]:
    yield "# Benchmarks\n"
    yield "`make bench` writes this page. It runs `trainc build` and `kubectl kustomize` on the same jobs, alternately. trainc gets"
    yield "one TrainJob per file, and a runtime; kustomize gets the JobSet and PodGroup compiled from each, with one namespace and"
    yield "one JSON patch for all of them. No two jobs are alike in what users vary: team, labels, image, command, variables,"
    yield "nodes, amounts. Times are those of whole processes, the least of several runs, with the output discarded."
    yield "Ratios of processor time say most, because the machine does other work at the same time. No test asserts any of"
    yield "these figures. `make bench BEFORE='79829ac 3709d9b'` measures these commits as well: version 0.1.0, and the last one"
    yield "before work on 0.2.0 began.\n"
    kubectl, rjsonnet = measured.programs
    yield f"Measured on {_processor()}, {os.cpu_count()} cores, {platform.system()}, {measured.python},"
    yield f"kubectl {kubectl}, rjsonnet {rjsonnet}.\n"


def _processor() -> str:
    """The name of the processor, if known."""
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


def _alone(measured: Measured) -> Iterator[str]:
    yield "## 1,000 JobSets, compared with templating engines\n"
    yield "Without a gang there are JobSets only, and kustomize has half as many objects to go over. rjsonnet, a jsonnet in"
    yield "Rust, writes the same objects with one function (tools/benchmarks/templating.py): from a list of parameters in one JSON"
    yield "file; from the same jobs as JSON, one file for each TrainJob, to which the goals refer; and from the TrainJobs in YAML that"
    yield "trainc reads, which it parses as well. Helm writes them"
    yield "from a chart with one template, and cdk8s from a program in JavaScript. None of them checks anything.\n"
    rows = [
        [f"`{name}`", _seconds(run.wall), _seconds(run.cpu), f"{run.memory:.0f} MB", f"{share:.3g}"]
        for name, run in measured.alone.items()
        for share in [measured.alone["trainc"].cpu / run.cpu]
    ]
    yield from _table(["program", "wall", "processor", "peak memory", "trainc's share of its processor time"], rows)


def _pythons(measured: Measured) -> Iterator[str]:
    if not measured.pythons:
        return
    pythons = list(measured.pythons[ONE_JOB])
    yield "## Under which Python\n"
    yield "python.org, Debian, Ubuntu, Fedora, uv and the official images optimize their Python with a profile of its use; one"
    yield "that pyenv or a user compiles is not, unless they turn it on. All other figures on this page are of the first one.\n"
    rows = []
    for what, runs in measured.pythons.items():
        rows.append([what, *(_seconds(runs[python]["trainc"].cpu) for python in pythons)])
        peers = [peer for peer in ("kustomize", RJSONNET) if peer in runs[pythons[0]]]
        rows += [
            [f"{what}, relative to {peer}", *(f"{_share(runs[python], peer):.3g}" for python in pythons)]
            for peer in peers
        ]
    yield from _table(["processor time", *pythons], rows)


def _goals(measured: Measured) -> Iterator[str]:
    one, thousand, most, alone = (*(measured.processes[count] for count in (1, 1_000, 10_000)), measured.alone)
    count, commands = max(measured.commands.items())
    bare = measured.start["Python"].cpu

    def per_job(name: str) -> float:
        return (commands[name].cpu - commands["version"].cpu) * 1000 / count

    found = [
        ("one job, relative to kustomize", _share(one, "kustomize"), 0.75, ""),
        *(
            ("one job in the image, relative to kustomize", run.cpu / one["kustomize"].cpu, 0.8, "")
            for name, run in one.items()
            if name == IMAGE
        ),
        ("1,000 JobSets, relative to rjsonnet of the same jobs as JSON", _share(alone, RJSONNET_JSON), 0.7, ""),
        ("1,000 JobSets, relative to kustomize", _share(alone, "kustomize"), 0.16, ""),
        ("1,000 JobSets and PodGroups, relative to kustomize", _share(thousand, "kustomize"), 0.16, ""),
        (
            "1,000 warnings, relative to rjsonnet of the same jobs as JSON",
            alone[WARNED].cpu / alone[RJSONNET_JSON].cpu,
            1,
            "",
        ),
        ("1,000 warnings, relative to 1,000 jobs without", alone[WARNED].cpu / alone["trainc"].cpu, 1.25, ""),
        *(
            (f"`{name}` over bare Python", (run.cpu - bare) * 1000, 12, " ms")
            for name, run in measured.start.items()
            if name != "Python"
        ),
        ("diff, for each rendered file that is the same", per_job("diff of output that is the same"), 0.5, " ms"),
        ("diff, for each source that is the same", per_job("diff of sources that are the same"), 0.5, " ms"),
        ("diff, for each file that has changed", per_job("diff of output that has changed"), 1.2, " ms"),
        ("report, for each job", per_job("report"), 3, " ms"),
        ("migrate, for each job", per_job("migrate"), 3, " ms"),
        ("10,000 jobs, relative to 1,000", most["trainc"].cpu / most[THOUSAND].cpu, 11, ""),
        ("50,000 jobs, peak memory", measured.processes[50_000]["trainc"].memory, 350, " MB"),
        *(
            (f"2,000 jobs, `{name}`", measured.in_repository[name].cpu, limit, " s")
            for name, limit in (("check", 2), ("diff", 4), ("report --since", 6))
        ),
    ]
    yield "## Goals\n"
    yield "Processor time, but for memory and for the passes, which are timed inside a process.\n"
    rows = [
        [
            what,
            f"{limit:g}{unit}",
            f"{value:.3g}{unit}",
            *(("yes", "") if value <= limit else ("**no**", _reason(what))),
        ]
        for what, value, limit, unit in found
    ]
    yield from _table(["what", "at most", "measured", "met", "why not"], rows)
    yield "Where the time goes, and what falls short: `tools/benchmarks/notes.md`.\n"


# Why a goal is not met, by the start of its name.
_REASONS = {
    "one job": "three quarters are imports: some 105 modules of trainc, a hundred record classes, and 1.4 MB of bytecode",
    "1,000 JobSets": "each job is checked as the API server and JobSet's webhook would, and linted; rjsonnet checks nothing",
    "1,000 warnings": "a finding reads its file again, for comments, and is printed with the line",
    "`": "argparse writes it; importing that and its parser of forty options take a third",
    "diff": "each change is submitted to JobSet's rules twice, as it is and as it would be while suspended",
    "migrate": "each job is written in both forms and compared",
    "2,000 jobs, `check`": "all jobs are compiled, and each rendered file is read here and at the base",
    "2,000 jobs": "all jobs of both sides that differ are compiled and compared, and all rendered files read",
}


def _reason(what: str) -> str:
    return next((reason for start, reason in _REASONS.items() if what.startswith(start)), "")


def _commands(measured: Measured) -> Iterator[str]:
    record = json.loads(RECORDED.read_text())
    recorded: dict[str, float] = record["counts"]
    yield "## Each command\n"
    yield "Processor time per job, without that of `trainc version`, which only starts; and instructions per job in thousands,"
    yield f"which callgrind counted under {record['python']} when tools/benchmarks/instructions.json was written. `make bench`"
    yield "counts again and compares.\n"
    rows = []
    for name in measured.commands[min(measured.commands)]:
        times = [(runs.get(name), runs["version"].cpu, count) for count, runs in measured.commands.items()]
        per_job = ["" if run is None else f"{(run.cpu - start) * 1000 / count:.2f} ms" for run, start, count in times]
        if name != "version":
            count = recorded.get(f"{name}, k per job")
            rows.append([f"`{name}`", *per_job, "" if count is None else f"{count:,.0f}"])
    yield from _table(["command", *(f"{count:,} jobs" for count in measured.commands), "instructions, k"], rows)
    yield "Whole processes, in millions of instructions:\n"
    rows = [[name.removesuffix(", M"), f"{count:.0f}"] for name, count in recorded.items() if name.endswith(", M")]
    yield from _table(["process", "instructions, M"], rows)


def _commands_before(measured: Measured) -> Iterator[str]:
    runs = {name: each for name, each in measured.commands_before.items() if name != "version"}
    programs = [program for program in measured.passes if runs]
    if len(programs) < len(("trainc", "an earlier one")):
        return
    start = measured.commands_before["version"]
    yield "## Compared with earlier versions\n"
    yield "Processor time per job for a hundred jobs, in turn, without that of `version`; empty where a version lacks the"
    yield "command or an option. `compile_trainjob` is timed inside a process.\n"
    rows = [["`compile_trainjob`", *(f"{measured.passes[program] * 1000:.2f} ms" for program in programs)]]
    for name, each in runs.items():
        times = [(each.get(program), start.get(program)) for program in programs]
        rows.append([f"`{name}`", *(f"{(a.cpu - b.cpu) * 10:.2f} ms" if a and b else "" for a, b in times)])
    yield from _table(["command", *programs], rows)


def _in_repository(measured: Measured) -> Iterator[str]:
    yield "## In a pull request\n"
    yield "A repository of 2,000 kept jobs, in git, in which one job has changed and was built (tools/benchmarks/monorepo.py).\n"
    rows = [[f"`{name}`", _seconds(run.cpu), f"{run.memory:.0f} MB"] for name, run in measured.in_repository.items()]
    yield from _table(["command", "processor", "peak memory"], rows)


def _editing(measured: Measured) -> Iterator[str]:
    yield "## In an editor\n"
    yield "Processor time of the language server, in a workspace of 2,000 jobs with one runtime: until the first diagnostics of"
    yield "an open file, from each key press to its diagnostics, and for each request. Its clock has steps of 10 ms.\n"
    rows = [
        [what, _seconds(mean), "" if largest is None else _seconds(largest)]
        for what, (mean, largest) in measured.editing.items()
    ]
    yield from _table(["what", "mean", "largest"], rows)


def _many(measured: Measured) -> Iterator[str]:
    if measured.many is None:
        return
    (here, alone), *others = measured.many["seconds"].items()
    yield "## `compile_many`\n"
    yield f"{measured.many['jobs']:,} generated jobs of which a digest is returned, with the same digests everywhere (tools/benchmarks/many.py)."
    yield "The start of the cluster is not counted.\n"
    rows = [[here, *map(_seconds, alone), "1"]]
    rows += [[there, *map(_seconds, each), f"{alone[0] / each[0]:.3g}"] for there, each in others]
    yield from _table(["where", "wall", "processor time of the caller", "times as fast"], rows)


def _share(runs: Mapping[str, Run], name: str) -> float:
    """The processor time of trainc relative to that of another program."""
    return runs["trainc"].cpu / runs[name].cpu


def _inside(measured: Measured) -> Iterator[str]:
    if not measured.stages:
        return
    yield "## Inside a process\n"
    yield "Medians for one of these jobs by pytest-benchmark, another job in each round.\n"
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


# How many parts get a line.
_PARTS = 8


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"
