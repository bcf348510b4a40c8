"""`PYTHON benchmarks/passes.py JOBS`: microseconds that `compile_trainjob` takes for one of the jobs in a JSON file.

It runs under any trainc that has this function, so that two versions can be compared: `[runtime, [job, ...]]` is the
file. The runtime is checked at each call, and each call gets another job. What is printed is the median.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from statistics import median

from trainc import Options, compile_trainjob

_WARM_UP = 50


def main() -> None:
    """Measure and print."""
    runtime, jobs = json.loads(Path(sys.argv[1]).read_text())
    options = Options(release="2.3")
    taken = []
    for job in jobs:
        start = time.perf_counter()
        compile_trainjob(job, [runtime], options)
        taken.append(time.perf_counter() - start)
    print(median(taken[_WARM_UP:]) * 1e6)


if __name__ == "__main__":
    main()
