"""Quota in the tree of queues and cohorts: nominal quota, borrowing, lending and usage.

Source: kubernetes-sigs/kueue pkg/cache/scheduler/resource_node.go and
pkg/scheduler/preemption/classical/hierarchical_preemption.go (FindHeightOfLowestSubtreeThatFits).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from trainc.features.fits.cluster import Cluster, FlavorResource, Quota, Quotas

_NOTHING = Quota(0)


class QuotaNode:
    """A ClusterQueue or Cohort in the tree. `height` is the distance to its furthest leaf: 0 for a ClusterQueue.

    `subtree` is its own quota plus what its children lend; `local` is the part that it does not lend to its parent.
    """

    __slots__ = ("children", "height", "limits", "local", "name", "parent", "potentials", "subtree")

    def __init__(self, name: str, limits: Quotas) -> None:
        self.name = name
        self.limits = limits
        self.parent: QuotaNode | None = None
        self.children: list[QuotaNode] = []
        self.height = 0
        self.subtree: dict[FlavorResource, int] = {}
        self.local: dict[FlavorResource, int] = {}
        self.potentials: dict[FlavorResource, int] = {}

    @property
    def root(self) -> QuotaNode:
        """The root of the tree that contains this node."""
        return self.parent.root if self.parent else self

    def settle(self) -> None:
        """Compute quota and height from the leaves up."""
        self.subtree = {key: quota.nominal for key, quota in self.limits.items()}
        for child in self.children:
            child.settle()
            for key, amount in child.subtree.items():
                self.subtree[key] = self.subtree.get(key, 0) + amount - child.local[key]
        for key, amount in self.subtree.items():
            lending = self.limits.get(key, _NOTHING).lending
            self.local[key] = 0 if lending is None else max(0, amount - lending)
        self.height = 1 + max(child.height for child in self.children) if self.children else 0

    def potential(self, key: FlavorResource) -> int:
        """The most this node could ever get of a flavor's resource: its own quota plus all it may borrow."""
        if key not in self.potentials:
            own = self.subtree.get(key, 0)
            if self.parent:
                most = self.local.get(key, 0) + self.parent.potential(key)
                borrowing = self.limits.get(key, _NOTHING).borrowing
                own = most if borrowing is None else min(own + borrowing, most)
            self.potentials[key] = own
        return self.potentials[key]


Used: TypeAlias = dict[tuple[QuotaNode, FlavorResource], int]


def quota_tree(cluster: Cluster) -> dict[str, QuotaNode]:
    """The nodes of all ClusterQueues whose cohorts form no cycle, by name, linked to their cohorts."""
    cohorts: dict[str, QuotaNode] = {}

    def joined(name: str) -> QuotaNode:
        if name not in cohorts:
            cohorts[name] = QuotaNode(name, cluster.cohorts[name].quotas if name in cluster.cohorts else {})
            if cluster.parent(name):
                _link(cohorts[name], joined(cluster.parent(name)))
        return cohorts[name]

    queues = {}
    for name in cluster.cohorts:
        if not cluster.loops(name):
            joined(name)
    for queue in cluster.cluster_queues.values():
        if not cluster.loops(queue.cohort):
            queues[queue.name] = QuotaNode(queue.name, queue.quotas)
            if queue.cohort:
                _link(queues[queue.name], joined(queue.cohort))
    for root in {id(node.root): node.root for node in (*queues.values(), *cohorts.values())}.values():
        root.settle()
    return queues


def _link(child: QuotaNode, parent: QuotaNode) -> None:
    child.parent = parent
    parent.children.append(child)


def left_local(node: QuotaNode, key: FlavorResource, used: Mapping[tuple[QuotaNode, FlavorResource], int]) -> int:
    """The unused rest of the quota that a node does not lend to its parent."""
    local = node.local.get(key, 0)
    return max(0, local - used.get((node, key), 0)) if local else 0


def available(node: QuotaNode, key: FlavorResource, used: Used) -> int:
    """What a node can still get of a flavor's resource, including its cohorts; negative if usage exceeds the quota."""
    taken = used.get((node, key), 0)
    if node.parent is None:
        return node.subtree.get(key, 0) - taken
    above = available(node.parent, key, used)
    local = node.local.get(key, 0)
    borrowing = node.limits.get(key, _NOTHING).borrowing
    if borrowing is not None:
        above = min(node.subtree.get(key, 0) - local - max(0, taken - local) + borrowing, above)
    return max(0, local - taken) + above


def use(node: QuotaNode, key: FlavorResource, amount: int, used: Used) -> None:
    """Charge `amount` to a node; the part that exceeds its local quota is charged to its parent as well."""
    left = left_local(node, key, used)
    used[node, key] = used.get((node, key), 0) + amount
    if node.parent and amount > left:
        use(node.parent, key, amount - left, used)


def borrow_level(queue: QuotaNode, key: FlavorResource, amount: int, used: Used) -> tuple[int, bool]:
    """The height of the lowest subtree that can hold `amount` more; 0 if the queue's own quota suffices.

    The second value says whether that subtree is below another cohort, from which quota could be reclaimed.
    """
    nominal = queue.limits.get(key, _NOTHING).nominal
    if queue.parent is None or used.get((queue, key), 0) + amount <= nominal:
        return 0, queue.parent is not None
    rest = amount - left_local(queue, key, used)
    node: QuotaNode | None = queue.parent
    while node:
        if used.get((node, key), 0) + rest <= node.subtree.get(key, 0):
            return node.height, node.parent is not None
        rest -= left_local(node, key, used)
        node = node.parent
    return queue.root.height, False
