"""Write an HTML page about all jobs: steps, resources, findings, field origins.

The page is a single file that works offline and without JavaScript. With the
package svg.py it includes a picture of each job.

Examples:
  trainc report jobs/ -o report.html
  trainc report jobs/ --overlay overlays/prod -o prod.html
  trainc report --source-url https://git.example.com/ml/training/blob/main
"""

from __future__ import annotations

from argparse import ArgumentParser

from trainc.api.arguments import FILE, add_input, add_limits, add_reporting, add_shaping, set_completion


def add_arguments(parser: ArgumentParser) -> None:
    """Add input and output options."""
    add_input(parser)
    where = parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="report.html",
        help="output file, or - for stdout (default: report.html)",
    )
    set_completion(where, FILE)
    parser.add_argument(
        "--source-url",
        metavar="URL",
        default="",
        help="base URL for links to source lines (default: relative paths)",
    )
    parser.add_argument("--title", default="Training jobs", help="heading of the page (default: Training jobs)")
    add_shaping(parser)
    add_limits(parser)
    add_reporting(parser)
