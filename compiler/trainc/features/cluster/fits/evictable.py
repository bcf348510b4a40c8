"""Whether what removes nodes may end pods of a job: Karpenter and the cluster autoscaler do, unless told otherwise.

Source: kubernetes-sigs/karpenter pkg/apis/v1/labels.go and pkg/utils/pod/scheduling.go; kubernetes/autoscaler
cluster-autoscaler/utils/drain/drain.go and simulator/utilization/info.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.api.findings import Finding, Path
from trainc.api.kube import Json, mapping, names, objects, value_at
from trainc.features.cluster.fits.cluster import AUTOSCALER, KARPENTER, Cluster, Flavor, Node
from trainc.features.cluster.fits.inventory import Inventory
from trainc.features.cluster.fits.pods import is_gpu
from trainc.features.cluster.fits.workload import PodSet, Workload

_KEEP = {
    KARPENTER: (("karpenter.sh/do-not-disrupt", "true"), ("karpenter.sh/do-not-evict", "true")),
    AUTOSCALER: (("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),),
}
_WHY = {
    KARPENTER: "Karpenter may end pods of {}, to replace nodes by cheaper or newer ones",
    AUTOSCALER: "the cluster autoscaler may end pods of {}, each of which uses less than half of a node",
}
_OF_KARPENTER = "karpenter.sh/nodepool"
_KEPT_NODE = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
# The autoscaler's default: it removes nodes of which less than this is requested.
_THRESHOLD = 0.5


def evictable_pods(
    workload: Workload, flavors: dict[str, list[Flavor]], cluster: Cluster, inventory: Inventory
) -> Iterator[Finding]:
    """Findings about pod sets that may be evicted while they train."""
    keep = _KEEP.get(cluster.scaler, ())
    for pod_set in workload.pod_sets:
        if pod_set.step in names.INITIALIZERS:
            continue
        if not keep or any(pod_set.annotations.get(key) == value for key, value in keep):
            continue
        nodes = inventory.usable(pod_set.pod, flavors.get(pod_set.name, ())).nodes
        moves = _karpenter_moves if cluster.scaler == KARPENTER else _autoscaler_moves
        if moves(pod_set, nodes, cluster):
            key, value = keep[0]
            hint = f'annotate the pods, in the runtime or in a runtimePatch of the TrainJob: {{{key}: "{value}"}}'
            path: Path = ("spec", "replicatedJobs", pod_set.index)
            yield Finding("PodsMayBeEvicted", "warning", _WHY[cluster.scaler].format(pod_set.name), hint, path)


def _karpenter_moves(_: PodSet, nodes: list[Node], cluster: Cluster) -> bool:
    if nodes and not any(_OF_KARPENTER in node.labels for node in nodes):
        return False
    pools = list(cluster.dump.list_all("NodePool"))
    return not pools or not all(map(_is_kept, pools))


def _is_kept(pool: Json) -> bool:
    """Return whether a NodePool never disrupts its nodes."""
    spec = mapping(pool.get("spec"))
    annotations = mapping(mapping(mapping(spec.get("template")).get("metadata")).get("annotations"))
    if annotations.get("karpenter.sh/do-not-disrupt") == "true":
        return True
    budgets = objects(mapping(spec.get("disruption")).get("budgets"))
    return any(str(b.get("nodes")) == "0" and not b.get("schedule") and not b.get("reasons") for b in budgets)


def _autoscaler_moves(pod_set: PodSet, nodes: list[Node], cluster: Cluster) -> bool:
    for volume in objects(pod_set.pod.get("volumes")):  # By default, the autoscaler keeps nodes with local volumes.
        directory = volume.get("emptyDir")
        if "hostPath" in volume or (isinstance(directory, dict) and directory.get("medium") != "Memory"):
            return False
    documents = {node.name: cluster.dump.get("Node", "", node.name) for node in nodes}
    kept_nodes = {
        name for name, node in documents.items() if value_at(node, ("metadata", "annotations", _KEPT_NODE)) == "true"
    }
    shares = [_share(pod_set, node) for node in nodes if node.name not in kept_nodes]
    return bool(shares) and max(shares) < _THRESHOLD


def _share(pod_set: PodSet, node: Node) -> float:
    """How much of a node one pod requests: of its GPUs if it has any, or else of its CPU or memory."""
    counted = [name for name, amount in node.allocatable.items() if is_gpu(name) and amount]
    counted = counted or [name for name in ("cpu", "memory") if node.allocatable.get(name)]
    return max((pod_set.scheduled.get(name, 0) / node.allocatable[name] for name in counted), default=1.0)
