"""Test mutants of the code that predicts cluster behavior: does a test fail for every change?

Each mutant is one change by one of mutmut's operators to one function. mutmut itself cannot be used to run them: it
only supports packages at the top level or in `src`, and it starts pytest for every mutant, which takes longer than most
tests. Instead, tests are collected once and run once under coverage. Each mutant then runs in a fork of that process,
which replaces the function's code and runs the checks that reach the changed lines until one fails: first some of the
recorded cases, then the tests, fastest first, then the other recorded cases.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from pathlib import Path

import pytest

from mutation.mutants import Mutant, mutants_of
from mutation.rooms import try_rooms
from mutation.session import Session

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "compiler" / "trainc"
MUTATED = ("ir/*.py", "plugins/**/*.py", "project/overlays/*.py", "pipeline/patches.py")
TESTS = (
    "tests/ir",
    "tests/plugins",
    "tests/project/overlays",
    "tests/pipeline/test_patches.py",
    "tests/test_deviations.py",
    "tests/test_golden.py",
    "tests/test_golden_errors.py",
    "tests/findings/test_rules.py",
    "tests/test_invariants.py",
    "tests/emit/secrets",
    "tests/emit/test_name_hash.py",
)
# These tests start subprocesses, which do not see the replaced code.
SLOW = "not tools and not conformance and not elsewhere and not another_python and not kustomize"


def main() -> int:
    """Print surviving mutants and the score of each folder; write all outcomes to a file."""
    arguments = _arguments()
    if arguments.rooms:
        try_rooms(ROOT, PACKAGE, arguments.rooms, arguments.seed, arguments.processes)
        return 0
    mutants = [
        m
        for pattern in MUTATED
        for file in sorted(PACKAGE.glob(pattern))
        if arguments.only in str(file)
        for m in mutants_of(file)
    ]
    total = len(mutants)
    if arguments.sample and arguments.sample < total:
        mutants = random.Random(int(arguments.seed or 1)).sample(mutants, arguments.sample)  # noqa: S311 - no secret
    if not (ROOT / arguments.vectors).is_dir():
        print(f"no recorded cases at {arguments.vectors}: the tests alone have to kill the mutants")
    outcomes: list[tuple[Mutant, str]] = []

    def report(mutant: Mutant, outcome: str) -> None:
        outcomes.append((mutant, outcome))
        if outcome not in ("killed", "timeout"):
            print(f"{mutant.file.relative_to(ROOT)}:{mutant.lines.start} {outcome}\n{mutant.change}", flush=True)
        if len(outcomes) % 50 == 0:
            print(f"{len(outcomes)} of {len(mutants)}", file=sys.stderr, flush=True)

    session = Session(ROOT, PACKAGE, mutants, (ROOT / arguments.vectors).resolve(), arguments.processes, report)
    tests = [str(ROOT / test) for test in TESTS if (ROOT / test).exists()]
    status = pytest.main([*tests, "-q", "-k", SLOW, "-p", "no:cacheprovider", "-p", "no:xdist"], plugins=[session])
    if len(outcomes) < len(mutants):
        return int(status) or 3
    _write(arguments.output, outcomes)
    _print_score(outcomes, total)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="PART", help="mutate files whose path has this part")
    parser.add_argument("--sample", type=int, metavar="N", help="try so many of the mutants, chosen at random")
    parser.add_argument(
        "--rooms", type=int, metavar="N", help="try N breakages over all rooms, by the tests of their rooms"
    )
    parser.add_argument("--seed", default="", help="of what is chosen at random (1, and of breakages the commit)")
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="mutants at a time (%(default)s)")
    parser.add_argument("--vectors", default="tests/recorded", metavar="DIR", help="recorded cases (%(default)s)")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "mutants.json", metavar="FILE")
    return parser.parse_args()


def _write(path: Path, outcomes: list[tuple[Mutant, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [
        {
            "file": str(mutant.file.relative_to(PACKAGE)),
            "line": mutant.lines.start,
            "function": mutant.function,
            "change": mutant.change,
            "outcome": outcome,
        }
        for mutant, outcome in outcomes
    ]
    records.sort(key=lambda record: (record["file"], record["line"]))
    path.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


def _print_score(outcomes: list[tuple[Mutant, str]], total: int) -> None:
    tried, killed = Counter[str](), Counter[str]()
    for mutant, outcome in outcomes:
        for part in ("all", mutant.file.relative_to(PACKAGE).parts[0]):
            tried[part] += 1
            killed[part] += outcome in ("killed", "timeout")
    print(f"{tried['all']} of {total} mutants tried")
    for part in sorted(tried):
        print(f"{part}: {killed[part]} of {tried[part]} killed, {killed[part] / tried[part]:.1%}")


if __name__ == "__main__":
    sys.exit(main())
