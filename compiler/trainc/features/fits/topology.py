"""The topology of a flavor: a tree of domains with the free capacity of each.

Source: kubernetes-sigs/kueue pkg/cache/scheduler/{tas_topology_tree,tas_nodes_cache,tas_flavor_snapshot}.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from trainc.api.kube import Json, MalformedSelector
from trainc.features.fits.cluster import HOSTNAME, Cluster, Flavor, Node
from trainc.features.fits.requests import PODS, Amounts, times_in
from trainc.features.fits.selectors import barring_taint, node_matches
from trainc.kube.kueue import DEFAULT, NODES_COUNT

Values: TypeAlias = tuple[str, ...]
# Pods per domain, keyed by the domain's values, or by the hostname alone if that is the lowest level.
Placement: TypeAlias = tuple[tuple[Values, int], ...]
# The usage of domains, as several mappings to be added up.
Taken: TypeAlias = Sequence[Mapping[Values, Amounts]]


class Domain:
    """A domain, identified by a path of label values. `leaf` is its index among the leaves, or -1."""

    __slots__ = ("children", "index", "leaf", "parent", "values")

    def __init__(self, index: int, values: Values) -> None:
        self.index = index
        self.values = values
        self.leaf = -1
        self.parent: Domain | None = None
        self.children: list[Domain] = []


class Leaf:
    """A domain without others below it: the total allocatable resources of its nodes; `node` is set if it is a node.

    Leaves of the same `kind` have the same capacity.
    """

    __slots__ = ("capacity", "domain", "key", "kind", "node")

    def __init__(self, domain: Domain, key: Values, node: Node | None) -> None:
        self.domain = domain
        self.key = key
        self.node = node
        self.capacity: Amounts = {}
        self.kind = 0


class Tree:
    """The domains of a flavor's nodes. `levels` are label keys from the top; `by_level` has the domains of each.

    If the lowest level is wider than a node and `nodes_count`, there is one more below it, which requests cannot name:
    that of the nodes (`hidden`). Pods are then counted by node, but placements name a domain of the lowest `levels`, and
    its usage is not known by node. `rooms` has the capacity of those domains.
    """

    def __init__(
        self, flavor: Flavor, levels: Sequence[str], nodes: Sequence[Node], kueue: str = DEFAULT, *, nodes_count: bool
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
        """Whether each leaf is a node, so that its taints and labels count."""
        return self.by_hostname or self.hidden

    def leaves_in(self, key: Values) -> list[Leaf]:
        """The leaves of the domain that a placement names; none if there is no such domain."""
        if self.hidden:
            return [self.leaves[child.leaf] for child in self._domain_of[key].children] if key in self.rooms else []
        return [self._leaf_of[key]] if key in self._leaf_of else []

    def published(self, placement: Placement) -> Placement:
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
            _add_amounts(self.rooms.setdefault(values, {}), node.allocatable)
            values = (*values, node.name)
        key = values[-1:] if self.by_hostname else values
        leaf = self._leaf_of.get(key)
        if leaf is None:
            domain = self._joined(values)
            leaf = self._leaf_of[key] = Leaf(domain, key, node if self.by_node else None)
            domain.leaf = len(self.leaves)
            self.leaves.append(leaf)
        _add_amounts(leaf.capacity, node.allocatable)

    def _joined(self, values: Values) -> Domain:
        domain = self._domain_of.get(values)
        if domain is None:
            domain = self._domain_of[values] = Domain(len(self._domain_of), values)
            self.by_level[len(values) - 1].append(domain)
            if len(values) > 1:
                domain.parent = self._joined(values[:-1])
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
    except MalformedSelector:
        return False


def _add_amounts(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def topology_trees(cluster: Cluster, *, nodes_count: bool = False) -> dict[str, Tree]:
    """The trees of all flavors that have a Topology, by flavor; with `nodes_count`, whether or not Kueue counts nodes."""
    nodes_count |= cluster.kueue in NODES_COUNT
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
        other.apart = {flavor: dict(taken) for flavor, taken in self.apart.items()}
        return other

    def taken(self, tree: Tree) -> Taken:
        """The usage of the domains that placements in a flavor name."""
        own = self.apart.get(tree.flavor.name)
        parts = (self.on_hosts,) if tree.by_hostname and self.on_hosts else ()
        return (*parts, own) if own else parts

    def add(self, tree: Tree, placement: Placement, one: Amounts, *, shared: bool) -> None:
        """Add the usage of pods placed in a flavor; with `shared`, other flavors on the same nodes see it."""
        on_hosts = shared and tree.by_hostname
        occupy(self.on_hosts if on_hosts else self.apart.setdefault(tree.flavor.name, {}), placement, one)


def occupy(room: dict[Values, Amounts], placement: Placement, one: Amounts) -> None:
    """Add placed pods to the usage of each domain; each pod counts as one of `pods`, too."""
    for key, count in placement:
        taken = dict(room.get(key, {}))
        for name, amount in one.items():
            taken[name] = taken.get(name, 0) + amount * count
        taken[PODS] = taken.get(PODS, 0) + count
        room[key] = taken


def remaining(capacity: Amounts, key: Values, taken: Taken) -> Mapping[str, int]:
    """What is free of the capacity of the domain `key`; `capacity` itself if nothing is in use."""
    rest: Amounts | None = None
    for part in taken:
        if key in part:
            rest = dict(capacity) if rest is None else rest
            for name, amount in part[key].items():
                rest[name] = rest.get(name, 0) - amount
    return capacity if rest is None else rest


def still_fits(tree: Tree, placement: Placement, one: Amounts, taken: Taken) -> bool:
    """Whether each domain of a placement has room for its pods. Pods without requests never fit, as in Kueue."""
    for key, count in placement:
        room = sum(times_in(one.items(), remaining(leaf.capacity, leaf.key, taken)) for leaf in tree.leaves_in(key))
        if tree.hidden and room >= count:
            room = times_in(one.items(), remaining(tree.rooms[key], key, taken))
        if room < count:
            return False
    return True
