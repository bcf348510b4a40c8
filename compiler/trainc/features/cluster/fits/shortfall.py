"""Why a job never runs: what no node or queue has for it, and the nearest change that would do.

The first part checks pods against the nodes, as kube-scheduler would, as far as the result is certain: if the nodes, even
when empty, cannot hold every pod of a pod set at once, its pods will never all run together. Running workloads, other jobs
and affinity between pods are not taken into account.
Source: kubernetes/kubernetes pkg/scheduler/framework/plugins (nodeaffinity, tainttoleration, noderesources); Kueue adds
the labels and tolerations of the chosen flavors to admitted pods (kubernetes-sigs/kueue pkg/podset/podset.go).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from trainc.api.findings import Hint, did_you_mean
from trainc.api.kube import Json, documents, names, objects, selectors
from trainc.api.records import dataclass, field
from trainc.features.cluster.fits import assigner, scheduling
from trainc.features.cluster.fits.cluster import ClusterQueue, Flavor, Node
from trainc.features.cluster.fits.placement import NO_LEVEL, NoPlace
from trainc.features.cluster.fits.pods import (
    HOSTNAME,
    PODS,
    UNLIMITED,
    Amounts,
    amount_with_unit,
    barring_taint,
    counted_pods,
    is_gpu,
    level_word,
    near_label,
    node_matches,
    out_of_range,
    over_limit,
    requests_text,
    times_in,
    written_amount,
)
from trainc.features.cluster.fits.state import State
from trainc.features.cluster.fits.workload import PodSet, Workload, part_of, with_size, with_tolerations, with_topology

NO_NODE, TOO_FEW_NODES = "no-node", "too-few-nodes"
_SMALLER = "request less per pod, or add larger nodes to the flavor"
# A quota of less memory is one whose unit was forgotten: of GiB up to the second number, else of MiB.
_BYTES_MEANT = 1 << 28
_GIBIBYTES_MEANT = 1 << 20
# Of how many queues of a namespace one is looked for that would admit a job.
_MOST_TRIED = 8


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Why a job does not fit, what to do about it, and the pod set in question.

    A shortfall that is not `certain` may pass: nodes may be added or become ready. `resource` is what each node has too
    little of.
    """

    message: str
    hint: str
    pod_set: str = ""
    certain: bool = True
    resource: str = ""


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
                return TOO_FEW_NODES, _too_few(pod_set, held, where, certain=certain)
            message = f"no node can run a pod of {pod_set.name}: {too_small(pod_set, usable, where)}"
            hint = split_hint(workload, pod_set, usable, would_do) or _to_match(usable, _NO_NODE_HINT)
            return NO_NODE, Shortfall(message, hint, pod_set.name, certain, _short_resource(pod_set.scheduled, usable))
        return None


_NO_NODE_HINT = "change the requests, tolerations or node selector of the pods, or add a node that matches"


def _to_match(usable: Usable, otherwise: str) -> str:
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
        return f"taint {taint.get('key')}:{taint.get('effect')}{_NOT_TOLERATED}"
    try:
        matches = node_matches(pod, node.labels, node.name)
    except selectors.MalformedSelector:
        matches = False
    return "" if matches else _NO_MATCH


_NO_MATCH = "labels do not match the node selector or affinity"
_NOT_TOLERATED = " not tolerated"


def _other_flavor(flavor: Flavor) -> str:
    labels = ", ".join(f"{key}: {value}" for key, value in flavor.labels.items())
    return f"labels do not match nodeLabels {{{labels}}} of ResourceFlavor {flavor.name}"


# Taints that Kubernetes removes when the node is Ready and no longer cordoned.
_CONDITION = "node.kubernetes.io/"


def _too_few(pod_set: PodSet, held: int, where: str, *, certain: bool) -> Shortfall:
    room = f"{counted_pods(held)} of the {pod_set.count} of {pod_set.name}"
    message = f"even when empty, the nodes{where} have room for only {room}"
    return Shortfall(message, f"{_reduce(pod_set, held)}, or add nodes", pod_set.name, certain)


def _reduce(pod_set: PodSet, count: int, other_trainers: int = 0) -> str:
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
    short = _short_resource(pod_set.scheduled, usable)
    if not short:
        return f"no node{where} has room for {requests_text(1, pod_set.scheduled, everything=True)}{others}"
    most = written_amount(short, usable.largest(short))
    which = f"the only node{where}" if usable.count == 1 else f"the largest of the {usable.count} nodes{where}"
    if usable.count >= UNLIMITED:
        which = f"the largest node{where}"
    others_there = sorted({name for room, _ in usable.rooms for name in room if name not in pod_set.scheduled})
    near = [name for name in others_there if did_you_mean(short, [name], 0.9)] if not usable.largest(short) else []
    most += f" and, under another name, {near[0]}" if near else ""
    return f"each requests {amount_with_unit(short, pod_set.scheduled[short])}, and {which} has {most}{others}"


def _short_resource(requested: Mapping[str, int], usable: Usable) -> str:
    """A resource of which no node that accepts the pods has as much as one requests, GPUs first; empty if there is none."""
    short = [name for name, amount in requested.items() if usable.rooms and amount > usable.largest(name)]
    return min(short, key=lambda name: (not is_gpu(name), "/" not in name, name), default="")


def split_hint(workload: Workload, pod_set: PodSet, usable: Usable, would_do: Callable[[Workload], bool]) -> str:
    """More and smaller pods with the same number of devices in all, if the nodes can hold those; otherwise empty."""
    device = _short_resource(pod_set.scheduled, usable)
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


PARTIAL_SLICE, GAPS = "partial-slice", "gaps"


def unplaced_pods(pod_set: PodSet, placed: int) -> Shortfall:
    """Why pods are left when Kueue places whole slices only: they keep their scheduling gate."""
    size = pod_set.topology.slices[0][1]
    message = (
        f"Kueue before 0.19.6 places only whole slices of {size} pods, so {pod_set.count - placed} of the "
        f"{counted_pods(pod_set.count)} of {pod_set.name} are never scheduled"
    )
    return Shortfall(message, f"{_reduce(pod_set, placed)}, or another slice size", pod_set.name)


def left_in_domain(pod_set: PodSet, domain: str, count: int, held: int) -> Shortfall:
    """Why pods may be left in the domain in which Kueue places them: it looks at the sum of the nodes there."""
    message = (
        f"Kueue before 0.20 adds up the nodes of {domain}, where it places {counted_pods(count)} of {pod_set.name} if the "
        f"cluster is idle; one by one, they have room for {held}, and the others keep the quota and wait"
    )
    hint = f"end the levels of the Topology with {HOSTNAME}, update Kueue, or request what divides a node evenly"
    return Shortfall(message, hint, pod_set.name, certain=False)


def shortfall(entry: scheduling.Entry, queue: ClusterQueue, state: State, inventory: Inventory) -> Shortfall:
    """What prevents a job from being admitted to its queue."""
    assignment = entry.assignment or assigner.Assignment()
    return _Explainer(entry.workload, assignment, queue, state, inventory).explain(entry.cause)


@dataclass(frozen=True, slots=True)
class _Explainer:
    workload: Workload
    assignment: assigner.Assignment
    queue: ClusterQueue
    state: State
    inventory: Inventory

    def explain(self, cause: str) -> Shortfall:
        explain = {
            scheduling.NAMESPACE: self._namespace,
            scheduling.RESOURCES: self._over_limit,
            scheduling.LIMIT_RANGE: self._out_of_range,
            assigner.NOT_COVERED: self._not_covered,
            assigner.TOO_MUCH: self._too_much,
            assigner.NO_MATCH: self._no_match,
            assigner.TOPOLOGY: self._no_place,
            assigner.NO_TOPOLOGY: self._no_topology,
            assigner.SEVERAL: self._several,
            scheduling.NO_LONGER: self._asks_nothing,
        }.get(cause)
        return explain() if explain else Shortfall(f"Kueue can never admit it ({cause})", "check the ClusterQueue")

    @property
    def _queue_name(self) -> str:
        return f"ClusterQueue {self.queue.name}"

    def _namespace(self) -> Shortfall:
        name = self.workload.namespace
        if self.queue.namespaces is None:
            message = f"{self._queue_name} has no namespaceSelector, so it accepts jobs from no namespace"
            return Shortfall(message, "write namespaceSelector: {} to accept every namespace")
        if name not in self.state.cluster.namespaces:
            return Shortfall(f"there is no namespace {name}", "create it, or export the namespaces again")
        hint = "set namespaceSelector: {} on the ClusterQueue to accept every namespace"
        selector, spaces = self.queue.namespaces or {}, self.state.cluster.namespaces
        for one in objects(selector.get("matchExpressions")):
            key, values = str(one.get("key")), [str(value) for value in documents.items(one.get("values"))]
            own, known = spaces[name].get(key, ""), {space.get(key, "") for space in spaces.values()}
            if one.get("operator") == "In" and own not in values:
                wrong = next((v for v in values if v not in known and did_you_mean(v, [own])), "")
                instead = f"for {wrong}" if wrong else f"as one more value of {key}"
                hint = f"write {own} {instead} in its namespaceSelector" if own else f"label the namespace with {key}"
        if labels := selector.get("matchLabels"):
            hint = f"label the namespace with {', '.join(f'{key}: {value}' for key, value in labels.items())}"
            for key, value in labels.items():
                known = {space[key] for space in spaces.values() if key in space}
                if len(known) == 1 and value not in known:
                    hint = f'write {key}: "{known.pop()}" in its namespaceSelector: no namespace here has another one'
        message = f"{self._queue_name} does not accept jobs from namespace {name} (see its namespaceSelector)"
        return Shortfall(message, hint)

    def _over_limit(self) -> Shortfall:
        pod_set, path, over = next((s, p, n) for s in self.workload.pod_sets for p, n in over_limit(s.pod))
        where = part_of(pod_set, path)
        hint = "raise the limit; if the manifest sets none, it comes from a LimitRange"
        return Shortfall(f"{where} requests more {' and '.join(over)} than its limit", hint, pod_set.name)

    def _out_of_range(self) -> Shortfall:
        limits = self.state.cluster.limits[self.workload.namespace]
        pod_set, path, outside, bound = next(
            (s, p, n, b) for s in self.workload.pod_sets for p, n, b in out_of_range(s.pod, limits)
        )
        where, side = part_of(pod_set, path), "above the max" if bound == "max" else "below the min"
        message = f"{' and '.join(outside)} of {where} {'are' if len(outside) > 1 else 'is'} {side} of a LimitRange"
        hint = f"request {'less' if bound == 'max' else 'more'}, or change the LimitRange"
        return Shortfall(message, hint, pod_set.name)

    def _not_covered(self) -> Shortfall:
        assigned = next(item for item in self.assignment.pod_sets if item.uncovered)
        message = f"{self._queue_name} has no quota for {assigned.uncovered}, which the pods of {assigned.pod_set.name} request"
        covered = {resource for group in self.queue.groups for resource in group.covered}
        near = did_you_mean(assigned.uncovered, covered, 0.9)
        add = f"add {assigned.uncovered} to coveredResources of the ClusterQueue"
        hint = f"{near} Otherwise, {add}" if near else f"remove the request, or {add}"
        return Shortfall(message, hint, assigned.pod_set.name)

    def _too_much(self) -> Shortfall:
        assigned, flavor, resource, requested, most = self._shortest()
        key = (flavor, resource)
        if len(self.queue.flavors) == 1:  # Later pods take from it, too.
            requested = max(requested, sum(pod_set.total.get(resource, 0) for pod_set in self.workload.pod_sets))
        nominal = min(most, self.queue.quotas[key].nominal if key in self.queue.quotas else 0)
        where = f" in flavor {flavor}" if len(self.queue.flavors) > 1 else ""
        message = f"the job requests {amount_with_unit(resource, requested)}, and {self._queue_name} can provide at most {written_amount(resource, most)}{where}: "
        borrowed = f"{written_amount(resource, most - nominal)} borrowed from cohort {self.queue.cohort}"
        of_both = f"{written_amount(resource, nominal)} of its own, {borrowed}"
        message += of_both if self.queue.cohort else "all from its own quota"
        if alone := self._larger_than_nodes(assigned.pod_set, flavor, resource):
            return alone
        fewer, amount = self._fewer(assigned.pod_set, resource)
        if fewer:
            total = written_amount(resource, requested - amount)
            message += f"; {total} would fit: {self._size(fewer[0], fewer[1])}"
        hint = f"raise the nominalQuota of {self._queue_name} for {resource} in flavor {flavor} by {written_amount(resource, requested - most)}"
        if resource in ("memory", "ephemeral-storage") and 0 < most < _BYTES_MEANT:
            unit = "Gi" if requested <= most << 30 and most < _GIBIBYTES_MEANT else "Mi"
            hint = (
                f"a quantity without a unit counts bytes: write {most}{unit} for {resource} if that is meant; or {hint}"
            )
        # More quota alone is no help where the nodes would not hold the pods.
        chosen = {item.pod_set.name: [self.state.cluster.flavors[flavor]] for item in self.assignment.pod_sets}
        if self.inventory.nodes and self.inventory.shortfall(self.workload, chosen):
            hint = f"{hint}, and add nodes: the flavor's do not hold the job"
        cluster, own = self.state.cluster, self.queue.cohort
        others = {*cluster.cohorts, *(q.cohort for q in cluster.cluster_queues.values() if q.name != self.queue.name)}
        if near := did_you_mean(own, others - {""}, 0.75) if own and own not in others else "":
            message += f"; no other ClusterQueue has cohortName {own}"
            hint = Hint(f"{near.replace('mean', 'mean cohortName')} Or {hint}", trait="alone")
        elif fewer:
            hint = f"{_reduce(*fewer, self._other_trainers(fewer[0]))}, or {hint}"
        return Shortfall(message, hint, fewer[0].name if fewer else assigned.pod_set.name)

    def _shortest(self) -> tuple[assigner.Assigned, str, str, int, int]:
        """The closest flavor and its scarcest resource, with the requested and the largest possible amount."""
        candidates = [
            (
                max((requested / max(most, 1), name) for name, (requested, most) in attempt.short.items()),
                flavor,
                assigned,
            )
            for assigned in self.assignment.pod_sets
            for flavor, attempt in assigned.attempts.items()
            if attempt.short
        ]
        (_, resource), flavor, assigned = min(candidates, key=lambda item: (item[0], item[1]))
        requested, most = assigned.attempts[flavor].short[resource]
        return assigned, flavor, resource, requested, most

    def _fewer(self, failing: PodSet, resource: str = "") -> tuple[tuple[PodSet, int] | None, int]:
        """The pod set to shrink with the largest size that would fit, and how much of `resource` that saves."""
        for name in dict.fromkeys((failing.name, *(trainer.name for trainer in self._trainers))):
            pod_set = next(pod_set for pod_set in self.workload.pod_sets if pod_set.name == name)
            count = scheduling.most_pods(self.workload, name, self.queue, self.state) if pod_set.count > 1 else 0
            if count:
                return (pod_set, count), (pod_set.count - count) * pod_set.per_pod.get(resource, 0)
        return None, 0

    @property
    def _trainers(self) -> list[PodSet]:
        """The pod sets that a TrainJob's `numNodes` counts."""
        return [pod_set for pod_set in self.workload.pod_sets if pod_set.step == names.TRAINER]

    def _other_trainers(self, pod_set: PodSet) -> int:
        return sum(trainer.count for trainer in self._trainers if trainer.name != pod_set.name)

    def _size(self, pod_set: PodSet, count: int) -> str:
        if pod_set.step != names.TRAINER:
            return f"{counted_pods(count)} of {pod_set.name}"
        return f"numNodes {count + self._other_trainers(pod_set)}"

    def _no_match(self) -> Shortfall:
        assigned = next((item for item in reversed(self.assignment.pod_sets) if item.failed), None)
        if assigned is None:
            return Shortfall(f"{self._queue_name} has no flavor for it", "check the flavors of the ClusterQueue")
        reasons = [f"{name}: {attempt.reason}" for name, attempt in assigned.attempts.items() if attempt.reason]
        message = f"no flavor of {self._queue_name} accepts the pods of {assigned.pod_set.name}: {'; '.join(reasons)}"
        return Shortfall(message, self._flavor_hint(assigned), assigned.pod_set.name)

    def _flavor_hint(self, assigned: assigner.Assigned) -> str:
        flavors = [flavor for name in assigned.attempts if (flavor := self.state.cluster.flavors.get(name))]
        for flavor in flavors:
            taints = [taint for taint in flavor.taints if taint.get("effect") in ("NoSchedule", "NoExecute")]
            added = [{"key": t.get("key"), "operator": "Exists", "effect": t.get("effect")} for t in taints]
            if added and self._would_do(with_tolerations(self.workload, added)):
                texts = ", ".join(
                    "{" + ", ".join(f"{k}: {v}" for k, v in toleration.items()) + "}" for toleration in added
                )
                return f"add to ResourceFlavor {flavor.name}: tolerations: [{texts}], which Kueue gives to the pods it admits"
        topology = assigned.pod_set.topology
        levels = [
            level
            for flavor in flavors
            if flavor.name in self.state.trees
            for level in self.state.trees[flavor.name].levels
        ]
        requested = filter(None, (topology.required, topology.preferred))
        if near := next((did_you_mean(level, levels) for level in requested if level not in levels), ""):
            return near
        softened = with_topology(self.workload, assigned.pod_set.name, type(topology)())
        if topology.explicit and self._would_do(softened):
            return "remove the topology annotation from the pods: without it, they fit"
        near = near_label(assigned.pod_set.pod, [flavor.labels for flavor in flavors])
        use = f"use the queue {name}, which has them; or " if (name := self._other_queue()) else near
        return f"{use}change the pods to match one of the flavors, as with another runtime, or add a flavor that matches them to the ClusterQueue"

    def _other_queue(self) -> str:
        """Return another queue of the namespace that would admit the job, one of the first few."""
        cluster, namespace = self.state.cluster, self.workload.namespace
        for name in sorted(name for space, name in cluster.local_queues if space == namespace)[:_MOST_TRIED]:
            queue = cluster.cluster_queues.get(cluster.local_queues[namespace, name].cluster_queue)
            if queue is None or queue is self.queue or cluster.faults(queue):
                continue
            if scheduling.would_be_admitted(self.workload, queue, self.state):
                return name
        return ""

    def _no_place(self) -> Shortfall:
        assigned = next(item for item in self.assignment.pod_sets if item.no_place)
        pod_set, lacking = assigned.pod_set, assigned.no_place
        assert lacking is not None
        if not lacking.reason and (alone := self._larger_than_nodes(pod_set, assigned.tree)):
            return alone
        of_level = lacking.reason == NO_LEVEL
        smaller = "correct the levels of its Topology, or label its nodes" if of_level else _SMALLER
        message = self._room(assigned, lacking)
        for annotation, softer in scheduling.softer_topologies(pod_set.topology, self.state.trees[assigned.tree]):
            if self._would_do(with_topology(self.workload, pod_set.name, softer)):
                kind = annotation.partition(":")[0].removeprefix("podset-")
                fewer, _ = self._fewer(pod_set)
                less = f"{_reduce(*fewer, self._other_trainers(fewer[0]))}; or, " if fewer else ""
                hint = f"{less}use this annotation on the pods instead, where their runtime has another: kueue.x-k8s.io/{annotation}"
                return Shortfall(f"{message}; {kind} would fit", hint, pod_set.name)
        fewer, _ = self._fewer(pod_set)
        if fewer:
            message = f"{message}; {counted_pods(fewer[1])} would fit: {self._size(*fewer)}"
            return Shortfall(message, _reduce(*fewer, self._other_trainers(fewer[0])), pod_set.name)
        return Shortfall(message, smaller, pod_set.name)

    def _larger_than_nodes(self, pod_set: PodSet, flavor: str, resource: str | None = None) -> Shortfall | None:
        """Why no node of a flavor has room for a pod, which no quota helps if it is for want of that `resource`."""
        usable = self.inventory.usable(pod_set.pod, [self.state.cluster.flavors[flavor]])
        short = _short_resource(pod_set.scheduled, usable)
        if usable.held(pod_set.per_pod) or not (resource is None or (short and usable.largest(short))):
            return None
        why = too_small(pod_set, usable, f" of flavor {flavor}")
        hint = split_hint(self.workload, pod_set, usable, self._would_do) or _to_match(usable, _SMALLER)
        return Shortfall(f"no node can run a pod of {pod_set.name}: {why}", hint, pod_set.name, resource=short)

    def _room(self, assigned: assigner.Assigned, lacking: NoPlace) -> str:
        pod_set = assigned.pod_set
        if lacking.reason:
            return f"the pods of {pod_set.name} do not fit into flavor {assigned.tree}: {lacking.reason}"
        pods = requests_text(lacking.size, pod_set.per_pod)
        slices = lacking.size > 1
        needed = f"{lacking.count} slices of {pods}" if slices else requests_text(lacking.count, pod_set.per_pod)
        if lacking.tail:
            needed += f" and one of {lacking.tail}"
        if lacking.level:
            return f"no {level_word(lacking.level)} has room for {needed}; the largest has room for {lacking.most}"
        return f"the nodes of flavor {assigned.tree} do not have room for {needed}; together they have room for {lacking.most}"

    def _would_do(self, changed: Workload) -> bool:
        return scheduling.would_be_admitted(changed, self.queue, self.state)

    def _no_topology(self) -> Shortfall:
        name = next(assigned.pod_set.name for assigned in self.assignment.pod_sets if assigned.error)
        if not self.queue.flavors:
            return Shortfall(
                f"{self._queue_name} has no flavors, so it can admit nothing", "add spec.resourceGroups to it"
            )
        message = f"the pods of {name} request a topology, and none of the resources they request has a flavor with one"
        return Shortfall(message, "request a resource whose flavors have a topology", name)

    def _several(self) -> Shortfall:
        assigned = next(item for item in self.assignment.pod_sets if item.error)
        flavors = sorted({c.flavor for c in assigned.flavors.values() if c.flavor in self.state.trees})
        message = f"the pods of {assigned.pod_set.name} get flavors with different topologies: {' and '.join(flavors)}"
        hint = "put resources that pods request together into one resource group of the ClusterQueue"
        return Shortfall(message, hint, assigned.pod_set.name)

    def _asks_nothing(self) -> Shortfall:
        pod_sets = (assigned.pod_set for assigned in self.assignment.pod_sets if assigned.placement)
        name = next((pod_set.name for pod_set in pod_sets if not pod_set.per_pod), "")
        idle = f", and the pods of {name} request none" if name else ""
        message = f"Kueue assigns pods to a topology only if they request resources{idle}"
        return Shortfall(message, "add a request to the pods, such as cpu: 100m", name)
