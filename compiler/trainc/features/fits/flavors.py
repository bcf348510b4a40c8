"""The search for a flavor: tries those of a resource group in order, for pod sets that belong together.

Source: kubernetes-sigs/kueue pkg/scheduler/flavorassigner/{flavorassigner,tas_flavorassigner,flavor_assigner_attempts}.go.
Preemption is not simulated: what would require it has mode WAITS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from trainc.features.fits.amounts import Amounts
from trainc.features.fits.assignment import (
    NO_MATCH,
    QUOTA_TAKEN,
    TOO_MUCH,
    Attempt,
    Attempts,
    Choice,
    Mode,
    more_severe,
)
from trainc.features.fits.cluster import Cluster, ClusterQueue, FlavorResource, Group
from trainc.features.fits.domain_request import NoPlace
from trainc.features.fits.placement import Placements, has_levels
from trainc.features.fits.quota import QuotaNode, Used, available, borrow_level
from trainc.features.fits.selectors import MalformedSelector, barring_taint, flavor_matches
from trainc.features.fits.topology import Occupancy, Tree
from trainc.features.fits.workload import PodSet
from trainc.startup.records import dataclass, field

PlacesKey: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]
# The places of each pod set, or the pod set for which none was found.
Places: TypeAlias = "Placements | tuple[str, NoPlace]"


@dataclass(frozen=True, slots=True)
class State:
    """The state of the cluster at one moment of scheduling: its objects, and the quota and nodes in use.

    `places` caches where jobs would go on empty nodes, by their shape and flavors.
    """

    cluster: Cluster
    nodes: Mapping[str, QuotaNode]
    trees: Mapping[str, Tree]
    used: Used
    occupied: Occupancy
    places: dict[PlacesKey, Places] = field(default_factory=dict)


class QueueView:
    """A queue with the topologies of its flavors.

    `places_all` means that every pod set is placed on domains, even without a request for it, because all flavors have
    a topology. This includes queues without flavors.
    """

    def __init__(self, state: State, queue: ClusterQueue) -> None:
        self.state = state
        self.queue = queue
        self.node = state.nodes[queue.name]
        self.trees = {name: state.trees[name] for name in queue.flavors if name in state.trees}
        self.places_all = all(name in self.trees for name in queue.flavors)

    def mismatch(self, name: str, group: Group, one: PodSet) -> str:
        """Why a pod set cannot use a flavor; empty if it can. MalformedSelector if its affinity is unreadable."""
        flavor = self.state.cluster.flavors[name]
        wrong = self._topology_mismatch(name, group, one)
        if wrong:
            return wrong
        taint = barring_taint(flavor.taints, (*(one.pod.get("tolerations") or ()), *flavor.tolerations))
        if taint:
            value = f"={taint['value']}" if taint.get("value") else ""
            return f"its taint {taint.get('key')}{value}:{taint.get('effect')} is not tolerated"
        if not flavor_matches(one.pod, flavor.labels):
            return "its node labels do not match the node selector or affinity of the pods"
        return ""

    def _topology_mismatch(self, name: str, group: Group, one: PodSet) -> str:
        has_topology = self.state.cluster.flavors[name].topology is not None
        if not one.topology.explicit:
            return "" if self.places_all or not has_topology else "it accepts only pods that request a topology"
        if not has_topology:
            return "it has no topology" if group.covered & one.one.keys() else ""
        return "" if has_levels(self.trees[name], one.topology) else "its topology does not have the requested level"


@dataclass(slots=True)
class GroupSearch:
    """The search of one resource group for `pod_sets`, which together request `requested`.

    `before` is the usage of earlier pod sets of the job; `allowed` restricts a repeated search within a cycle.
    """

    view: QueueView
    group: Group
    pod_sets: Sequence[PodSet]
    requested: Amounts
    before: Mapping[FlavorResource, int]
    allowed: set[str | None] | None = None
    attempts: Attempts = field(default_factory=dict)
    mode: Mode = Mode.NO
    malformed: bool = False

    def run(self, start: int) -> dict[str, Choice]:
        """The best flavor for each resource, from the flavor at index `start` on; empty if there is none."""
        best: dict[str, Choice] = {}
        best_rank, last = (Mode.NO, 0), -1
        for at in range(start, len(self.group.flavors)):
            last, name = at, self.group.flavors[at]
            if not self._usable(name):
                if self.malformed:
                    return {}
                continue
            choices, rank = self._try(name)
            if rank[0] == Mode.FITS and (rank[1] == 0 or not self.view.queue.tries_next):
                best, best_rank = choices, rank
                break
            if rank[0] != Mode.NO and rank > best_rank:
                best, best_rank = choices, rank
        for choice in best.values():
            choice.tried = -1 if last == len(self.group.flavors) - 1 else last
        self.mode = best_rank[0]
        return best

    def _usable(self, name: str) -> bool:
        """Whether a flavor is suitable for all pod sets, regardless of the quota left."""
        if self.allowed is not None and name not in self.allowed:
            return False
        try:
            found = (self.view.mismatch(name, self.group, one) for one in self.pod_sets)
            wrong = next(filter(None, found), "")
        except MalformedSelector as error:
            self.malformed, wrong = True, f"the affinity of the pods is not valid: {error}"
        if wrong:
            self.attempts[name] = Attempt(Mode.NO, NO_MATCH, wrong)
        return not wrong

    def _try(self, name: str) -> tuple[dict[str, Choice], tuple[Mode, int]]:
        """The choices of a flavor for all resources, and its rank: the worst mode, then the least borrowing."""
        choices: dict[str, Choice] = {}
        short: dict[str, tuple[int, int]] = {}
        rank, cause = (Mode.FITS, 0), ""
        for resource in self.requested:
            mode, level, why = self._quota(name, resource, short)
            cause = more_severe(cause, why)
            rank = min(rank, (mode, -level))
            choices[resource] = Choice(name, mode, level)
        self.attempts[name] = Attempt(rank[0], cause, "", short)
        return choices, rank

    def _quota(self, name: str, resource: str, short: dict[str, tuple[int, int]]) -> tuple[Mode, int, str]:
        """The mode of a flavor's resource, how far up the tree it borrows, and the cause if it does not fit."""
        node, queue, used = self.view.node, self.view.queue, self.view.state.used
        key = (name, resource)
        wanted, most = self.before.get(key, 0) + self.requested[resource], node.potential(key)
        if wanted > most:
            short[resource] = (wanted, most)
            return Mode.NO, 0, TOO_MUCH
        level, reclaimable = borrow_level(node, key, wanted, used)
        if wanted <= max(0, available(node, key, used)):
            return Mode.FITS, level, ""
        quota = queue.quotas.get(key)
        if (quota and quota.nominal >= wanted) or reclaimable or queue.preempts_borrowing:
            return Mode.WAITS, level, ""
        return Mode.NO, level, QUOTA_TAKEN


def merge_attempts(attempts: Attempts, others: Mapping[str, Attempt], group: Group) -> None:
    """Merge the attempts for one more resource into those of the group; the worse one counts."""
    for name, other in others.items():
        known = attempts.get(name)
        attempts[name] = _worse(known, other) if known else other
    if others:
        for name in group.flavors:
            if name in attempts and name not in others:
                attempts[name] = Attempt(Mode.NO, NO_MATCH, attempts[name].reason, attempts[name].short)


def _worse(left: Attempt, right: Attempt) -> Attempt:
    cause = more_severe(left.cause, right.cause)
    return Attempt(min(left.mode, right.mode), cause, left.reason or right.reason, {**left.short, **right.short})
