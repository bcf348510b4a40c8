"""Print how many cases of each set trainc answers as recorded: `python -m conformance [FOLDER] [--only SET] [--show N]`."""

from __future__ import annotations

import argparse
import sys
from itertools import islice
from pathlib import Path

from conformance import SETS

HERE = Path(__file__).parents[1] / "recorded"


def main() -> int:
    """Score each set that is in the folder; 1 if one has fewer right answers than it must, or there is none."""
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=HERE)
    parser.add_argument("--only", metavar="SET", help="score this set alone")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print the first N wrong answers of each set")
    arguments = parser.parse_args()
    print(f"{'set':<12}{'cases':>7}{'right':>7}{'':>9}")
    status = 1
    for recorded in SETS:
        is_there = (arguments.folder / f"{recorded.name}.jsonl.gz").is_file()
        if not is_there or arguments.only not in (None, recorded.name):
            continue
        status = min(status, 0)
        answers = list(recorded.problems(arguments.folder))
        right = sum(not problems for _, problems in answers)
        share = right / len(answers) if answers else 0.0
        note = "" if share >= recorded.least else f"  fewer than {recorded.least:.0%}"
        print(f"{recorded.name:<12}{len(answers):>7}{right:>7}{share:>9.1%}{note}", flush=True)
        for case, problems in islice(((case, problems) for case, problems in answers if problems), arguments.show):
            print(f"  {case}: " + "\n    ".join(problems[:6]))
        status = 1 if note else status
    return status


if __name__ == "__main__":
    sys.exit(main())
