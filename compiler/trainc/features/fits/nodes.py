"""Check pods against the nodes, as kube-scheduler would, as far as the result is certain.

If the nodes, even when empty, cannot hold every pod of a pod set at once, its pods will never all run together. Running
workloads, other jobs and affinity between pods are not taken into account.
Source: kubernetes/kubernetes pkg/scheduler/framework/plugins (nodeaffinity, tainttoleration, noderesources); Kueue adds
the labels and tolerations of the chosen flavors to admitted pods (kubernetes-sigs/kueue pkg/podset/podset.go).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from trainc.api.findings import Finding, Path
from trainc.api.kube import Json, MalformedSelector, mapping, names, objects
from trainc.api.records import dataclass, field
from trainc.features.fits.cluster import AUTOSCALER, KARPENTER, Cluster, Flavor, Node
from trainc.features.fits.pods import (
    PODS,
    UNLIMITED,
    Amounts,
    amount_with_unit,
    bare_amount,
    barring_taint,
    counted_pods,
    is_gpu,
    node_matches,
    requests_text,
    times_in,
)
from trainc.features.fits.workload import PodSet, Workload, with_size

NO_NODE, TOO_FEW_NODES = "no-node", "too-few-nodes"


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Why a job does not fit, what to do about it, and the pod set in question.

    A shortfall that is not `certain` may pass: nodes may be added or become ready.
    """

    message: str
    hint: str
    pod_set: str = ""
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Usable:
    """The `nodes` that accept certain pods: how many there are of each size, and why the others do not."""

    nodes: list[Node] = field(default_factory=list)
    rooms: list[tuple[Amounts, int]] = field(default_factory=list)
    excluded: Counter[str] = field(default_factory=Counter)

    @property
    def count(self) -> int:
        """The number of nodes that accept the pods."""
        return sum(count for _, count in self.rooms)

    def held(self, one: Mapping[str, int]) -> int:
        """How many pods with the requests `one` the empty nodes can hold at once."""
        pod = (*one.items(), (PODS, 1))
        return sum(count * times_in(pod, room) for room, count in self.rooms)

    def largest(self, resource: str) -> int:
        """The most of a resource that one node has."""
        return max((room.get(resource, 0) for room, _ in self.rooms), default=0)


class Inventory:
    """The nodes of a cluster. Pods with the same constraints are matched with them once."""

    def __init__(self, nodes: Sequence[Node], down: Sequence[Node] = ()) -> None:
        self.nodes = nodes
        self.down = down
        self._usable: dict[str, Usable] = {}

    def usable(self, pod: Json, flavors: Collection[Flavor] = (), *, with_down: bool = False) -> Usable:
        """The nodes that accept a pod which was admitted with `flavors`."""
        selector = dict(pod.get("nodeSelector") or {})
        tolerations = [*(pod.get("tolerations") or ()), *(one for flavor in flavors for one in flavor.tolerations)]
        for flavor in flavors:
            selector = {**flavor.labels, **selector}
        affinity = (pod.get("affinity") or {}).get("nodeAffinity")
        key = repr((selector, tolerations, affinity, with_down))
        if key not in self._usable:
            constrained = {"nodeSelector": selector, "affinity": {"nodeAffinity": affinity}}
            accepting: list[Node] = []
            excluded: Counter[str] = Counter()
            rooms: Counter[tuple[tuple[str, int], ...]] = Counter()
            for node in (*self.nodes, *(self.down if with_down else ())):
                if why := _exclusion_reason(constrained, tolerations, node):
                    excluded[why] += 1
                else:
                    accepting.append(node)
                    rooms[tuple(sorted(node.allocatable.items()))] += 1 if node.counted else UNLIMITED
            self._usable[key] = Usable(accepting, [(dict(room), count) for room, count in rooms.items()], excluded)
        return self._usable[key]

    def shortfall(
        self,
        workload: Workload,
        flavors: Mapping[str, Collection[Flavor]] = {},
        would_do: Callable[[Workload], bool] = lambda _: True,
    ) -> tuple[str, Shortfall] | None:
        """The first pod set that the nodes cannot hold, as (cause, reason); None if they can hold all.

        `flavors` are those with which each pod set is admitted. `would_do` says whether a change may be suggested.
        """
        for one in workload.pod_sets:
            chosen = flavors.get(one.name, ())
            usable = self.usable(one.pod, chosen)
            held = usable.held(one.scheduled)
            if held >= one.count:
                continue
            certain = not self.down or self.usable(one.pod, chosen, with_down=True).held(one.scheduled) < one.count
            where = " of flavor " + " and ".join(sorted({flavor.name for flavor in chosen})) if chosen else ""
            if held:
                return TOO_FEW_NODES, _too_few(one, held, where, certain=certain)
            message = f"no node can run a pod of {one.name}: {too_small(one, usable, where)}"
            hint = split_hint(workload, one, usable, would_do) or _NO_NODE_HINT
            return NO_NODE, Shortfall(message, hint, one.name, certain)
        return None


_NO_NODE_HINT = "change the requests, tolerations or node selector of the pods, or add a node that matches"


def _exclusion_reason(pod: Json, tolerations: Sequence[Json], node: Node) -> str:
    """Why a node accepts no pod of a pod set, regardless of its size; empty if it does."""
    taints = node.taints if node.ready else [t for t in node.taints if not str(t.get("key")).startswith(_CONDITION)]
    taint = barring_taint(taints, tolerations)
    if taint:
        return f"taint {taint.get('key')}:{taint.get('effect')} not tolerated"
    try:
        matches = node_matches(pod, node.labels, node.name)
    except MalformedSelector:
        matches = False
    return "" if matches else "labels do not match the node selector or affinity"


# Taints that Kubernetes removes when the node is Ready and no longer cordoned.
_CONDITION = "node.kubernetes.io/"


def _too_few(one: PodSet, held: int, where: str, *, certain: bool) -> Shortfall:
    message = (
        f"even when empty, the nodes{where} have room for only {counted_pods(held)} of the {one.count} of {one.name}"
    )
    fewer = f"write numNodes: {held}" if one.step == names.TRAINER else f"reduce {one.name} to {counted_pods(held)}"
    return Shortfall(message, f"{fewer}, or add nodes", one.name, certain)


def too_small(one: PodSet, usable: Usable, where: str = "") -> str:
    """Why no node has room for a single pod, with numbers."""
    excluded = [f"{count} node{'' if count == 1 else 's'}: {why}" for why, count in sorted(usable.excluded.items())]
    if not usable.rooms:
        return ", ".join(excluded) or "no node is Ready"
    rest = f" ({', '.join(excluded)})" if excluded else ""
    short = _short_resource(one.scheduled, usable)
    if not short:
        return f"no node{where} has room for {requests_text(1, one.scheduled, every=True)}{rest}"
    most = bare_amount(short, usable.largest(short))
    which = f"the only node{where}" if usable.count == 1 else f"the largest of the {usable.count} nodes{where}"
    if usable.count >= UNLIMITED:
        which = f"the largest node{where}"
    return f"each requests {amount_with_unit(short, one.scheduled[short])}, and {which} has {most}{rest}"


def _short_resource(requested: Mapping[str, int], usable: Usable) -> str:
    """A resource of which no node has as much as one pod requests, GPUs first; empty if there is none."""
    short = [name for name, amount in requested.items() if amount > usable.largest(name)]
    return min(short, key=lambda name: (not is_gpu(name), "/" not in name, name), default="")


def split_hint(workload: Workload, one: PodSet, usable: Usable, would_do: Callable[[Workload], bool]) -> str:
    """More and smaller pods with the same number of devices in all, if the nodes can hold those; otherwise empty."""
    device = _short_resource(one.scheduled, usable)
    trainers = [each for each in workload.pod_sets if each.step == names.TRAINER]
    if "/" not in device or trainers != [one]:
        return ""
    before = one.scheduled[device]
    for share in filter(lambda each: before % each == 0, range(min(before, usable.largest(device)), 0, -1)):
        count = one.count * before // share
        # The other requests stay if they can; else each pod gets its part of them.
        for scaled in (one.one, {name: -(-amount * share // before) for name, amount in one.one.items()}):
            smaller = with_size(workload, one.name, count, {**scaled, device: share})
            if usable.held({**scaled, device: share}) >= count and would_do(smaller):
                changed = {name: n for name, n in scaled.items() if n != one.one[name] and name != device}
                parts = [f"{name}: {bare_amount(name, n)}" for name, n in ({device: share} | changed).items()]
                return f"write numNodes: {count} and, per node, {', '.join(parts)}"
    return ""


# Whether what removes nodes may end pods of a job: Karpenter and the cluster autoscaler do, unless told otherwise.
#
# Source: kubernetes-sigs/karpenter pkg/apis/v1/labels.go and pkg/utils/pod/scheduling.go; kubernetes/autoscaler
# cluster-autoscaler/utils/drain/drain.go and simulator/utilization/info.go.


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
            path: Path = ("spec", "replicatedJobs", one.index)
            yield Finding("PodsMayBeEvicted", "warning", _WHY[cluster.scaler].format(one.name), hint, path)


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
    for volume in objects(one.pod.get("volumes")):  # By default, the autoscaler keeps nodes with local volumes.
        directory = volume.get("emptyDir")
        if "hostPath" in volume or (isinstance(directory, dict) and directory.get("medium") != "Memory"):
            return False
    shares = [_share(one, node) for node in nodes if not _is_kept_node(node, cluster)]
    return bool(shares) and max(shares) < _THRESHOLD


def _is_kept_node(node: Node, cluster: Cluster) -> bool:
    annotations = mapping(mapping((cluster.dump.get("Node", "", node.name) or {}).get("metadata")).get("annotations"))
    return annotations.get(_KEPT_NODE) == "true"


def _share(one: PodSet, node: Node) -> float:
    """How much of a node one pod requests: of its GPUs if it has any, or else of its CPU or memory."""
    counted = [name for name, amount in node.allocatable.items() if is_gpu(name) and amount]
    counted = counted or [name for name in ("cpu", "memory") if node.allocatable.get(name)]
    return max((one.scheduled.get(name, 0) / node.allocatable[name] for name in counted), default=1.0)
