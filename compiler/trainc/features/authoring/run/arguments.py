"""Run a compiled job as processes on this machine, to see its ranks meet.

Each pod is a process group with its compiled environment; pods meet on the
loopback address. The job's commands run as you, outside any container: images
are ignored, and programs and files are those of this machine. Volumes are
folders below --workdir. Restarts and the end of the job follow backoffLimit and
the failure and success policies. Ctrl-C stops everything.

Examples:
  trainc run jobs/llm.yaml --pods 2 --procs 2
  trainc run jobs/llm.yaml --map /workspace=. --python .venv/bin/python

Exit code: 0 the job succeeded, 124 after --timeout, 1 the input is wrong, else
that of the program that failed the job.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable

from trainc.api.arguments import command


def add_arguments(parser: ArgumentParser) -> None:
    """Add job, size and location options."""
    command.add_job(parser)
    group = parser.add_argument_group("run")
    group.add_argument("--pods", type=_positive, metavar="N", help="number of nodes to start, instead of the job's")
    group.add_argument("--procs", type=_positive, metavar="N", help="processes to start per node, instead of the job's")
    group.add_argument("--dry-run", action="store_true", help="print the commands without running them")
    group.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="stop the job after this time")
    group.add_argument("--no-restarts", action="store_true", help="stop at the first failure")
    group.add_argument("--workdir", metavar="DIR", help="folder for volumes (default: a temporary one)")
    group.add_argument(
        "--map", type=_mapping, action="append", default=[], metavar="PATH=DIR",
        help="use DIR in place of PATH in the image (repeatable)",
    )  # fmt: skip
    group.add_argument("--python", metavar="FILE", help="interpreter for python, torchrun, accelerate and tune")


def _positive(text: str) -> int:
    return int(_number(text, "a positive whole number", lambda value: value >= 1 and value == int(value)))


def _seconds(text: str) -> float:
    return _number(text, "a number of seconds", lambda value: value > 0)


def _number(text: str, expected: str, is_right: Callable[[float], bool]) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not (value < float("inf") and is_right(value)):
        raise ArgumentTypeError(f"{text!r} is not {expected}")
    return value


def _mapping(text: str) -> tuple[str, str]:
    path, separator, folder = text.partition("=")
    if not separator or not path.startswith("/") or path == "/":
        raise ArgumentTypeError(f"{text!r} does not have the form PATH=DIR with an absolute PATH")
    return path, os.path.abspath(folder or ".")
