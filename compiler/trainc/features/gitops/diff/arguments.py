"""Show what changes between two inputs or outputs, and what the cluster will do.

A and B are folders, files, - for stdin, or git:REV[:PATH]. TrainJobs are compiled
before comparing; JobSets are compared as they are. Without B, a revision is
compared with the working tree, output with what its sources compile to, and
sources with the `output` of trainc.yaml. Without A, too, it is git:HEAD.
--live FILE compares the output, or A, with a cluster (`trainc help dump`): what has
drifted, which jobs wait, and which finished ones a sync would run again.
The first line counts the jobs that restart, end, start or are refused, with the
delivery that trainc.yaml configures; --all-deliveries shows the others too.

Examples:
  trainc diff
  trainc diff git:origin/main --format markdown > comment.md
  trainc diff --releases 2.1..2.3 jobs/
  trainc diff --runtime torch-distributed=new.yaml
  trainc diff --live live.yaml --exit-code
"""

from __future__ import annotations

from argparse import ArgumentParser

from trainc.api.arguments import command

FORMATS = ("text", "json", "markdown")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the two sides, or a single one with variations."""
    parser.add_argument("sides", metavar="A B", nargs="*", help="before and after: file, folder, - or git:REV[:PATH]")
    parser.add_argument("--releases", metavar="OLD..NEW", help="compile the input for two Trainer releases")
    parser.add_argument("--runtime", metavar="NAME=FILE", help="compile the input with one runtime replaced")
    parser.add_argument("--live", metavar="FILE", help="a dump of the cluster, or -")
    parser.add_argument("--show-values", action="store_true", help="with --live: the cluster's own values too")
    parser.add_argument("--all-deliveries", action="store_true", help="show the outcome for every delivery mode")
    parser.add_argument("--format", choices=FORMATS, default="text", help="markdown is for pull request comments")
    parser.add_argument("--exit-code", action="store_true", help="exit 1 if anything changes, like git diff")
    command.add_input(parser, paths=False)
    command.add_shaping(parser)
    command.add_limits(parser)
    command.add_reporting(parser)
