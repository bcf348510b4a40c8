"""The topology of a flavor: a tree of domains with the free capacity of each.

Source: kubernetes-sigs/kueue pkg/cache/scheduler/{tas_topology_tree,tas_nodes_cache,tas_flavor_snapshot}.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from trainc.api.cluster import kueue_versions
from trainc.api.kube import Json, selectors
from trainc.api.records import dataclass, field
from trainc.features.cluster.fits.cluster import Cluster, Flavor, Node
from trainc.features.cluster.fits.pods import (
    HOSTNAME,
    PODS,
    Amounts,
    add_amounts,
    barring_taint,
    node_matches,
    times_in,
)
from trainc.features.cluster.fits.workload import PodSet

Values: TypeAlias = tuple[str, ...]
# Pods per domain, keyed by the domain's values, or by the hostname alone if that is the lowest level.
Placement: TypeAlias = tuple[tuple[Values, int], ...]
# The usage of domains, as several mappings to be added up.
Usage: TypeAlias = Sequence[Mapping[Values, Amounts]]


@dataclass(slots=True, eq=False)
class Domain:
    """A domain, identified by a path of label values. `leaf` is its index among the leaves, or -1."""

    index: int
    values: Values
    leaf: int = -1
    parent: Domain | None = None
    children: list[Domain] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Leaf:
    """A domain without others below it: the total allocatable resources of its nodes; `node` is set if it is a node.

    Leaves of the same `kind` have the same capacity.
    """

    domain: Domain
    key: Values
    node: Node | None
    capacity: Amounts = field(default_factory=dict)
    kind: int = 0


class Tree:
    """The domains of a flavor's nodes. `levels` are label keys from the top; `by_level` has the domains of each.

    If the lowest level is wider than a node and `nodes_count`, there is one more below it, which requests cannot name:
    that of the nodes (`hidden`). Pods are then counted by node, but placements name a domain of the lowest `levels`, and
    its usage is not known by node. `rooms` has the capacity of those domains.
    """

    def __init__(
        self,
        flavor: Flavor,
        levels: Sequence[str],
        nodes: Sequence[Node],
        kueue: str = kueue_versions.DEFAULT,
        *,
        nodes_count: bool,
    ) -> None:
        self.flavor = flavor
        self.levels = tuple(levels)
        self.kueue = kueue
        self.by_hostname = self.levels[-1] == HOSTNAME
        self.hidden = nodes_count and not self.by_hostname
        self.by_level: list[list[Domain]] = [[] for _ in range(len(levels) + self.hidden)]
        self.rooms: dict[Values, Amounts] = {}
        self.leaves: list[Leaf] = []
        self._leaf_of: dict[Values, Leaf] = {}
        self._domain_of: dict[Values, Domain] = {}
        self._matching: dict[str, list[Leaf]] = {}
        # How often pods with some requests fit into a leaf, by the requests and the leaf's key, with the usage that it was for.
        self.counted: dict[tuple[tuple[str, int], ...], dict[Values, tuple[Amounts, int]]] = {}
        for node in nodes:
            self._add(node)
        kinds: dict[tuple[tuple[str, int], ...], int] = {}
        for leaf in self.leaves:
            leaf.kind = kinds.setdefault(tuple(sorted(leaf.capacity.items())), len(kinds))
        for level in self.by_level:
            level.sort(key=lambda domain: domain.values)
        for domain in self._domain_of.values():
            domain.children.sort(key=lambda child: child.values)

    @property
    def size(self) -> int:
        """The number of domains on all levels."""
        return len(self._domain_of)

    @property
    def by_node(self) -> bool:
        """Return whether each leaf is a node, so that its taints and labels count."""
        return self.by_hostname or self.hidden

    def leaves_in(self, key: Values) -> list[Leaf]:
        """The leaves of the domain that a placement names; none if there is no such domain."""
        if self.hidden:
            return [self.leaves[child.leaf] for child in self._domain_of[key].children] if key in self.rooms else []
        return [self._leaf_of[key]] if key in self._leaf_of else []

    def publish(self, placement: Placement) -> Placement:
        """A placement on leaves by the domains that Kueue names."""
        if not self.hidden:
            return placement
        counts: dict[Values, int] = {}
        for key, count in placement:
            counts[key[:-1]] = counts.get(key[:-1], 0) + count
        return tuple(counts.items())

    def level(self, key: str) -> int:
        """The index of a level; -1 if this topology lacks it."""
        return self.levels.index(key) if key in self.levels else -1

    def _add(self, node: Node) -> None:
        labels = node.labels
        if any(labels.get(key) != value for key, value in self.flavor.labels.items()):
            return
        if any(level not in labels for level in self.levels):
            return
        values = tuple(labels[level] for level in self.levels)
        if self.hidden:
            add_amounts(self.rooms.setdefault(values, {}), node.allocatable)
            values = (*values, node.name)
        key = values[-1:] if self.by_hostname else values
        leaf = self._leaf_of.get(key)
        if leaf is None:
            domain = self._join(values)
            leaf = self._leaf_of[key] = Leaf(domain, key, node if self.by_node else None)
            domain.leaf = len(self.leaves)
            self.leaves.append(leaf)
        add_amounts(leaf.capacity, node.allocatable)

    def _join(self, values: Values) -> Domain:
        domain = self._domain_of.get(values)
        if domain is None:
            domain = self._domain_of[values] = Domain(len(self._domain_of), values)
            self.by_level[len(values) - 1].append(domain)
            if len(values) > 1:
                domain.parent = self._join(values[:-1])
                domain.parent.children.append(domain)
        return domain

    def matching(self, pod: Json) -> list[Leaf]:
        """The leaves that a pod may use; all of them unless they are nodes."""
        if not self.by_node:
            return self.leaves
        tolerations = (*(pod.get("tolerations") or ()), *self.flavor.tolerations)
        affinity = (pod.get("affinity") or {}).get("nodeAffinity")
        key = repr((tolerations, pod.get("nodeSelector"), affinity))
        if key not in self._matching:
            self._matching[key] = [leaf for leaf in self.leaves if leaf.node and _takes(leaf.node, pod, tolerations)]
        return self._matching[key]


def _takes(node: Node, pod: Json, tolerations: Sequence[Json]) -> bool:
    if barring_taint(node.taints, tolerations):
        return False
    try:
        return node_matches(pod, node.labels, node.name)
    except selectors.MalformedSelector:
        return False


def topology_trees(cluster: Cluster, *, nodes_count: bool = False) -> dict[str, Tree]:
    """The trees of all flavors that have a Topology, by flavor; with `nodes_count`, whether or not Kueue counts nodes."""
    nodes_count |= cluster.kueue in kueue_versions.NODES_COUNT
    return {
        name: Tree(flavor, cluster.topologies[flavor.topology], cluster.nodes, cluster.kueue, nodes_count=nodes_count)
        for name, flavor in cluster.flavors.items()
        if flavor.topology is not None and flavor.topology in cluster.topologies and not flavor.vague
    }


class Occupancy:
    """The usage of lowest-level domains by placed pods.

    `on_hosts` is shared by all flavors whose lowest level is the hostname, as they share nodes; `apart` is per flavor.
    """

    def __init__(self) -> None:
        self.on_hosts: dict[Values, Amounts] = {}
        self.apart: dict[str, dict[Values, Amounts]] = {}

    def copy(self) -> Occupancy:
        """An independent copy."""
        other = Occupancy()
        other.on_hosts = dict(self.on_hosts)
        other.apart = {flavor: dict(usage) for flavor, usage in self.apart.items()}
        return other

    def usage_in(self, tree: Tree) -> Usage:
        """The usage of the domains that placements in a flavor name."""
        usage = self.apart.get(tree.flavor.name)
        parts = (self.on_hosts,) if tree.by_hostname and self.on_hosts else ()
        return (*parts, usage) if usage else parts

    def add(self, tree: Tree, placement: Placement, per_pod: Amounts, *, shared: bool) -> None:
        """Add the usage of pods placed in a flavor; with `shared`, other flavors on the same nodes see it."""
        on_hosts = shared and tree.by_hostname
        occupy(self.on_hosts if on_hosts else self.apart.setdefault(tree.flavor.name, {}), placement, per_pod)


def occupy(room: dict[Values, Amounts], placement: Placement, per_pod: Amounts) -> None:
    """Add placed pods to the usage of each domain; each pod counts as one of `pods`, too."""
    for key, count in placement:
        usage = dict(room.get(key, {}))
        add_amounts(usage, per_pod, count)
        usage[PODS] = usage.get(PODS, 0) + count
        room[key] = usage


def remaining(capacity: Amounts, key: Values, usage: Usage) -> Mapping[str, int]:
    """What is free of the capacity of the domain `key`; `capacity` itself if nothing is in use."""
    free: Amounts | None = None
    for part in usage:
        if key in part:
            free = dict(capacity) if free is None else free
            add_amounts(free, part[key], -1)
    return capacity if free is None else free


def still_fits(tree: Tree, placement: Placement, per_pod: Amounts, usage: Usage) -> bool:
    """Return whether each domain of a placement has room for its pods. Pods without requests never fit, as in Kueue."""
    for key, count in placement:
        room = sum(times_in(per_pod.items(), remaining(leaf.capacity, leaf.key, usage)) for leaf in tree.leaves_in(key))
        if tree.hidden and room >= count:
            room = times_in(per_pod.items(), remaining(tree.rooms[key], key, usage))
        if room < count:
            return False
    return True


# Count the pods, and slices of pods, that each domain of a topology can hold, from the leaves up.
#
# Source: kubernetes-sigs/kueue pkg/cache/scheduler/{tas_flavor_snapshot,tas_partial_slices}.go (fillInCounts,
# fillTailCounts, recordUsageDomainCaps).

# The number of whole slices together with the last, smaller one in a domain that cannot even hold that.
NO_ROOM = -1


@dataclass(frozen=True, slots=True)
class Request:
    """Pods to place together: a pod set and, as the leader, the single pod of the other pod set in its group."""

    workers: PodSet
    leader: PodSet | None
    implied: bool


@dataclass(frozen=True, slots=True)
class Demand:
    """The request in terms of tree levels. `inner` is the slice size for each level below the outer slices.

    `tail` is the number of pods in the last slice if that is smaller than `size`, else 0.
    """

    count: int
    leaders: int
    level: int
    slice_level: int
    size: int
    tail: int
    required: bool
    free: bool
    inner: Mapping[int, int] = field(default_factory=dict)

    @property
    def slices(self) -> int:
        """The number of whole slices."""
        return self.count // self.size


class Counts:
    """What each domain can hold, by domain index: pods, whole slices, and whole slices together with the tail.

    Those that end in `_led` are for a domain that holds the leader, too. Without a leader or a tail, they are the same.
    """

    def __init__(self, tree: Tree, demand: Demand) -> None:
        self.tree = tree
        self.demand = demand
        self.leaders = [0] * tree.size
        self.pods = [0] * tree.size
        self.slices = [0] * tree.size
        self.pods_led = [0] * tree.size if demand.leaders else self.pods
        self.slices_led = [0] * tree.size if demand.leaders else self.slices
        self.with_tail = [0] * tree.size if demand.tail else self.slices
        self.with_tail_led = list(self.with_tail) if demand.leaders and demand.tail else self.slices_led
        if demand.tail and not demand.leaders:
            self.with_tail_led = self.with_tail

    def count(self, request: Request, usage: Usage) -> None:
        """Count what each domain can hold, given the usage of the domains."""
        worker = (*request.workers.per_pod.items(), (PODS, 1))
        leader = dict((*request.leader.per_pod.items(), (PODS, 1))) if request.leader else None
        suitable = self.tree.matching(request.workers.pod)
        for_leader = None
        if request.leader and self.tree.by_node and self.tree.kueue in kueue_versions.LEADER_FEASIBLE:
            for_leader = {leaf.domain.index for leaf in self.tree.matching(request.leader.pod)}
        self._count_workers(suitable, worker, usage)
        for leaf in suitable if leader is not None else ():
            i = leaf.domain.index
            room = remaining(leaf.capacity, leaf.key, usage)
            if leader and (for_leader is None or i in for_leader) and times_in(leader.items(), room):
                self.leaders[i] = 1
                self.pods_led[i] = times_in(worker, _without(room, leader))
        if for_leader and leader is not None:
            self._count_leader_alone(for_leader - {leaf.domain.index for leaf in suitable}, leader, usage)
        for level in range(len(self.tree.by_level) - 1, -1, -1):
            bounds = None
            if self.tree.hidden and level == len(self.tree.levels) - 1:
                bounds = {d.index: self._bound(d, worker, leader, usage) for d in self.tree.by_level[level]}
            self._add_up(level, bounds)

    def _count_workers(self, leaves: Iterable[Leaf], worker: tuple[tuple[str, int], ...], usage: Usage) -> None:
        """Count how many pods fit into each leaf. Usage is replaced, never changed: the same object means the same room."""
        untouched: dict[int, int] = {}
        counted = self.tree.counted.setdefault(worker, {})
        for leaf in leaves:
            used = [part[leaf.key] for part in usage if leaf.key in part]
            known = counted.get(leaf.key) if len(used) == 1 else None
            if not used:
                if leaf.kind not in untouched:
                    untouched[leaf.kind] = times_in(worker, leaf.capacity)
                pods = untouched[leaf.kind]
            elif known and known[0] is used[0]:
                pods = known[1]
            else:
                pods = times_in(worker, remaining(leaf.capacity, leaf.key, usage))
                if len(used) == 1:
                    counted[leaf.key] = used[0], pods
            i = leaf.domain.index
            self.pods[i] = self.pods_led[i] = pods

    def _count_leader_alone(self, indexes: set[int], leader: Mapping[str, int], usage: Usage) -> None:
        """Count the nodes that suit the leader but not the workers."""
        for leaf in self.tree.leaves:
            i = leaf.domain.index
            if i in indexes and times_in(leader.items(), remaining(leaf.capacity, leaf.key, usage)):
                self.leaders[i] = 1

    def _bound(
        self, domain: Domain, worker: Sequence[tuple[str, int]], leader: Mapping[str, int] | None, usage: Usage
    ) -> tuple[int, int, int]:
        """The most pods, leaders, and pods together with a leader that the capacity of a domain as a whole leaves room for."""
        room = remaining(self.tree.rooms[domain.values], domain.values, usage)
        pods = times_in(worker, room)
        if leader is None or not times_in(leader.items(), room):
            return pods, 0, pods
        return pods, 1, times_in(worker, _without(room, leader))

    def _add_up(self, level: int, bounds: Mapping[int, tuple[int, int, int]] | None) -> None:
        demand = self.demand
        size, sliced, inner = demand.size, level == demand.slice_level, demand.inner.get(level + 1, 1)
        pods, slices = self.pods, self.slices
        for domain in self.tree.by_level[level]:
            i = domain.index
            if domain.children and not demand.leaders:
                pods[i] = sum([pods[child.index] // inner * inner for child in domain.children])
                slices[i] = sum([slices[child.index] for child in domain.children])
            elif domain.children:
                self._add_children(domain, inner)
            slice_sum = slices[i]
            if bounds:
                self._stay_within(i, *bounds[i])
            if sliced:
                self.slices_led[i] = self.pods_led[i] // size
                slices[i] = pods[i] // size
            if demand.tail and sliced:
                self.with_tail_led[i] = self._slices_with_tail(self.pods_led[i])
                self.with_tail[i] = self._slices_with_tail(pods[i])
            elif demand.tail and level < demand.slice_level:
                self._add_tails(domain, slice_sum)

    def _add_children(self, domain: Domain, inner: int) -> None:
        """Add up child domains, one of which has to hold the leader: the one where it reduces the count least."""
        pods = slices = leaders = 0
        pod_cost = slice_cost = -1
        for child in domain.children:
            i = child.index
            held, led = self.pods[i] // inner * inner, self.pods_led[i] // inner * inner
            pods += held
            slices += self.slices[i]
            if self.leaders[i]:
                cost = self.slices[i] - self.slices_led[i]
                pod_cost = held - led if pod_cost < 0 else min(pod_cost, held - led)
                slice_cost = cost if slice_cost < 0 else min(slice_cost, cost)
                leaders = 1
        i = domain.index
        self.pods[i], self.slices[i], self.leaders[i] = pods, slices, leaders
        self.pods_led[i] = pods - pod_cost if leaders else 0
        self.slices_led[i] = slices - slice_cost if leaders else 0

    def _stay_within(self, i: int, pods: int, leaders: int, pods_led: int) -> None:
        size = self.demand.size
        self.pods[i] = min(self.pods[i], pods)
        self.slices[i] = min(self.slices[i], self.pods[i] // size)
        if self.demand.leaders:
            self.leaders[i] = min(self.leaders[i], leaders)
            # What the leader costs is measured at a node, so it may be more than the domain has left.
            self.pods_led[i] = min(max(0, self.pods_led[i]), pods_led)
            self.slices_led[i] = min(max(0, self.slices_led[i]), self.pods_led[i] // size)

    # The tail: the last slice, if it is smaller than the others. It needs a domain of the slice level like any other.

    def _slices_with_tail(self, pods: int) -> int:
        tail = self.demand.tail
        return (pods - tail) // self.demand.size if pods >= tail else NO_ROOM

    def _add_tails(self, domain: Domain, slice_sum: int) -> None:
        """Count the slices in a domain together with the tail, which goes to the child where it reduces the count least."""
        i = domain.index
        tails = self.cheapest_tails(domain.children)
        self.with_tail[i] = NO_ROOM
        if tails:
            self.with_tail[i] = min(slice_sum - tails[0][0], self._slices_with_tail(self.pods[i]))
        if self.demand.leaders:
            leading = [at for at, child in enumerate(domain.children) if self.leaders[child.index]]
            costs = [cost for at in leading if (cost := self.led_cost(domain.children, at, tails)) >= 0]
            self.with_tail_led[i] = NO_ROOM
            if costs:
                self.with_tail_led[i] = min(slice_sum - min(costs), self._slices_with_tail(self.pods_led[i]))

    def cheapest_tails(self, domains: Sequence[Domain]) -> list[tuple[int, int]]:
        """The two domains that give up the fewest slices for the tail, as (slices given up, index in `domains`)."""
        costs = [
            (self.slices[d.index] - self.with_tail[d.index], at)
            for at, d in enumerate(domains)
            if self.with_tail[d.index] != NO_ROOM
        ]
        return sorted(costs)[:2]

    def led_cost(self, domains: Sequence[Domain], at: int, tails: Sequence[tuple[int, int]]) -> int:
        """The slices given up if a domain holds the leader, and this or another one the tail; -1 if none holds that."""
        i = domains[at].index
        apart = [cost + self.slices[i] - self.slices_led[i] for cost, other in tails if other != at]
        if self.with_tail_led[i] != NO_ROOM:
            apart.append(self.slices[i] - self.with_tail_led[i])
        return min(apart, default=-1)


def _without(room: Mapping[str, int], usage: Mapping[str, int]) -> dict[str, int]:
    return {name: amount - usage.get(name, 0) for name, amount in room.items()}
