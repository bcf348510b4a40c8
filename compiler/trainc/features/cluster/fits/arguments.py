"""Check whether Kueue's queues and the cluster's nodes can ever run each job.

Each job is tried alone on the idle cluster, then all jobs together, in order.
Jobs without a queue are matched against the nodes, as kube-scheduler does. With
--now, the Workloads of the snapshot count: what starts, evicts others or waits,
and who holds what (`trainc help dump`). --cluster expects the output of

  kubectl get namespaces,nodes,limitranges,resourcequotas,serviceaccounts,persistentvolumeclaims,runtimeclasses,priorityclasses,storageclasses,deployments -A -o yaml > cluster/core.yaml
  kubectl get clusterqueues,localqueues,cohorts,resourceflavors,topologies,admissionchecks,workloadpriorityclasses -A -o yaml > cluster/kueue.yaml

or as much of it as you have. docs/fits.md has a command for the names of
Secrets and ConfigMaps, and docs/cluster.md an example of lists by hand.

Examples:
  trainc fits jobs/ --cluster cluster/
  trainc fits --format github
  trainc fits jobs/llm.yaml --cluster cluster/ --now --plus two-nodes.yaml

Exit code: 0 every job can run, 1 a job can never run, or the input is wrong.
"""

from __future__ import annotations

from argparse import ArgumentParser

from trainc.api.arguments import command

FORMATS = ("text", "json", "github")


def add_arguments(parser: ArgumentParser) -> None:
    """Add input, cluster and format options."""
    command.add_input(parser)
    help_text = "file or folder with the cluster's objects (default: `cluster` in trainc.yaml)"
    parser.add_argument("--cluster", metavar="DIR", help=help_text)
    parser.add_argument("--now", action="store_true", help="what would start at the moment of the snapshot")
    parser.add_argument("--stale", action="store_true", help="with --now: also for an old snapshot")
    help_text = "with --now: add objects to the snapshot (repeatable)"
    parser.add_argument("--plus", metavar="FILE", action="append", default=[], help=help_text)
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    command.add_shaping(parser)
    command.add_limits(parser)
    command.add_reporting(parser, strict=True)
