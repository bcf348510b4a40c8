"""Say why jobs of a cluster do not run: the cause, its line in git, what to do.

The dump is what kubectl prints: TrainJobs, JobSets, Workloads, queues, Jobs,
pods and events, without Secrets. `trainc help dump` has the command. What runs
is not mentioned. With --log, also what ended a run by what it printed.

Examples:
  trainc why --dump live.yaml
  trainc why --dump live.yaml nlp/llm
  trainc why --dump live.yaml --sources jobs/
  trainc why --log pod.log
  kubectl get pods,events,workloads.kueue.x-k8s.io -A -o yaml | trainc why

Exit code: 0 whether or not anything waits, 1 the dump cannot be read, 2 the log
cannot be read.
"""

from __future__ import annotations

from argparse import ArgumentParser

from trainc.api.arguments import command

FORMATS = ("text", "json")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the job, the dump and the format."""
    parser.add_argument("job", nargs="?", default="", metavar="NAME", help="NAME or NAMESPACE/NAME (default: all jobs)")
    help_text = "file or folder with the objects of the cluster (default: -, which is stdin, without --log)"
    parser.add_argument("--dump", metavar="DUMP", help=help_text)
    help_text = "log of a pod that failed: the first line with a known cause (- is stdin)"
    parser.add_argument("--log", metavar="FILE", help=help_text)
    help_text = "TrainJobs whose lines are named (repeatable; default: `sources` in trainc.yaml)"
    parser.add_argument("--sources", metavar="PATH", action="append", default=[], help=help_text)
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    command.add_input(parser, paths=False)
    command.add_limits(parser)
    command.add_reporting(parser)
