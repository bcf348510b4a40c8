"""Whether what removes nodes may end pods of a job: Karpenter and the cluster autoscaler do, unless told otherwise.

Source: kubernetes-sigs/karpenter pkg/apis/v1/labels.go and pkg/utils/pod/scheduling.go; kubernetes/autoscaler
cluster-autoscaler/utils/drain/drain.go and simulator/utilization/info.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.api.kube import Json, mapping, names, objects
from trainc.features.fits.cluster import AUTOSCALER, KARPENTER, Cluster, Flavor, Node
from trainc.features.fits.nodes import Inventory
from trainc.features.fits.words import is_gpu
from trainc.features.fits.workload import PodSet, Workload

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
) -> Iterator[tuple[PodSet, str, str]]:
    """Yield pod sets that may be evicted while they train, with the reason and what to write instead."""
    keep = _KEEP.get(cluster.scaler, ())
    for one in workload.pod_sets:
        if one.step in (names.DATASET_INITIALIZER, names.MODEL_INITIALIZER):
            continue
        if not keep or any(one.annotations.get(key) == value for key, value in keep):
            continue
        nodes = inventory.usable(one.pod, flavors.get(one.name, ())).nodes
        moves = _karpenter_moves if cluster.scaler == KARPENTER else _autoscaler_moves
        if moves(one, nodes, cluster):
            key, value = keep[0]
            hint = f'annotate the pods, in the runtime or in a runtimePatch of the TrainJob: {{{key}: "{value}"}}'
            yield one, _WHY[cluster.scaler].format(one.name), hint


def _karpenter_moves(_: PodSet, nodes: list[Node], cluster: Cluster) -> bool:
    if nodes and not any(_OF_KARPENTER in node.labels for node in nodes):
        return False
    pools = list(cluster.dump.every("NodePool"))
    return not pools or not all(map(_is_kept, pools))


def _is_kept(pool: Json) -> bool:
    """Whether a NodePool never disrupts its nodes."""
    spec = mapping(pool.get("spec"))
    annotations = mapping(mapping(mapping(spec.get("template")).get("metadata")).get("annotations"))
    if annotations.get("karpenter.sh/do-not-disrupt") == "true":
        return True
    budgets = objects(mapping(spec.get("disruption")).get("budgets"))
    return any(str(one.get("nodes")) == "0" and not one.get("schedule") and not one.get("reasons") for one in budgets)


def _autoscaler_moves(one: PodSet, nodes: list[Node], cluster: Cluster) -> bool:
    if any(_is_local(volume) for volume in objects(one.pod.get("volumes"))):
        return False
    shares = [_share(one, node) for node in nodes if not _is_kept_node(node, cluster)]
    return bool(shares) and max(shares) < _THRESHOLD


def _is_local(volume: Json) -> bool:
    """Whether a volume stays on its node, which the autoscaler then keeps by default."""
    directory = volume.get("emptyDir")
    return "hostPath" in volume or (isinstance(directory, dict) and directory.get("medium") != "Memory")


def _is_kept_node(node: Node, cluster: Cluster) -> bool:
    annotations = mapping(mapping((cluster.dump.get("Node", "", node.name) or {}).get("metadata")).get("annotations"))
    return annotations.get(_KEPT_NODE) == "true"


def _share(one: PodSet, node: Node) -> float:
    """How much of a node one pod requests: of its GPUs if it has any, or else of its CPU or memory."""
    counted = [name for name, amount in node.allocatable.items() if is_gpu(name) and amount]
    counted = counted or [name for name in ("cpu", "memory") if node.allocatable.get(name)]
    return max((one.scheduled.get(name, 0) / node.allocatable[name] for name in counted), default=1.0)
