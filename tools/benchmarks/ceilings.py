"""`python -m benchmarks.ceilings`: the maximum processor time and memory of each command on hostile documents.

Every command processes each small document of tests/hostile_inputs.py in one process; `build` processes each large one
in a process of its own. Each command and each request of the language server gets every document that grows, at 1 MB,
and the command that reads it every other document that grows: policies, sweeps, settings, overlays and clusters.
Finally, 100,000 jobs in 1,000 files are built. Prints a Markdown table.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from hostile_inputs import (
    BESIDE,
    CLUSTER,
    COMPILING,
    FLAGS,
    GROWING,
    HEAD,
    LARGE,
    REWRITING,
    SMALL,
    beside,
    words_of,
    written,
)
from limited import outcomes, request
from requests_of_editors import REQUESTS

FILES, JOBS_PER_FILE = 1_000, 100
# A little less than the language server reads; numbers in the names grow with the document.
LONGEST = 800_000
# What is refused if there is more of it.
_LARGEST = {"trials of a sweep": 5_000, "environments": 100}
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
        _grown(Path(folder))
    for what in BESIDE:
        with TemporaryDirectory() as folder:
            words = beside(Path(folder), what, _count(what))
            _row(f"{what}, 1 MB", [request(Path(folder), words)])
    with TemporaryDirectory() as folder:
        _many(Path(folder))


def _count(what: str) -> int:
    """The number with which one of the other documents has a megabyte, or is as large as it may be."""
    content = BESIDE[what][2]
    return _LARGEST.get(what) or 2_000 * LONGEST // len(content(2_000))


def _grown(root: Path) -> None:
    """A row for each command and request: the slowest of the documents that grow, at 1 MB, each in a process of its own."""
    (root / "good.yaml").write_text(HEAD, encoding="utf-8")
    (root / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    # An editor has the document alone open, in a folder of its own.
    (root / "open").mkdir()
    for shape, content in GROWING.items():
        (root / f"{shape}.yaml").write_text(content(2_000 * LONGEST // len(content(2_000))), encoding="utf-8")
    words = {command: words for command, words in {**COMPILING, **REWRITING}.items() if command != "krm"}
    for what, template in {**words, **{method: [method, "../FILE"] for method in REQUESTS}}.items():
        found = {}
        for shape in GROWING:
            try:
                (found[shape],) = outcomes(
                    [
                        request(
                            root / "open" if what in REQUESTS else root,
                            [word.replace("FILE", f"{shape}.yaml") for word in template],
                        )
                    ]
                )
            except AssertionError:
                found[shape] = {"seconds": float("inf"), "peak": 0}
        slowest = max(found, key=lambda shape: float(found[shape]["seconds"]))
        total, peak = (sum(one["seconds"] for one in found.values()), max(one["peak"] for one in found.values()))
        print(
            f"| {what}, 1 MB | {found[slowest]['seconds']:.2f} s ({slowest}) | {total:.1f} s | {peak} MB |", flush=True
        )


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
