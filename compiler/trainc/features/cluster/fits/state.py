"""The quota and nodes in use at one moment, and the Workloads that use them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from trainc.api.records import dataclass, field, replace
from trainc.features.cluster.fits.cluster import Cluster, FlavorResource, QuotaNode, Used, release, use
from trainc.features.cluster.fits.placement import NoPlace, Placements
from trainc.features.cluster.fits.pods import Amounts
from trainc.features.cluster.fits.topology import Occupancy, Placement, Tree

PlacesKey: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]
# The places of each pod set, or the pod set for which none was found.
Places: TypeAlias = "Placements | tuple[str, NoPlace]"


@dataclass(frozen=True, slots=True, eq=False)
class Holder:
    """A Workload that holds quota of a ClusterQueue.

    `since` is when it reserved the quota and `created` when it was queued, in seconds. `places` has the flavor, the domains
    and the requests of each pod set that was placed. `ends` is when Kueue ends it at the latest, None if it does not.
    """

    name: str
    job: str
    queue: str
    local_queue: str
    priority: int
    since: float
    created: float
    uid: str
    evicted: bool
    amounts: Mapping[FlavorResource, int]
    places: Sequence[tuple[str, Placement, Amounts]] = ()
    ends: float | None = None
    admitted: bool = True


@dataclass(frozen=True, slots=True)
class State:
    """The state of the cluster at one moment of scheduling: its objects, and the quota and nodes in use.

    `place_cache` has where jobs would go on empty nodes, by their shape and flavors. `running` has the Workloads of active
    ClusterQueues, which may be preempted, and `evicting` those that already are.
    """

    cluster: Cluster
    nodes: Mapping[str, QuotaNode]
    trees: Mapping[str, Tree]
    used: Used
    occupied: Occupancy
    place_cache: dict[PlacesKey, Places] = field(default_factory=dict)
    running: Mapping[str, Sequence[Holder]] = field(default_factory=dict)
    evicting: frozenset[str] = frozenset()

    def copy(self) -> State:
        """A state whose usage can change independently."""
        return replace(self, used=dict(self.used), occupied=self.occupied.copy())

    def without(self, holders: Iterable[Holder]) -> State:
        """The state in which some Workloads have ended."""
        state = self.copy()
        for holder in holders:
            state.free(holder)
        return state

    def hold(self, holder: Holder) -> None:
        """Charge a Workload to quota and nodes."""
        for key, amount in holder.amounts.items():
            use(self.nodes[holder.queue], key, amount, self.used)
        self._occupy(holder, 1)

    def free(self, holder: Holder) -> None:
        """Take a Workload off quota and nodes."""
        for key, amount in holder.amounts.items():
            release(self.nodes[holder.queue], key, amount, self.used)
        self._occupy(holder, -1)

    def _occupy(self, holder: Holder, times: int) -> None:
        for flavor, placement, per_pod in holder.places:
            if flavor in self.trees:
                pods = tuple((key, count * times) for key, count in placement)
                self.occupied.add(self.trees[flavor], pods, per_pod, shared=True)
