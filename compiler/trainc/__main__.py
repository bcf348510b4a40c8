"""The program: `python -m trainc`, and the console scripts."""

from __future__ import annotations

import gc
import sys

_ALLOCATIONS_BETWEEN_SEARCHES = 200_000


def run() -> None:
    """Entry point of the console scripts."""
    # A command is short-lived and creates few reference cycles; collecting them would cost about 5% of its run time.
    # `lsp` keeps running, so collection is postponed rather than disabled. Importing trainc creates most objects of one job.
    gc.set_threshold(_ALLOCATIONS_BETWEEN_SEARCHES)
    from trainc.cli.main import run

    run()


if __name__ == "__main__":
    # `python -m` puts the current directory first on sys.path, and that directory holds untrusted input.
    if not sys.flags.safe_path:
        del sys.path[0]
    run()
