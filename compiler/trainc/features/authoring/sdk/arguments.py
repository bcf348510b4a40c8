"""Run a script offline and write the TrainJobs and JobSets it would submit.

The script is run, as `python SCRIPT ARG ...` would, with the Kubeflow SDK,
NeMo-Run or the Kubernetes client as it is; a stand-in answers what it sends to
the cluster. A job that the cluster would refuse or that cannot run is reported,
and nothing is written. A job with a random name is named after the script and
its content. What the script prints goes to stderr.

Examples:
  trainc sdk train.py > job.yaml
  trainc sdk train.py --namespace team-a -o jobs/ -- --lr 0.1

Exit code: 0 done, 1 a job is refused, or the script fails or submits nothing.
"""

from __future__ import annotations

from argparse import ArgumentParser

from trainc.api.arguments import command


def add_arguments(parser: ArgumentParser) -> None:
    """Add the script, its arguments, and output options."""
    parser.add_argument("script", metavar="SCRIPT", help="the Python file to run")
    parser.add_argument(
        "words", metavar="ARG", nargs="*", help="arguments for the script; put them after -- if they start with -"
    )
    group = parser.add_argument_group("input")
    group.add_argument(
        "--runtimes", metavar="DIR", action="append", default=[], help="folder with more runtimes (repeatable)"
    )
    command.add_release(group.add_argument)
    group.add_argument("--namespace", metavar="NAME", default="default", help="namespace for clients that set none")
    group = parser.add_argument_group("output")
    group.add_argument("-o", "--output", metavar="DIR", help="write DIR/<name>.yaml for each job (default: stdout)")
    command.add_reporting(parser)
