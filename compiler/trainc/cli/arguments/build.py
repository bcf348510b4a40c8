"""Compile the TrainJobs found under PATH into Kubernetes manifests.

Examples:
  trainc build train.yaml --release 2.3
  trainc build jobs/ --runtimes platform/runtimes -o rendered/
  trainc build jobs/ -o rendered/ --check
  trainc build --overlay overlays/prod -o rendered/prod
  trainc build - < train.yaml | kubectl diff -f -

`trainc help output` explains which files are replaced or deleted.
"""

from __future__ import annotations

from trainc.cli.command import add_input, add_limits, add_reporting, add_shaping
from trainc.startup.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from trainc.output.choices import Wave


def add_arguments(parser: ArgumentParser) -> None:
    """Add input and output options."""
    add_input(parser)
    output = parser.add_argument_group("output")
    output.add_argument("-o", "--output", metavar="DIR", help="write a file per TrainJob to DIR (default: -, stdout)")
    output.add_argument("--prune", action="store_true", help="delete files of jobs that are not in this build")
    output.add_argument(
        "--rebuild",
        metavar="NAME",
        action="append",
        help="compile a kept job again: a name, a glob, all, or running, finished or waiting",
    )
    output.add_argument(
        "--at-most",
        metavar="GPUS",
        type=_wave,
        help="with --rebuild: up to so many GPUs, as in 64gpus",
    )
    output.add_argument(
        "--keep", metavar="NAME", action="append", help="keep a job's file as it is: a name, a glob, or all"
    )
    output.add_argument("--check", action="store_true", help="write nothing; exit 1 and print a diff if DIR is stale")
    output.add_argument(
        "--keep-going",
        action="store_true",
        help="write what compiles; the rest keeps its file; exit 1",
    )
    output.add_argument("--base", metavar="REV", help="with --check: compare kept files with REV (HEAD)")
    output.add_argument(
        "--exit-code", action="store_true", help="exit 1 if any file was written or deleted (for hooks)"
    )
    output.add_argument(
        "--format",
        choices=("yaml", "json", "github"),
        default="yaml",
        help="yaml (default), json for a v1 List, or with --check github for annotations",
    )
    output.add_argument("--allow-empty", action="store_true", help="succeed even if there is no TrainJob")
    add_shaping(parser)
    add_limits(parser)
    add_reporting(parser, strict=True)


def _wave(text: str) -> Wave:
    from trainc.output.choices import Wave

    number = text.lower().removesuffix("gpus").removesuffix("gpu").strip()
    if not number.isascii() or not number.isdecimal() or not int(number):
        from argparse import ArgumentTypeError

        raise ArgumentTypeError("write a number of GPUs, such as 64gpus")
    return Wave(int(number))
