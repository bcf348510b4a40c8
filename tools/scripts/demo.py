"""`make demo`: compile a job of 16 nodes, and show what one can ask trainc about it. Nothing outside build/demo is written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "demo"
JOB = FOLDER / "jobs" / "llm.yaml"


def main() -> None:
    """Run each command in a copy of examples/demo."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    shutil.copytree(ROOT / "examples" / "demo", FOLDER)
    # A repository of its own: what this one ignores, build/, is not said of the demo.
    if shutil.which("git"):
        subprocess.run(["git", "init", "-q", FOLDER], check=True)
    job = JOB.read_text(encoding="utf-8")
    title("Three TrainJobs compile to the manifests that a cluster runs. Nothing here asks a cluster.")
    trainc("build")
    manifest = FOLDER / "rendered" / "nlp" / "llm.yaml"
    print(f"{lines(JOB)} + {lines(FOLDER / 'runtimes' / 'torch-h100.yaml')} -> {lines(manifest)}")
    title("What will run?")
    trainc("graph", "jobs/llm.yaml")
    title("Which line says how many pods there are?")
    trainc("explain", "jobs/llm.yaml", "parallelism")
    title("A typo asks for 40 nodes. The queue has 256 GPUs, which is 32 nodes:")
    JOB.write_text(job.replace("numNodes: 16", "numNodes: 40"), encoding="utf-8")
    trainc("check", status=1)
    JOB.write_text(job, encoding="utf-8")
    title("A page about all jobs, for people without a terminal:")
    trainc("report", "-o", "report.html")
    folder = os.path.relpath(FOLDER)
    title("Next")
    print(f"  open {folder}/report.html in a browser")
    print(
        f"  cd {folder}, edit jobs/llm.yaml, and run {os.path.relpath(shutil.which('trainc') or 'trainc', FOLDER)} check"
    )
    print("  check a job of your own: .venv/bin/trainc check FILE")
    print("  read README.md, and make one of the two ways yours")


def title(text: str) -> None:
    """Print a heading."""
    print(f"\n\x1b[1m{text}\x1b[0m\n" if sys.stdout.isatty() else f"\n{text}\n", flush=True)


def trainc(*words: str, status: int = 0) -> None:
    """Print a command and run it."""
    print("$", "trainc", *words, flush=True)
    done = subprocess.run([sys.executable, "-m", "trainc", *words], cwd=FOLDER, stderr=subprocess.STDOUT, check=False)
    if done.returncode != status:
        sys.exit(done.returncode or 1)


def lines(path: Path) -> str:
    """Name a file with its length."""
    count = len(path.read_text(encoding="utf-8").splitlines())
    return f"{path.relative_to(FOLDER).as_posix()} ({count} lines)"


if __name__ == "__main__":
    main()
