"""`python -m trainc`: the same program as the console script."""

from __future__ import annotations

from trainc.cli.main import run

if __name__ == "__main__":
    run()
