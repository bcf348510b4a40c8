"""Whether the nodes of a cluster can hold pods, as kube-scheduler would tell, as far as the result is certain.

If the nodes, even when empty, cannot hold every pod of a pod set at once, its pods will never all run together. Running
workloads, other jobs and affinity between pods are not taken into account.
Source: kubernetes/kubernetes pkg/scheduler/framework/plugins (nodeaffinity, tainttoleration, noderesources); Kueue adds
the labels and tolerations of the chosen flavors to admitted pods (kubernetes-sigs/kueue pkg/podset/podset.go).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from trainc.api.findings import Hint, did_you_mean
from trainc.api.kube import Json, names, selectors
from trainc.api.records import dataclass, field
from trainc.features.cluster.fits.cluster import Flavor, Node
from trainc.features.cluster.fits.pods import (
    PODS,
    UNLIMITED,
    Amounts,
    amount_with_unit,
    barring_taint,
    counted_pods,
    is_gpu,
    node_matches,
    requests_text,
    times_in,
    written_amount,
)
from trainc.features.cluster.fits.workload import PodSet, Workload, with_size

NO_NODE, TOO_FEW_NODES = "no-node", "too-few-nodes"


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Why a job does not fit, what to do about it, and the pod set in question.

    A shortfall that is not `certain` may pass: nodes may be added or become ready. `resource` is what each node has too
    little of, `selects` the label by which the pods select none of the nodes.
    """

    message: str
    hint: str
    pod_set: str = ""
    certain: bool = True
    resource: str = ""
    selects: str = ""


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

    def held(self, per_pod: Mapping[str, int]) -> int:
        """How many pods with the requests `per_pod` the empty nodes can hold at once."""
        pod = (*per_pod.items(), (PODS, 1))
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
        tolerations = [
            *(pod.get("tolerations") or ()),
            *(toleration for flavor in flavors for toleration in flavor.tolerations),
        ]
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
                    labels = [f for f in flavors if why == _NO_MATCH and not f.labels.items() <= node.labels.items()]
                    excluded[_other_flavor(labels[0]) if labels else why] += 1
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
        for pod_set in workload.pod_sets:
            chosen = flavors.get(pod_set.name, ())
            usable = self.usable(pod_set.pod, chosen)
            held = usable.held(pod_set.scheduled)
            if held >= pod_set.count:
                continue
            certain = (
                not self.down
                or self.usable(pod_set.pod, chosen, with_down=True).held(pod_set.scheduled) < pod_set.count
            )
            where = " of flavor " + " and ".join(sorted({flavor.name for flavor in chosen})) if chosen else ""
            if held:
                room = f"{counted_pods(held)} of the {pod_set.count} of {pod_set.name}"
                message = f"even when empty, the nodes{where} have room for only {room}"
                hint = self.with_node(f"{fewer_pods(pod_set, held)}, or add nodes", usable)
                return TOO_FEW_NODES, Shortfall(message, hint, pod_set.name, certain)
            message = f"no node can run a pod of {pod_set.name}: {too_small(pod_set, usable, where)}"
            short = short_resource(pod_set.scheduled, usable)
            hint = split_hint(workload, pod_set, usable, would_do) or to_match(usable, _NO_NODE_HINT)
            hint = self.with_node(hint, usable, short, chosen)
            return NO_NODE, Shortfall(message, hint, pod_set.name, certain, short)
        return None

    def with_node(self, hint: str, usable: Usable, short: str = "", flavors: Collection[Flavor] = ()) -> str:
        """A hint that knows the node with most of what is `short`, the one that accepts no pod, or the flavor that no node is of."""
        other = [flavor for flavor in flavors if usable.excluded.keys() == {_other_flavor(flavor)}]
        if other and not usable.rooms:
            return Hint(hint, objects=((f"ResourceFlavor {other[0].name}", ("spec", "nodeLabels")),))
        alike = len(usable.rooms) + len(usable.excluded) == 1
        if usable.nodes and (short or alike):
            largest = max(usable.nodes, key=lambda node: node.allocatable.get(short, 0))
            name = next(iter(_near_names(short, largest.allocatable)), short)
            return Hint(hint, objects=((f"Node {largest.name}", ("status", "allocatable", name)),))
        every = [*self.nodes, *self.down]
        for node in every:
            for n, taint in enumerate(node.taints):
                if _barred(taint) in usable.excluded:
                    return Hint(hint, objects=((f"Node {node.name}", ("spec", "taints", n)),))
        return Hint(hint, objects=((f"Node {every[0].name}", ("metadata", "labels")),)) if len(every) == 1 else hint


_NO_NODE_HINT = "change the requests, tolerations or node selector of the pods, or add a node that matches"


def to_match(usable: Usable, otherwise: str) -> str:
    """What lets pods run where each node has a taint that they do not tolerate."""
    taints = [why.split()[1].rpartition(":") for why in sorted(usable.excluded) if why.endswith(_NOT_TOLERATED)]
    if usable.rooms or not taints or len(taints) != len(usable.excluded):
        return otherwise
    added = ", ".join(f"{{key: {key}, operator: Exists, effect: {effect}}}" for key, _, effect in taints)
    return f"if the pods may run there, add to their tolerations: [{added}]; otherwise, correct the taint of the nodes"


def _exclusion_reason(pod: Json, tolerations: Sequence[Json], node: Node) -> str:
    """Why a node accepts no pod of a pod set, regardless of its size; empty if it does."""
    taints = node.taints if node.ready else [t for t in node.taints if not str(t.get("key")).startswith(_CONDITION)]
    taint = barring_taint(taints, tolerations)
    if taint:
        return _barred(taint)
    try:
        matches = node_matches(pod, node.labels, node.name)
    except selectors.MalformedSelector:
        matches = False
    return "" if matches else _NO_MATCH


def _barred(taint: Json) -> str:
    return f"taint {taint.get('key')}:{taint.get('effect')}{_NOT_TOLERATED}"


_NO_MATCH = "labels do not match the node selector or affinity"
_NOT_TOLERATED = " not tolerated"


def _other_flavor(flavor: Flavor) -> str:
    labels = ", ".join(f"{key}: {value}" for key, value in flavor.labels.items())
    return f"labels do not match nodeLabels {{{labels}}} of ResourceFlavor {flavor.name}"


# Taints that Kubernetes removes when the node is Ready and no longer cordoned.
_CONDITION = "node.kubernetes.io/"


def fewer_pods(pod_set: PodSet, count: int, other_trainers: int = 0) -> str:
    """How to request fewer pods: `numNodes` counts the pods of all trainers."""
    if pod_set.step == names.TRAINER:
        return f"write numNodes: {count + other_trainers}"
    return f"reduce {pod_set.name} to {counted_pods(count)}"


def too_small(pod_set: PodSet, usable: Usable, where: str = "") -> str:
    """Why no node has room for a single pod, with numbers."""
    excluded = [f"{count} node{'' if count == 1 else 's'}: {why}" for why, count in sorted(usable.excluded.items())]
    if not usable.rooms:
        return ", ".join(excluded) or "no node is Ready"
    others = f" ({', '.join(excluded)})" if excluded else ""
    short = short_resource(pod_set.scheduled, usable)
    if not short:
        return f"no node{where} has room for {requests_text(1, pod_set.scheduled, everything=True)}{others}"
    most = written_amount(short, usable.largest(short))
    which = f"the only node{where}" if usable.count == 1 else f"the largest of the {usable.count} nodes{where}"
    if usable.count >= UNLIMITED:
        which = f"the largest node{where}"
    others_there = {name for room, _ in usable.rooms for name in room if name not in pod_set.scheduled}
    near = _near_names(short, others_there) if not usable.largest(short) else []
    most += f" and, under another name, {near[0]}" if near else ""
    return f"each requests {amount_with_unit(short, pod_set.scheduled[short])}, and {which} has {most}{others}"


def _near_names(short: str, there: Collection[str]) -> list[str]:
    """Resources that a node has and whose names are almost that of one which it lacks."""
    return [name for name in sorted(there) if did_you_mean(short, [name], 0.9)] if short and short not in there else []


def short_resource(requested: Mapping[str, int], usable: Usable) -> str:
    """A resource of which no node that accepts the pods has as much as one requests, GPUs first; empty if there is none."""
    short = [name for name, amount in requested.items() if usable.rooms and amount > usable.largest(name)]
    return min(short, key=lambda name: (not is_gpu(name), "/" not in name, name), default="")


def split_hint(workload: Workload, pod_set: PodSet, usable: Usable, would_do: Callable[[Workload], bool]) -> str:
    """More and smaller pods with the same number of devices in all, if the nodes can hold those; otherwise empty."""
    device = short_resource(pod_set.scheduled, usable)
    trainers = [trainer for trainer in workload.pod_sets if trainer.step == names.TRAINER]
    if "/" not in device or trainers != [pod_set]:
        return ""
    before = pod_set.scheduled[device]
    for share in filter(lambda divisor: before % divisor == 0, range(min(before, usable.largest(device)), 0, -1)):
        count = pod_set.count * before // share
        # The other requests stay if they can; else each pod gets its part of them.
        for scaled in (
            pod_set.per_pod,
            {name: -(-amount * share // before) for name, amount in pod_set.per_pod.items()},
        ):
            smaller = with_size(workload, pod_set.name, count, {**scaled, device: share})
            if usable.held({**scaled, device: share}) >= count and would_do(smaller):
                changed = {name: n for name, n in scaled.items() if n != pod_set.per_pod[name] and name != device}
                parts = [f"{name}: {written_amount(name, n)}" for name, n in ({device: share} | changed).items()]
                return f"write numNodes: {count} and, per node, {', '.join(parts)}"
    return ""
