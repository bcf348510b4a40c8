"""What is said about a run: mistakes at their lines, and nothing about what only looks like one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from conformance import Case
from trainc import CompileError, Diagnostic, Options, compile_paths

_RANK = {"info": 0, "warning": 1, "error": 2}


def judge_runs(cases: Iterable[Case]) -> Iterator[tuple[str, list[str]]]:
    """Ask for a finding of at least the recorded severity at one of the recorded lines, or for none above info."""
    for case in cases:
        found = diagnostics(case["files"])
        if case["verdict"] == "clean":
            yield case["id"], [f"{d.code}: {d.message}" for d in found if d.severity != "info"]
            continue
        lines = {d.source.line for d in found if d.source and _RANK[d.severity] >= _RANK[case["verdict"]]}
        missing = f"{case['class']}: no {case['verdict']} at {case['lines']}, but at {sorted(lines)}"
        yield case["id"], [] if lines & set(case["lines"]) else [missing]


def judge_twins(cases: Iterable[Case]) -> Iterator[tuple[str, list[str]]]:
    """Ask for something that is said of the mistake alone, and for nothing above info about its corrected twin.

    A code in `standing` is true of both.
    """
    for case in cases:
        mistake, twin = diagnostics({"job.yaml": case["bad"]}), diagnostics({"job.yaml": case["good"]})
        alarms = [d for d in twin if d.severity != "info" and d.code not in case.get("standing", ())]
        common = {(d.code, d.message) for d in twin}
        new = [d for d in mistake if (d.code, d.message) not in common]
        problems = [f"false alarm: {d.code}: {d.message}" for d in alarms]
        if not any(_RANK[d.severity] >= _RANK[case["verdict"]] for d in new):
            problems.append(f"{case['class']}: {case['title']}: wants {case['verdict']}, got {[d.code for d in new]}")
        yield case["id"], problems


def diagnostics(files: dict[str, str]) -> list[Diagnostic]:
    """What trainc says of job.yaml, with the other files beside it."""
    with TemporaryDirectory() as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        try:
            return compile_paths([f"{folder}/job.yaml"], options=Options(release="2.3")).diagnostics
        except CompileError as error:
            return error.diagnostics
