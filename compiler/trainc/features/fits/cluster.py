"""The data model of a cluster: queues, cohorts, flavors, topologies, nodes, namespaces and their limits.

Source: kubernetes-sigs/kueue apis/kueue/v1beta2 (fields and their defaults).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from trainc.api.cluster import Dump, Key
from trainc.api.kube import Json
from trainc.api.records import dataclass, field
from trainc.features.fits.requests import Amounts, Limits, Written
from trainc.kube import kueue

FlavorResource: TypeAlias = tuple[str, str]

HOSTNAME = "kubernetes.io/hostname"
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
class ClusterQueue:
    """A ClusterQueue. `namespaces` selects the namespaces that may use it; None matches none.

    `strict` means StrictFIFO; `tries_next`, that the next flavor is tried before borrowing; `preempts_borrowing` and
    `reclaims_any` come from its preemption policy; `checks` maps its admission checks to the flavors that they are about,
    none for all.
    """

    name: str
    cohort: str
    groups: tuple[Group, ...]
    quotas: Quotas
    namespaces: Json | None
    stopped: bool
    strict: bool
    tries_next: bool
    preempts_borrowing: bool
    reclaims_any: bool
    checks: Mapping[str, frozenset[str]]

    def group(self, resource: str) -> Group | None:
        """The resource group that covers `resource`."""
        return next((group for group in self.groups if resource in group.covered), None)

    def provisioner(self, cluster: Cluster) -> str:
        """What may add nodes for its jobs: an admission check, or what adds nodes to the whole cluster."""
        for check in self.checks:
            if cluster.checks.get(check, PROVISIONING) == PROVISIONING:
                known = "" if check in cluster.checks else ", if it provisions nodes,"
                return f"admission check {check}{known}"
        return cluster.scaler

    def places_later(self, flavor: str, cluster: Cluster) -> bool:
        """Whether Kueue chooses domains of a flavor only after admission checks: in another cluster, or on new nodes."""
        checks = [check for check, flavors in self.checks.items() if flavor in flavors or not flavors]
        return self.runs_elsewhere(cluster) or any(cluster.checks.get(check) == PROVISIONING for check in checks)

    def runs_elsewhere(self, cluster: Cluster) -> bool:
        """Whether its jobs run in other clusters, through MultiKueue."""
        return any(cluster.checks.get(check) == MULTIKUEUE for check in self.checks)

    @property
    def flavors(self) -> list[str]:
        """The names of all its flavors."""
        return [name for group in self.groups for name in group.flavors]


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
    adds nodes, if the snapshot shows it. `kueue` is the step of kube.kueue whose rules apply. Of the kinds in `unknown`, the snapshot has nothing, so their objects may exist.
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
    kueue: str = kueue.DEFAULT
    unknown: frozenset[str] = frozenset()
    dump: Dump = field(default_factory=lambda: Dump(()))

    @property
    def for_pods(self) -> Mapping[str, Mapping[Key, Json]]:
        """The objects by which the API server admits pods."""
        kinds = ("LimitRange", "PriorityClass", "ResourceQuota", "RuntimeClass", "ServiceAccount")
        return {kind: self.dump.of(kind) for kind in kinds if self.dump.of(kind)}

    def parent(self, cohort: str) -> str:
        """The name of a cohort's parent; empty for a cohort that has no object of its own."""
        return self.cohorts[cohort].parent if cohort in self.cohorts else ""

    def loops(self, cohort: str) -> bool:
        """Whether the chain of parents of `cohort` contains a cycle."""
        seen: set[str] = set()
        while cohort and cohort not in seen:
            seen.add(cohort)
            cohort = self.parent(cohort)
        return bool(cohort)

    def faults(self, queue: ClusterQueue) -> list[str]:
        """Why Kueue keeps a ClusterQueue inactive, to complete "it is inactive: ..."; empty if it is active."""
        found = ["it is stopped (stopPolicy)"] if queue.stopped else []
        for name in queue.flavors:
            flavor = self.flavors.get(name)
            if flavor is None:
                found.append(f"there is no ResourceFlavor {name}")
            elif flavor.topology is not None and flavor.topology not in self.topologies:
                found.append(f"there is no Topology {flavor.topology}, which ResourceFlavor {name} refers to")
        if self.loops(queue.cohort):
            found.append(f"the parents of cohort {queue.cohort} form a cycle")
        return found
