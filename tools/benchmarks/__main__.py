"""`python -m benchmarks PYTHON KUBECTL [COMMIT=PYTHON ...]`: run all benchmarks and write docs/benchmarks.md with its plot.

PYTHON belongs to an environment with a regular installation of trainc, and with tools/locks/bench.txt. Each COMMIT=PYTHON is an
earlier trainc to compare with, and the Python of an environment that has it. Of the environments next to that of PYTHON,
the one whose name ends with `-image` starts as the image does, `-plain` has another Python, which is not optimized, and
`-dask` has the extra `dask`; what one of these is needed for is left out if it is not there.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from shutil import rmtree
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from benchmarks import jobs
from benchmarks.commands import START, over_jobs, write_inputs
from benchmarks.imports import import_times
from benchmarks.jobs import KUSTOMIZE_UP_TO, RELEASE, RUNTIME, RUNTIME_ALONE, folders, parsed, trainjob
from benchmarks.monorepo import commands as in_pull_request, write_repository
from benchmarks.plot import plot
from benchmarks.processes import Run, least, succeeds
from benchmarks.pythons import described
from benchmarks.report import (
    EXPLAIN,
    IMAGE,
    ONE_JOB,
    PYYAML,
    THOUSAND,
    THOUSAND_ALONE,
    THOUSAND_WARNED,
    TWENTY,
    WARNED,
    Measured,
    report,
)
from benchmarks.templating import EVALUATE, LOAD_AND_DUMP, RJSONNET, check_templates, write_templates

# Numbers of rounds; long commands get fewer.
RUNS = {1: 25, 10: 9, 100: 7, 1_000: 3, 10_000: 1, 50_000: 1}
RUNS_ALONE = 7
RUNS_OF_COMMANDS = 2
# Jobs for each command.
SIZES = (100, 1_000)
# Rounds for the stages: enough to outlast a slow moment of the machine.
TURNS = 3
COMMANDS = ("build", "check", "explain", "graph", "migrate", "diff", "report", "rule", "runtimes", "schema", "init")
DOCS = Path(__file__).parents[2] / "docs"
# What each part found, until the page is written: a run that was broken off goes on where it was.
KEPT = DOCS.parent / "build" / "bench-parts"
_Part = TypeVar("_Part")


def main() -> None:
    """Measure, and write the results."""
    # Some commands run in another folder.
    python, kubectl = (str(Path(path).absolute()) for path in sys.argv[1:3])
    rest = sys.argv[3:]
    trainc = str(Path(python).with_name("trainc"))
    earlier = {
        f"trainc {commit}": str(Path(path).absolute()) for commit, _, path in (word.partition("=") for word in rest)
    }
    before = {name: str(Path(path).with_name("trainc")) for name, path in earlier.items()}
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    ).stdout
    folder = KEPT / commit.strip()
    folder.mkdir(parents=True, exist_ok=True)

    def kept(name: str, measure: Callable[..., _Part], *arguments: object) -> _Part:
        """Measure a part, unless a run on this commit that was broken off has it. Its inputs are there for later parts."""
        found = folder / f"{name}.pickle"
        if not found.exists():
            result = measure(*arguments)
            found.write_bytes(pickle.dumps(result))
        part: _Part = pickle.loads(found.read_bytes())
        return part

    processes = {
        count: kept(f"processes {count}", _processes, folder, count, trainc, kubectl, before) for count in RUNS
    }
    alone = kept("alone", _alone, folder, python, kubectl, before)
    others = [*_next_to(python, "plain")]
    pythons = kept("pythons", _pythons, folder, [python, *others], kubectl) if others else {}
    commands = {count: kept(f"commands {count}", _commands, folder, count, trainc) for count in SIZES}
    commands_before = kept("commands before", _commands_before, folder, trainc, before)
    passes = kept("passes", _passes, folder, {"trainc": python, **earlier})
    in_repository = kept("repository", _in_repository, folder / "repository", trainc)
    job = f"{folder}/trainc-1"
    cold = import_times(python, ["-m", "trainc", "build", job, "--release", RELEASE])
    stages = kept("stages", _inside, python)
    editing = kept("editing", _editing, python)
    one = [f"{job}/job-00000.yaml", "--runtimes", job]
    editing[EXPLAIN] = least({"": [trainc, "explain", *one, "--release", RELEASE]}, RUNS[1])[""].cpu, None
    other = next(_next_to(python, "dask"), "")
    many = kept("many", _many, other) if other else None
    imports = {"import trainc": import_times(python, ["-c", "import trainc"])}
    for command in COMMANDS:
        imports[f"trainc {command} --help"] = import_times(python, ["-m", "trainc", command, "--help"])
    measured = Measured(
        processes,
        alone,
        _start(python, trainc),
        commands,
        commands_before,
        stages,
        passes,
        cold,
        imports,
        (_version_of(kubectl), _rjsonnet_of(python)),
        described(python),
        pythons,
        editing,
        many,
        in_repository,
    )
    (DOCS / "benchmarks.svg").write_text(plot(processes))
    (DOCS / "benchmarks.md").write_text(report(measured))
    rmtree(folder)


def _processes(folder: Path, count: int, trainc: str, kubectl: str, before: Mapping[str, str]) -> dict[str, Run]:
    ours, theirs = _emptied(*folders(folder, count))
    # In a separate process, because a child's peak memory is never reported below its parent's.
    subprocess.run([sys.executable, "-m", "benchmarks.jobs", str(folder), str(count)], check=True)
    build = [trainc, "build", str(ours), "--release", RELEASE, "--quiet"]
    commands = {"trainc": build}
    for python in _next_to(str(Path(trainc).with_name("python")), "image") if count == 1 else ():
        commands[IMAGE] = [str(Path(python).with_name("trainc")), *build[1:]]
    if count <= KUSTOMIZE_UP_TO:
        commands |= {name: [program, *build[1:]] for name, program in before.items()}
        commands["kustomize"] = [kubectl, "kustomize", str(theirs)]
    if count > KUSTOMIZE_UP_TO:
        # Alternates with the larger build, so that the ratio is not affected by changes in machine speed.
        commands[THOUSAND] = [trainc, "build", str(folders(folder, 1_000)[0]), "--release", RELEASE, "--quiet"]
    print(f"{count} jobs ...", file=sys.stderr)
    return least(commands, RUNS[count])


def _alone(folder: Path, python: str, kubectl: str, before: Mapping[str, str]) -> dict[str, Run]:
    """A thousand JobSets without PodGroups, compared with an engine that generates the same from a template."""
    warned, twenty, _ = _emptied(folder / "warned", folder / "twenty", folder / "templates")
    ours, theirs = _emptied(*folders(folder, 1_000, alone=True))
    subprocess.run([sys.executable, "-m", "benchmarks.jobs", str(folder), "1000", "alone"], check=True)
    templates = write_templates(folder / "templates", ours, 1_000, python)
    check_templates(templates, ours)
    warned.mkdir()
    (warned / "runtime.yaml").write_text(RUNTIME_ALONE)
    for number in range(1_000):
        (warned / f"job-{number:05}.yaml").write_text(jobs.warned(number))
    jobs.write_of_twenty(twenty, 1_000)
    build = [str(Path(python).with_name("trainc")), "build", str(ours), "--release", RELEASE, "--quiet"]
    commands = {
        "trainc": build,
        WARNED: [*build[:2], str(warned), "--release", RELEASE],
        TWENTY: [*build[:2], str(twenty), "--release", RELEASE, "--quiet"],
        **{name: [program, *build[1:]] for name, program in before.items()},
        **templates,
        PYYAML: [python, "-c", LOAD_AND_DUMP, str(theirs)],
        "kustomize": [kubectl, "kustomize", str(theirs)],
    }
    print("1000 JobSets alone ...", file=sys.stderr)
    return least(commands, RUNS_ALONE)


def _emptied(*inputs: Path) -> tuple[Path, ...]:
    """Return folders that a part of an earlier run may have begun to write."""
    for each in inputs:
        rmtree(each, ignore_errors=True)
    return inputs


def _in_repository(root: Path, trainc: str) -> dict[str, Run]:
    """What the commands of a pull request take."""
    _emptied(root)
    write_repository(root, trainc)
    return least(in_pull_request(trainc, root), RUNS_OF_COMMANDS)


def _next_to(python: str, name: str) -> Iterator[str]:
    """The Python of the environment beside that of `python` with this name at its end, if there is one."""
    home, *rest = Path(python).parts[-3:]
    other = Path(*Path(python).parts[:-3], f"{home}-{name}", *rest)
    if other.exists():
        yield str(other)


def _pythons(folder: Path, pythons: Sequence[str], kubectl: str) -> dict[str, dict[str, dict[str, Run]]]:
    """The main comparisons, in turn, under each Python: runs by what is measured, by Python, and by program."""
    one, (alone, jobsets) = folders(folder, 1), folders(folder, 1_000, alone=True)
    found: dict[str, dict[str, dict[str, Run]]] = {}
    for what, ours, theirs in (
        (ONE_JOB, *one),
        (THOUSAND_ALONE, alone, jobsets),
        (THOUSAND_WARNED, folder / "warned", jobsets),
    ):
        commands = {("", "kustomize"): [kubectl, "kustomize", str(theirs)]}
        for python in pythons:
            build = [str(Path(python).with_name("trainc")), "build", str(ours), "--release", RELEASE]
            commands[python, "trainc"] = build
            if what != ONE_JOB:
                commands[python, RJSONNET] = [python, "-c", EVALUATE, str(folder / "templates" / "parameters.jsonnet")]
        print(f"{what} ...", file=sys.stderr)
        runs = least(
            {f"{python} {program}": each for (python, program), each in commands.items()},
            RUNS_ALONE if what != ONE_JOB else RUNS[1],
        )
        found[what] = {
            described(python): {
                program: runs[f"{home} {program}"] for home, program in commands if home in ("", python)
            }
            for python in pythons
        }
    return found


def _editing(python: str) -> dict[str, tuple[float, float | None]]:
    """The mean and the largest processor time of each thing that an editor asks for."""
    found: dict[str, tuple[float, float | None]] = _json(
        [python, "-m", "benchmarks.editor", "json"], PYTHONPATH="tests:tools"
    )
    return found


def _many(python: str) -> Any:
    """What `compile_many` takes beside a cluster of Dask."""
    return _json([python, "-m", "benchmarks.many"], PYTHONPATH="tools")


def _json(command: Sequence[str], **more: str) -> Any:
    """What a program prints, as data."""
    print(f"{' '.join(command[1:])} ...", file=sys.stderr)
    environment = {**{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}, **more}
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment).stdout)


def _commands(folder: Path, count: int, trainc: str) -> dict[str, Run]:
    """What each command takes, and a process that does nothing."""
    (root,) = _emptied(folder / f"commands-{count}")
    write_inputs(root, count, trainc)
    print(f"every command, {count} jobs ...", file=sys.stderr)
    words = {"version": ["version"], **over_jobs(root)}
    return least({name: [trainc, *each] for name, each in words.items()}, RUNS_OF_COMMANDS)


def _commands_before(folder: Path, trainc: str, before: Mapping[str, str]) -> dict[str, dict[str, Run]]:
    """What each command takes for a hundred jobs, by program; an earlier one is left out where it lacks the command."""
    root = folder / f"commands-{SIZES[0]}"
    runs: dict[str, dict[str, Run]] = {}
    for name, words in {"version": ["version"], **over_jobs(root)}.items():
        programs = {program: [path, *words] for program, path in before.items() if succeeds([path, *words])}
        runs[name] = least({"trainc": [trainc, *words], **programs}, 3) if before else {}
    return runs


def _start(python: str, trainc: str) -> dict[str, Run]:
    """What takes no time but that of the start, and Python's own start."""
    commands = {name: ["/bin/sh", "-c", '"$@"; exit 0', "sh", trainc, *words] for name, words in START.items()}
    nothing = ["/bin/sh", "-c", '"$@"; exit 0', "sh", python, "-c", "pass"]
    return least({"Python": nothing, **commands}, RUNS[1])


def _passes(folder: Path, pythons: Mapping[str, str]) -> dict[str, float]:
    """Median seconds of `compile_trainjob` by program, alternating between them."""
    jobs = folder / "jobs.json"
    jobs.write_text(json.dumps([parsed(RUNTIME), [parsed(trainjob(number)) for number in range(550)]]))
    script = str(Path(__file__).with_name("passes.py"))
    turns = [[_printed([python, script, str(jobs)]) for python in pythons.values()] for _ in range(TURNS)]
    return {name: median(times) / 1e6 for name, times in zip(pythons, zip(*turns, strict=True), strict=True)}


def _printed(command: Sequence[str]) -> float:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return float(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)


def _inside(python: str) -> dict[str, float]:
    """Median seconds of each stage of one job over several rounds."""
    turns: list[dict[str, float]] = []
    for number in range(1, TURNS + 1):
        print(f"stages, {number} of {TURNS} ...", file=sys.stderr)
        turns.append(_stages(python))
    return {stage: median(turn[stage] for turn in turns) for stage in turns[0]}


def _stages(python: str) -> dict[str, float]:
    """Median seconds of each stage of one job."""
    with TemporaryDirectory() as folder:
        found = Path(folder, "stages.json")
        words = ["-q", "-o", "addopts=--import-mode=importlib", f"--benchmark-json={found}", "tools/benchmarks"]
        subprocess.run([python, "-m", "pytest", *words], check=True, stdout=subprocess.DEVNULL)
        benchmarks = json.loads(found.read_text())["benchmarks"]
    return {b["name"].removeprefix("test_"): b["stats"]["median"] for b in benchmarks}


def _version_of(kubectl: str) -> str:
    done = subprocess.run([kubectl, "version", "--client", "-o", "json"], capture_output=True, text=True, check=True)
    versions = json.loads(done.stdout)
    return f"{versions['clientVersion']['gitVersion']} (kustomize {versions['kustomizeVersion']})"


def _rjsonnet_of(python: str) -> str:
    ask = "from importlib.metadata import version; print(version('rjsonnet'))"
    return subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
