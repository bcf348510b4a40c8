"""Check jobs without a queue against the nodes, as kube-scheduler would, as far as the result is certain.

If the nodes, even when empty, cannot hold every pod of a pod set at once, its pods will never all run together. Running
workloads, other jobs and affinity between pods are not taken into account.
Source: kubernetes/kubernetes pkg/scheduler/framework/plugins (nodeaffinity, tainttoleration, noderesources).
"""

from __future__ import annotations

from trainc.features.fits.cluster import Cluster, Node
from trainc.features.fits.requests import PODS, times_in
from trainc.features.fits.selectors import MalformedSelector, barring_taint, node_matches
from trainc.features.fits.shortfall import Shortfall
from trainc.features.fits.words import counted_pods, requests_text
from trainc.features.fits.workload import PodSet, Workload
from trainc.kube import names

NO_NODE, TOO_FEW_NODES = "no-node", "too-few-nodes"


def node_shortfall(workload: Workload, cluster: Cluster) -> tuple[str, Shortfall] | None:
    """The first pod set that the nodes cannot hold, as (cause, reason); None if they can hold all."""
    for one in workload.pod_sets:
        held = [_held(one, node) for node in cluster.nodes]
        if sum(held) >= one.count:
            continue
        if not any(held):
            return NO_NODE, Shortfall(
                _no_node(one, cluster),
                "change the requests, tolerations or node selector of the pods, or add a node that matches",
                one.name,
            )
        return TOO_FEW_NODES, _too_few(one, sum(held))
    return None


def _too_few(one: PodSet, held: int) -> Shortfall:
    message = f"even when empty, the nodes have room for only {counted_pods(held)} of the {one.count} of {one.name}"
    fewer = f"write numNodes: {held}" if one.step == names.TRAINER else f"reduce {one.name} to {counted_pods(held)}"
    return Shortfall(message, f"{fewer}, or add nodes", one.name)


def _held(one: PodSet, node: Node) -> int:
    return times_in((*one.one.items(), (PODS, 1)), node.allocatable) if not _exclusion_reason(one, node) else 0


def _exclusion_reason(one: PodSet, node: Node) -> str:
    """Why a node accepts no pod of a pod set, regardless of its size; empty if it does."""
    taint = barring_taint(node.taints, one.pod.get("tolerations") or ())
    if taint:
        return f"taint {taint.get('key')}:{taint.get('effect')} not tolerated"
    try:
        matches = node_matches(one.pod, node.labels, node.name)
    except MalformedSelector:
        matches = False
    return "" if matches else "labels do not match the node selector or affinity"


def _no_node(one: PodSet, cluster: Cluster) -> str:
    reasons: dict[str, int] = {}
    for node in cluster.nodes:
        why = _exclusion_reason(one, node) or "not enough resources"
        reasons[why] = reasons.get(why, 0) + 1
    counts = ", ".join(f"{count} {'node' if count == 1 else 'nodes'}: {why}" for why, count in sorted(reasons.items()))
    return f"no node can run a pod of {one.name} ({requests_text(1, one.one)}): {counts or 'no node is Ready'}"
