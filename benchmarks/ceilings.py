"""`python -m benchmarks.ceilings`: the maximum processor time and memory of each command on hostile documents.

Every command processes each small document of tests/hostile_inputs.py in one process; `build` processes each large one
in a process of its own. Finally, 100,000 jobs in 1,000 files are built. Prints a Markdown table.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from hostile_inputs import COMPILING, FLAGS, HEAD, LARGE, REWRITING, SMALL, words_of, written
from limited import outcomes, request

FILES, JOBS_PER_FILE = 1_000, 100
_MEASURED = """
import sys, time
from limited import peak
from trainc.cli.main import main
status = main(sys.argv[1:])
print(round(time.process_time()), peak(), file=sys.stderr)
sys.exit(status)
"""


def main() -> None:
    """Measure, printing each row as soon as it is known."""
    print("| what | slowest | all | memory at most |\n|---|---|---|---|")
    with TemporaryDirectory() as folder:
        root = written(Path(folder))
        for command in (*COMPILING, *REWRITING):
            _row(command, [request(root, words, _file(i)) for i, words in enumerate(words_of(command))])
        for name, (content, _) in LARGE.items():
            (root / "job.yaml").write_text(content(), encoding="utf-8")
            _row(f"build, {name}", [request(root, ["build", "job.yaml", *FLAGS])])
    with TemporaryDirectory() as folder:
        _many(Path(folder))


def _file(number: int) -> str:
    return f"{number}/job.yaml"


def _row(name: str, requests: list[dict[str, object]]) -> None:
    found = outcomes(requests)
    taken = [one["seconds"] for one in found]
    slowest = taken.index(max(taken))
    what = f" ({list(SMALL)[slowest]})" if len(found) == len(SMALL) else ""
    peak = max(one["peak"] for one in found)
    print(f"| {name} | {max(taken):.2f} s{what} | {sum(taken):.1f} s | {peak} MB |", flush=True)


def _many(root: Path) -> None:
    for file in range(FILES):
        jobs = (HEAD.replace("llm", f"j{file}-{job}") for job in range(JOBS_PER_FILE))
        (root / f"{file}.yaml").write_text("---\n".join(jobs), encoding="utf-8")
    for what, words in {"to stdout": [], "-o DIR": ["-o", str(root / "out")]}.items():
        command = [sys.executable, "-c", _MEASURED, "build", str(root), *FLAGS, "-q", *words]
        with Path(os.devnull).open("wb") as nowhere:
            done = subprocess.run(command, stdout=nowhere, stderr=subprocess.PIPE, check=True, text=True)
        seconds, peak = done.stderr.split()
        print(
            f"| build, {FILES * JOBS_PER_FILE:,} jobs in {FILES:,} files, {what} | {seconds} s | | {peak} MB |",
            flush=True,
        )


if __name__ == "__main__":
    main()
