"""Validate and lint TrainJobs, runtimes and JobSets without writing anything.

TrainJobs are compiled as in `trainc build`, and each runtime that no TrainJob
uses with a minimal one. Rendered JobSets are checked against JobSet's admission
rules. Fragments, such as a lone `mlPolicy:`, are checked in place. If trainc.yaml
sets `cluster:`, a job that the cluster can never admit is an error (`trainc fits`).

Examples:
  trainc check jobs/ runtimes/
  trainc check --format github .
  trainc check --format sarif jobs/ > trainc.sarif
  trainc check --base origin/main
  trainc check --fix --diff jobs/

Exit code: 0 no errors (warnings are allowed), 1 errors, 2 wrong usage.
"""

from __future__ import annotations

from trainc.startup.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser


from trainc.cli.command import add_input, add_limits, add_reporting, add_shaping

FORMATS = ("text", "concise", "json", "github", "gitlab", "sarif", "junit")


def add_arguments(parser: ArgumentParser) -> None:
    """Add input and reporting options."""
    add_input(parser)
    add_shaping(parser)
    add_limits(parser)
    add_reporting(parser, strict=True)
    parser.add_argument(
        "--base",
        metavar="REV",
        help="say what trainc.yaml loosens since REV, whose rules count for policies and quotas",
    )
    parser.add_argument(
        "--fix",
        action="store_true",
        help="apply fixes: misspelt fields, missing quotes, and what leaves TrainJobs and manifests as they are",
    )
    parser.add_argument("--unsafe-fixes", action="store_true", help="apply the other fixes, too; review the result")
    parser.add_argument(
        "--diff", action="store_true", help="print what --fix or --unsafe-fixes would change, and write nothing"
    )
    parser.add_argument("--allow-empty", action="store_true", help="succeed even if there is nothing to check")
    parser.add_argument(
        "--format", choices=FORMATS, default="text", help="text (default) goes to stderr, the others to stdout"
    )
