"""The data model of a cluster: queues, cohorts and their quota, flavors, topologies, nodes, namespaces and their limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from trainc.api.cluster import Dump, kueue_versions
from trainc.api.findings import Path
from trainc.api.kube import Json, mapping, objects
from trainc.api.records import dataclass, field
from trainc.features.cluster.fits.pods import Amounts, Limits, Written

FlavorResource: TypeAlias = tuple[str, str]

# Controllers of admission checks (pkg/controller/constants, apis/kueue/v1beta2/{provisioningrequestconfig,multikueue}_types.go).
PROVISIONING, MULTIKUEUE = "kueue.x-k8s.io/provisioning-request", "kueue.x-k8s.io/multikueue"
# What adds and removes nodes, as it is named in messages.
KARPENTER, AUTOSCALER = "Karpenter", "the cluster autoscaler"
# The API server sets this label on every namespace.
NAME_LABEL = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True)
class Quota:
    """The quota of a queue or cohort for one resource in one flavor; a limit of None means unlimited."""

    nominal: int
    borrowing: int | None = None
    lending: int | None = None


Quotas: TypeAlias = Mapping[FlavorResource, Quota]


@dataclass(frozen=True, slots=True)
class Flavor:
    """A ResourceFlavor and the nodes it selects. `topology` names the Topology if pods are placed on domains.

    A flavor is `vague` if the snapshot lacks it, or lacks the kinds that show where its domains are.
    """

    name: str
    labels: Mapping[str, str]
    taints: tuple[Json, ...]
    tolerations: tuple[Json, ...]
    topology: str | None
    vague: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """A resource group of a ClusterQueue: the resources it covers, and its flavors in order of preference."""

    covered: frozenset[str]
    flavors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preemption:
    """By which policies a queue evicts Workloads of its own (`within`) and of its cohort (`reclaim`) to make room.

    With `borrows`, it may borrow while it evicts those of lower priority, up to `threshold` if that is not None.
    """

    within: str = "Never"
    reclaim: str = "Never"
    borrows: bool = False
    threshold: int | None = None


@dataclass(frozen=True, slots=True)
class ClusterQueue:
    """A ClusterQueue. `namespaces` selects the namespaces that may use it; None matches none.

    `strict` means StrictFIFO; `next_before_borrowing` and `next_before_preempting`, that the next flavor is tried first;
    `prefers_preempting`, that preemption is preferred to borrowing; `checks` maps its admission checks to the flavors that
    they are about, none for all; `fault` is why Kueue says that it is inactive.
    """

    name: str
    cohort: str
    groups: tuple[Group, ...]
    quotas: Quotas
    namespaces: Json | None
    stopped: bool
    strict: bool
    next_before_borrowing: bool
    next_before_preempting: bool
    prefers_preempting: bool
    preemption: Preemption
    checks: Mapping[str, frozenset[str]]
    fault: str = ""

    def group(self, resource: str) -> Group | None:
        """The resource group that covers `resource`."""
        return next((group for group in self.groups if resource in group.covered), None)

    def provisioner(self, cluster: Cluster) -> str:
        """What may add nodes for its jobs: an admission check, or what adds nodes to the whole cluster."""
        for check in self.checks:
            if cluster.checks.get(check, PROVISIONING) == PROVISIONING:
                condition = "" if check in cluster.checks else ", if it provisions nodes,"
                return f"admission check {check}{condition}"
        return cluster.scaler

    def places_later(self, flavor: str, cluster: Cluster) -> bool:
        """Return whether Kueue chooses domains only after admission checks: in another cluster, or on new nodes."""
        checks = [check for check, flavors in self.checks.items() if flavor in flavors or not flavors]
        return self.runs_elsewhere(cluster) or any(cluster.checks.get(check) == PROVISIONING for check in checks)

    def runs_elsewhere(self, cluster: Cluster) -> bool:
        """Return whether its jobs run in other clusters, through MultiKueue."""
        return any(cluster.checks.get(check) == MULTIKUEUE for check in self.checks)

    @property
    def flavors(self) -> list[str]:
        """The names of all its flavors."""
        return [name for group in self.groups for name in group.flavors]


class Fault(NamedTuple):
    """Why a ClusterQueue is inactive, to complete "it is inactive: ...": the object and its field, and what is missing."""

    text: str
    object: str
    path: Path
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Cohort:
    """A Cohort: its parent (empty for none) and its own quota."""

    name: str
    parent: str
    quotas: Quotas


@dataclass(frozen=True, slots=True)
class LocalQueue:
    """A LocalQueue: its ClusterQueue, and whether it is stopped."""

    cluster_queue: str
    stopped: bool


@dataclass(frozen=True, slots=True)
class Node:
    """A node with its allocatable resources.

    `ready` means Ready and not cordoned. A node that is not `counted` is one of an unknown number of the same kind.
    """

    name: str
    labels: Mapping[str, str]
    taints: tuple[Json, ...]
    allocatable: Amounts
    ready: bool = True
    counted: bool = True


@dataclass(frozen=True, slots=True)
class Cluster:
    """The contents of a snapshot.

    `nodes` are those that Kueue and kube-scheduler use now, `down_nodes` those that are not Ready or are cordoned.
    `local_queues` is keyed by (namespace, name). `checks` maps admission checks to their controllers. `scaler` is what
    adds nodes, if the snapshot shows it. `kueue` is the step of kube.kueue_versions whose rules apply. Of the kinds in `unknown`, the snapshot has nothing, so their objects may exist.
    `dump` has all objects, also those that do not matter to scheduling.
    """

    flavors: Mapping[str, Flavor] = field(default_factory=dict)
    topologies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    nodes: tuple[Node, ...] = ()
    down_nodes: tuple[Node, ...] = ()
    cohorts: Mapping[str, Cohort] = field(default_factory=dict)
    cluster_queues: Mapping[str, ClusterQueue] = field(default_factory=dict)
    local_queues: Mapping[tuple[str, str], LocalQueue] = field(default_factory=dict)
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    limits: Mapping[str, Mapping[str, Limits]] = field(default_factory=dict)
    overheads: Mapping[str, Written] = field(default_factory=dict)
    checks: Mapping[str, str] = field(default_factory=dict)
    scaler: str = ""
    kueue: str = kueue_versions.DEFAULT
    unknown: frozenset[str] = frozenset()
    dump: Dump = field(default_factory=lambda: Dump(()))

    def parent(self, cohort: str) -> str:
        """The name of a cohort's parent; empty for a cohort that has no object of its own."""
        return self.cohorts[cohort].parent if cohort in self.cohorts else ""

    def loops(self, cohort: str) -> bool:
        """Return whether the chain of parents of `cohort` contains a cycle."""
        seen: set[str] = set()
        while cohort and cohort not in seen:
            seen.add(cohort)
            cohort = self.parent(cohort)
        return bool(cohort)

    def faults(self, queue: ClusterQueue) -> list[Fault]:
        """Why Kueue keeps a ClusterQueue inactive; empty if it is active."""
        own = f"ClusterQueue {queue.name}"
        faults = [Fault("it is stopped (stopPolicy)", own, ("spec", "stopPolicy"))] if queue.stopped else []
        for g, group in enumerate(queue.groups):
            for n, name in enumerate(group.flavors):
                flavor, label = self.flavors.get(name), f"ResourceFlavor {name}"
                if flavor is None:
                    path: Path = ("spec", "resourceGroups", g, "flavors", n, "name")
                    faults.append(Fault(f"there is no {label}", own, path, label))
                elif flavor.topology is not None and flavor.topology not in self.topologies:
                    missing = f"Topology {flavor.topology}"
                    text = f"there is no {missing}, which {label} refers to"
                    faults.append(Fault(text, label, ("spec", "topologyName"), missing))
        checks = ("spec", "admissionChecksStrategy")
        faults += [Fault(text, own, checks) for text in self._faulty_checks(queue)]
        if self.loops(queue.cohort):
            text = f"the parents of cohort {queue.cohort} form a cycle"
            faults.append(Fault(text, own, ("spec", "cohortName")))
        return faults

    def _faulty_checks(self, queue: ClusterQueue) -> Iterator[str]:
        """The admission checks for which Kueue keeps a queue inactive: its condition says so, or the checks themselves."""
        if queue.fault:
            yield queue.fault
        for name in queue.checks if not queue.fault and self.dump.covers("AdmissionCheck") else ():
            check = self.dump.get("AdmissionCheck", "", name)
            if check is None:
                yield f"there is no AdmissionCheck {name}"
            for condition in objects(mapping(mapping(check).get("status")).get("conditions")):
                if condition.get("type") == "Active" and condition.get("status") == "False":
                    yield f"AdmissionCheck {name} is not active: {condition.get('message') or condition.get('reason')}"


# Quota in the tree of queues and cohorts: nominal quota, borrowing, lending and usage.
#
# Source: kubernetes-sigs/kueue pkg/cache/scheduler/resource_node.go and
# pkg/scheduler/preemption/classical/hierarchical_preemption.go (FindHeightOfLowestSubtreeThatFits).

_NOTHING = Quota(0)


@dataclass(slots=True, eq=False)
class QuotaNode:
    """A ClusterQueue or Cohort in the tree. `height` is the distance to its furthest leaf: 0 for a ClusterQueue.

    `subtree` is its own quota plus what its children lend; `local` is the part that it does not lend to its parent.
    """

    name: str
    limits: Quotas
    parent: QuotaNode | None = None
    children: list[QuotaNode] = field(default_factory=list)
    height: int = 0
    subtree: dict[FlavorResource, int] = field(default_factory=dict)
    local: dict[FlavorResource, int] = field(default_factory=dict)
    potentials: dict[FlavorResource, int] = field(default_factory=dict)

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
            potential = self.subtree.get(key, 0)
            if self.parent:
                most = self.local.get(key, 0) + self.parent.potential(key)
                borrowing = self.limits.get(key, _NOTHING).borrowing
                potential = most if borrowing is None else min(potential + borrowing, most)
            self.potentials[key] = potential
        return self.potentials[key]


Used: TypeAlias = dict[tuple[QuotaNode, FlavorResource], int]


def quota_tree(cluster: Cluster) -> dict[str, QuotaNode]:
    """The nodes of all ClusterQueues whose cohorts form no cycle, by name, linked to their cohorts."""
    cohorts: dict[str, QuotaNode] = {}

    def join(name: str) -> QuotaNode:
        if name not in cohorts:
            cohorts[name] = QuotaNode(name, cluster.cohorts[name].quotas if name in cluster.cohorts else {})
            if cluster.parent(name):
                _link(cohorts[name], join(cluster.parent(name)))
        return cohorts[name]

    queues = {}
    for name in cluster.cohorts:
        if not cluster.loops(name):
            join(name)
    for queue in cluster.cluster_queues.values():
        if not cluster.loops(queue.cohort):
            queues[queue.name] = QuotaNode(queue.name, queue.quotas)
            if queue.cohort:
                _link(queues[queue.name], join(queue.cohort))
    for root in {id(node.root): node.root for node in (*queues.values(), *cohorts.values())}.values():
        root.settle()
    return queues


def _link(child: QuotaNode, parent: QuotaNode) -> None:
    child.parent = parent
    parent.children.append(child)


def left_local(node: QuotaNode, key: FlavorResource, used: Used) -> int:
    """The unused rest of the quota that a node does not lend to its parent."""
    return max(0, node.local.get(key, 0) - used.get((node, key), 0))


def available(node: QuotaNode, key: FlavorResource, used: Used) -> int:
    """What a node can still get of a flavor's resource, including its cohorts; negative if usage exceeds the quota."""
    usage = used.get((node, key), 0)
    if node.parent is None:
        return node.subtree.get(key, 0) - usage
    above = available(node.parent, key, used)
    local = node.local.get(key, 0)
    borrowing = node.limits.get(key, _NOTHING).borrowing
    if borrowing is not None:
        above = min(node.subtree.get(key, 0) - local - max(0, usage - local) + borrowing, above)
    return max(0, local - usage) + above


def use(node: QuotaNode, key: FlavorResource, amount: int, used: Used) -> None:
    """Charge `amount` to a node; the part that exceeds its local quota is charged to its parent as well."""
    left = left_local(node, key, used)
    used[node, key] = used.get((node, key), 0) + amount
    if node.parent and amount > left:
        use(node.parent, key, amount - left, used)


def release(node: QuotaNode, key: FlavorResource, amount: int, used: Used) -> None:
    """Take `amount` off a node; what was charged to its parent is taken off there as well."""
    above = used.get((node, key), 0) - node.local.get(key, 0)
    used[node, key] = used.get((node, key), 0) - amount
    if node.parent and above > 0:
        release(node.parent, key, min(amount, above), used)


def nominal_of(queue: QuotaNode, key: FlavorResource) -> int:
    """The nominal quota of a queue itself."""
    return queue.limits.get(key, _NOTHING).nominal


def borrow_level(queue: QuotaNode, key: FlavorResource, amount: int, used: Used) -> tuple[int, bool]:
    """The height of the lowest subtree that can hold `amount` more; 0 if the queue's own quota suffices.

    The second value says whether that subtree is below another cohort, from which quota could be reclaimed.
    """
    if queue.parent is None or used.get((queue, key), 0) + amount <= nominal_of(queue, key):
        return 0, queue.parent is not None
    needed = amount - left_local(queue, key, used)
    node: QuotaNode | None = queue.parent
    while node:
        if used.get((node, key), 0) + needed <= node.subtree.get(key, 0):
            return node.height, node.parent is not None
        needed -= left_local(node, key, used)
        node = node.parent
    return queue.root.height, False
