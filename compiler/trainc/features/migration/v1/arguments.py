"""Rewrite older APIs, dialects and Training Operator v1 jobs in the current API.

Only lines that have to change are rewritten; comments and order are kept. What
the current API cannot express is left as it is and reported. The manifests that
`trainc build` produces stay the same; any difference is reported, too.

A PyTorchJob, TFJob, XGBoostJob, JAXJob, PaddleJob or MPIJob becomes a TrainJob
and a runtime, with the same ranks, addresses, resources and success policy, also
inside an AppWrapper or a Katib Experiment. Objects of Kueue become v1beta2.
--into NAME puts such jobs on your runtime NAME, of PATH or of trainc.yaml, where it
gives the same pods; any other job keeps a runtime of its own and says what differs.

Examples:
  trainc migrate --report .
  trainc migrate --diff old-runtime.yaml
  trainc migrate jobs/ runtimes/
  trainc migrate jobs/ --into torch-h100
  trainc migrate - < job.yaml > new.yaml

Exit code: 0 success, 1 something cannot be migrated, or --check found a change.
"""

from __future__ import annotations

from argparse import ArgumentParser

from trainc.api.arguments import command


def add_arguments(parser: ArgumentParser) -> None:
    """Add files and output options."""
    help_text = "file, folder, or - for stdin to stdout"
    parser.add_argument("paths", metavar="PATH", nargs="+", help=help_text)
    writing = parser.add_mutually_exclusive_group()
    writing.add_argument("--diff", action="store_true", help="print a diff and write nothing")
    writing.add_argument("--check", action="store_true", help="write nothing; exit 1 if any file would change")
    help_text = "write nothing; list each job, what it becomes, and open questions"
    writing.add_argument("--report", action="store_true", help=help_text)
    help_text = "v1 jobs: a generated `runtime` (default), a built-in one (`catalog`), or yours of this NAME"
    parser.add_argument("--into", metavar="NAME", default="runtime", help=help_text)
    help_text = "v1 PyTorchJobs: keep v1's env variables (default), or start `python x` with torchrun"
    parser.add_argument("--variables", choices=("keep", "torchrun", "auto"), default="auto", help=help_text)
    help_text = "v1 jobs: shorten names that are too long for the pods of a JobSet"
    parser.add_argument("--rename", action="store_true", help=help_text)
    command.add_limits(parser)
    command.add_reporting(parser)
