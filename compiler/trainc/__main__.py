"""`python -m trainc`: the same program as the console script."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # Python puts the current folder first, and what lies there is input.
    if not sys.flags.safe_path:
        del sys.path[0]

    from trainc.cli.main import run

    run()
