"""Write an HTML page about all jobs: queues, teams, changes, findings, details.

The page is a single file that works offline and without JavaScript. With up to
20 jobs, or --full, it has the origin of every field and, with the package
svg.py, a picture of each job.

Examples:
  trainc report jobs/ -o report.html
  trainc report --since git:main --revision "$(git rev-parse HEAD)"
  trainc report jobs/ --overlay overlays/prod -o prod.html
  trainc report --source-url https://git.example.com/ml/training/blob/main
"""

from __future__ import annotations

from argparse import ArgumentParser

from trainc.api.arguments import command


def add_arguments(parser: ArgumentParser) -> None:
    """Add input and output options."""
    command.add_input(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="report.html",
        help="output file, or - for stdout (default: report.html)",
    )
    parser.add_argument(
        "--source-url", metavar="URL", default="", help="base URL for links to source lines (default: relative paths)"
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="pictures and the origin of every field, also for more than 20 jobs or 20,000 lines",
    )
    parser.add_argument("--title", default="Training jobs", help="heading of the page (default: Training jobs)")
    parser.add_argument("--since", metavar="git:REV", help="show what changed since a revision, as `trainc diff` does")
    parser.add_argument("--live", metavar="FILE", help="a dump of the cluster, for the states of the jobs")
    parser.add_argument("--revision", metavar="TEXT", default="", help="what the page is about, such as a commit")
    parser.add_argument("--date", metavar="TEXT", default="", help="the date to show; trainc reads no clock")
    parser.add_argument("--allow-empty", action="store_true", help="write a page without jobs if there is no TrainJob")
    command.add_shaping(parser)
    command.add_limits(parser)
    command.add_reporting(parser)
