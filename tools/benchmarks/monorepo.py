"""`python -m benchmarks.monorepo TRAINC [COUNT]`: a repository of 2,000 kept jobs in which one file has changed, as in a pull request."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.jobs import RELEASE, RUNTIME_ALONE, trainjob
from benchmarks.processes import least

JOBS = 2_000
RUNS = 3
_SETTINGS = f"""\
release: "{RELEASE}"
sources: [jobs]
runtimes: [runtimes]
output: rendered
rebuild: changed-jobs
"""


def write_repository(root: Path, trainc: str, count: int = JOBS) -> None:
    """Write and commit the repository with its rendered files; then edit one job and build it."""
    (root / "runtimes").mkdir(parents=True)
    (root / "runtimes" / "pretrain.yaml").write_text(RUNTIME_ALONE)
    (root / "trainc.yaml").write_text(_SETTINGS)
    for number in range(count):
        job = root / "jobs" / f"team-{number % 7}" / f"job-{number:05}.yaml"
        job.parent.mkdir(parents=True, exist_ok=True)
        job.write_text(trainjob(number))
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.com"]
    build = [trainc, "build", "--quiet"]
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    subprocess.run(build, cwd=root, check=True)
    subprocess.run(["git", "add", "--all"], cwd=root, check=True)
    subprocess.run(["git", *identity, "commit", "--quiet", "--message", "jobs"], cwd=root, check=True)
    changed = root / "jobs" / "team-5" / "job-00005.yaml"
    changed.write_text(changed.read_text().replace("learning-rate=3e", "learning-rate=4e"))
    subprocess.run(build, cwd=root, check=True)


def commands(trainc: str, root: Path) -> dict[str, list[str]]:
    """What a pull request runs, by what it does."""
    words = {
        "check": ["check", "--base", "HEAD"],
        "build --check": ["build", "--check", "--base", "HEAD"],
        "diff": ["diff", "git:HEAD"],
        "diff --format markdown": ["diff", "git:HEAD", "--format", "markdown"],
        "report --since": ["report", "--since", "git:HEAD", "-o", os.devnull],
    }
    # `diff` and `check` exit with 1 for a difference or a finding, which is no failure of the benchmark.
    shell = ["/bin/sh", "-c", 'cd "$0" && "$@"; test $? -lt 2', str(root)]
    return {name: [*shell, trainc, *arguments] for name, arguments in words.items()}


def main() -> None:
    """Print the processor time and the memory of each command."""
    trainc, *rest = sys.argv[1:]
    with TemporaryDirectory() as folder:
        root = Path(folder, "repository")
        write_repository(root, trainc, int(rest[0]) if rest else JOBS)
        for name, run in least(commands(trainc, root), RUNS).items():
            print(f"{name:24} {run.cpu:6.2f} s  {run.memory:5.0f} MB")


if __name__ == "__main__":
    main()
