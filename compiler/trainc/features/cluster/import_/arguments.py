"""Bring the jobs of a cluster into git.

FILE is a dump of the cluster (`trainc help dump`), or - for stdin. Each TrainJob
becomes one clean file, DIR/NAMESPACE/NAME.yaml, without what the API server,
webhooks, Kueue and controllers have set; runtimes that are not in the catalog are
written too. Jobs of Training Operator v1 are migrated. No file is overwritten.
Without -o, the documents go to stdout.

A variable whose name ends in TOKEN, KEY, SECRET or PASSWORD becomes a reference to
a Secret, which you have to make.

--adopt also writes the rendered file of each job as the cluster has it, so that
applying it restarts nothing (docs: "Taking over jobs that run").

Examples:
  trainc import live.yaml
  trainc import live.yaml -o jobs
  trainc import live.yaml -o jobs --adopt
"""

from __future__ import annotations

from argparse import ArgumentParser

from trainc.api.arguments import command


def add_arguments(parser: ArgumentParser) -> None:
    """Add the dump and where to write."""
    parser.add_argument("dump", metavar="FILE", help="a dump of the cluster, or - for stdin")
    parser.add_argument("-o", "--output", metavar="DIR", help="folder for the files, such as jobs")
    parser.add_argument("--adopt", action="store_true", help="also write rendered files as the cluster has the jobs")
    command.add_input(parser, paths=False)
    command.add_limits(parser)
    command.add_reporting(parser)
