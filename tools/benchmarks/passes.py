"""`PYTHON tools/benchmarks/passes.py JOBS`: print the median microseconds of `compile_trainjob` for jobs in a JSON file.

Works with any version of trainc that has this function, to compare two versions. The file contains
`[runtime, [job, ...]]`. Each call gets a different job and checks the runtime again.
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
