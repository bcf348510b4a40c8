"""Check whether a cluster has what the compiled jobs need, in the right versions.

kubectl reads the versions of Kubernetes, JobSet, Trainer, Kueue, coscheduling
and Volcano, and the queues that jobs name. It changes nothing.

Examples:
  trainc doctor --context staging
  kubectl get nodes,crd,deployments,localqueues -A -o yaml > cluster.yaml
  trainc doctor --from cluster.yaml

Exit code: 0 the jobs can run there, 1 something is missing, too old or not
running, or nothing shows whether it is there.
"""

from __future__ import annotations

from argparse import ArgumentParser

from trainc.api.arguments import command

FORMATS = ("text", "json")


def add_arguments(parser: ArgumentParser) -> None:
    """Add input, cluster and format options."""
    command.add_input(parser)
    group = parser.add_argument_group("cluster")
    group.add_argument("--context", metavar="NAME", help="context of the kubeconfig (default: the current one)")
    group.add_argument("--kubeconfig", metavar="FILE", help="kubeconfig file (default: kubectl's own)")
    group.add_argument("--timeout", metavar="SECONDS", type=int, default=10, help="timeout of each call (default: 10)")
    group.add_argument(
        "--from", dest="snapshot", metavar="DIR", help="read saved output of kubectl instead of a cluster"
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    command.add_limits(parser)
    command.add_reporting(parser)
