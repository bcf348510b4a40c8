"""`python -m benchmarks PYTHON KUBECTL`: measure everything, and write docs/benchmarks.md and its picture.

PYTHON is that of an environment in which trainc is installed as users install it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.imports import import_times
from benchmarks.jobs import RELEASE, change_one, folders
from benchmarks.plot import plot
from benchmarks.processes import Run, medians
from benchmarks.report import CACHED, THOUSAND, Measured, report

# How often each is run: long ones less often.
RUNS = {1: 15, 10: 9, 100: 7, 1_000: 3, 10_000: 5}
KUSTOMIZE_UP_TO = 1_000
SEVERAL_PROCESSES_FROM = 1_000
CACHE_FROM = 1_000
# The stages are measured so often, and kustomize with one job so often after each time: a machine's slow moment can be
# longer than all rounds of a stage.
TURNS = 5
COMMANDS = ("build", "check", "explain", "graph", "migrate", "diff", "report", "rule", "runtimes", "schema", "init")
DOCS = Path(__file__).parents[1] / "docs"


def main() -> None:
    """Measure and write."""
    python, kubectl = sys.argv[1:]
    trainc = str(Path(python).with_name("trainc"))
    with TemporaryDirectory() as folder:
        processes = {count: _processes(Path(folder), count, trainc, kubectl) for count in RUNS}
        job = f"{folder}/trainc-1"
        cold = import_times(python, ["-m", "trainc", "build", job, "--release", RELEASE])
        stages, passes = _inside(Path(folder), kubectl)
    imports = {"import trainc": import_times(python, ["-c", "import trainc"])}
    for command in COMMANDS:
        imports[f"trainc {command} --help"] = import_times(python, ["-m", "trainc", command, "--help"])
    measured = Measured(processes, stages, passes, cold, imports, _version_of(kubectl))
    (DOCS / "benchmarks.svg").write_text(plot(processes))
    (DOCS / "benchmarks.md").write_text(report(measured))


def _processes(folder: Path, count: int, trainc: str, kubectl: str) -> dict[str, Run]:
    ours, theirs = folders(folder, count)
    # In a process of its own: no child's peak of memory can be seen below its parent's.
    subprocess.run([sys.executable, "-m", "benchmarks.jobs", str(folder), str(count)], check=True)
    build = [trainc, "build", str(ours), "--release", RELEASE, "--quiet"]
    commands = {"trainc": build}
    if count <= KUSTOMIZE_UP_TO:
        commands["kustomize"] = [kubectl, "kustomize", str(theirs)]
    if count >= SEVERAL_PROCESSES_FROM and (os.cpu_count() or 1) > 1:
        commands["trainc -j 0"] = [*build, "-j", "0"]
    edits = {}
    if count >= CACHE_FROM:
        commands[CACHED] = [*build, "--cache", str(folder / f"cache-{count}")]
        edits[CACHED] = partial(change_one, ours)
    if count > KUSTOMIZE_UP_TO:
        # In turn with the larger build, so that their ratio is the machine's at one time.
        commands[THOUSAND] = [trainc, "build", str(folders(folder, 1_000)[0]), "--release", RELEASE, "--quiet"]
    print(f"{count} jobs ...", file=sys.stderr)
    return medians(commands, RUNS[count], edits)


def _inside(folder: Path, kubectl: str) -> tuple[dict[str, float], float]:
    """Median seconds of each stage of one job, and the share that the passes have of kustomize's time in its turn."""
    turns: list[dict[str, float]] = []
    shares: list[float] = []
    for number in range(1, TURNS + 1):
        print(f"stages, {number} of {TURNS} ...", file=sys.stderr)
        turns.append(_stages())
        theirs = medians({"kustomize": [kubectl, "kustomize", str(folders(folder, 1)[1])]}, TURNS, {})
        shares.append(turns[-1]["passes"] / theirs["kustomize"].wall)
    return {stage: median(turn[stage] for turn in turns) for stage in turns[0]}, median(shares)


def _stages() -> dict[str, float]:
    """Median seconds of each stage of one job."""
    with TemporaryDirectory() as folder:
        found = Path(folder, "stages.json")
        words = ["-q", "-o", "addopts=--import-mode=importlib", f"--benchmark-json={found}", "benchmarks"]
        subprocess.run([sys.executable, "-m", "pytest", *words], check=True, stdout=subprocess.DEVNULL)
        benchmarks = json.loads(found.read_text())["benchmarks"]
    return {b["name"].removeprefix("test_"): b["stats"]["median"] for b in benchmarks}


def _version_of(kubectl: str) -> str:
    done = subprocess.run([kubectl, "version", "--client", "-o", "json"], capture_output=True, text=True, check=True)
    versions = json.loads(done.stdout)
    return f"{versions['clientVersion']['gitVersion']} (kustomize {versions['kustomizeVersion']})"


if __name__ == "__main__":
    main()
