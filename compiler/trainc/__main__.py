"""`python -m trainc`: the same program as the console script."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # `python -m` puts the current directory first on sys.path, and that directory holds untrusted input.
    if not sys.flags.safe_path:
        del sys.path[0]

    from trainc.cli.main import run

    run()
