"""Count the pods, and slices of pods, that each domain of a topology can hold, from the leaves up.

Source: kubernetes-sigs/kueue pkg/cache/scheduler/{tas_flavor_snapshot,tas_partial_slices}.go (fillInCounts,
fillTailCounts, recordUsageDomainCaps).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trainc.api.records import dataclass, field
from trainc.features.fits.requests import PODS, times_in
from trainc.features.fits.topology import Domain, Taken, Tree, remaining
from trainc.features.fits.workload import PodSet
from trainc.kube.kueue import LEADER_FEASIBLE

# The number of whole slices together with the last, smaller one in a domain that cannot even hold that.
NO_ROOM = -1


@dataclass(frozen=True, slots=True)
class Request:
    """Pods to place together: a pod set and, as the leader, the single pod of the other pod set in its group."""

    workers: PodSet
    leader: PodSet | None
    implied: bool


@dataclass(frozen=True, slots=True)
class Wanted:
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

    def __init__(self, tree: Tree, wanted: Wanted) -> None:
        self.tree = tree
        self.wanted = wanted
        self.leaders = [0] * tree.size
        self.pods = [0] * tree.size
        self.slices = [0] * tree.size
        self.pods_led = [0] * tree.size if wanted.leaders else self.pods
        self.slices_led = [0] * tree.size if wanted.leaders else self.slices
        self.with_tail = [0] * tree.size if wanted.tail else self.slices
        self.with_tail_led = list(self.with_tail) if wanted.leaders and wanted.tail else self.slices_led
        if wanted.tail and not wanted.leaders:
            self.with_tail_led = self.with_tail

    def count(self, request: Request, taken: Taken) -> None:
        """Count what each domain can hold, given the usage of the domains."""
        worker = (*request.workers.one.items(), (PODS, 1))
        leader = dict((*request.leader.one.items(), (PODS, 1))) if request.leader else None
        suitable = self.tree.matching(request.workers.pod)
        for_leader = None
        if request.leader and self.tree.by_node and self.tree.kueue in LEADER_FEASIBLE:
            for_leader = {leaf.domain.index for leaf in self.tree.matching(request.leader.pod)}
        untouched: dict[int, int] = {}
        for leaf in suitable:
            room = remaining(leaf.capacity, leaf.key, taken) if taken else leaf.capacity
            i = leaf.domain.index
            if room is leaf.capacity:
                if leaf.kind not in untouched:
                    untouched[leaf.kind] = times_in(worker, room)
                self.pods[i] = untouched[leaf.kind]
            else:
                self.pods[i] = times_in(worker, room)
            if leader is not None:
                self._count_led(i, room, worker, leader if for_leader is None or i in for_leader else None)
        if for_leader and leader is not None:
            self._count_leader_alone(for_leader - {leaf.domain.index for leaf in suitable}, leader, taken)
        for level in range(len(self.tree.by_level) - 1, -1, -1):
            bounds = None
            if self.tree.hidden and level == len(self.tree.levels) - 1:
                bounds = {d.index: self._bound(d, worker, leader, taken) for d in self.tree.by_level[level]}
            self._add_up(level, bounds)

    def _count_led(
        self,
        i: int,
        room: Mapping[str, int],
        worker: Sequence[tuple[str, int]],
        leader: Mapping[str, int] | None,
    ) -> None:
        self.pods_led[i] = self.pods[i]
        if leader is not None and times_in(leader.items(), room):
            self.leaders[i] = 1
            self.pods_led[i] = times_in(worker, _without(room, leader))

    def _count_leader_alone(self, indexes: set[int], leader: Mapping[str, int], taken: Taken) -> None:
        """Count the nodes that suit the leader but not the workers."""
        for leaf in self.tree.leaves:
            i = leaf.domain.index
            if i in indexes and times_in(leader.items(), remaining(leaf.capacity, leaf.key, taken)):
                self.leaders[i] = 1

    def _bound(
        self, domain: Domain, worker: Sequence[tuple[str, int]], leader: Mapping[str, int] | None, taken: Taken
    ) -> tuple[int, int, int]:
        """The most pods, leaders, and pods together with a leader that the capacity of a domain as a whole leaves room for."""
        room = remaining(self.tree.rooms[domain.values], domain.values, taken)
        pods = times_in(worker, room)
        if leader is None or not times_in(leader.items(), room):
            return pods, 0, pods
        return pods, 1, times_in(worker, _without(room, leader))

    def _add_up(self, level: int, bounds: Mapping[int, tuple[int, int, int]] | None) -> None:
        wanted = self.wanted
        size, sliced, inner = wanted.size, level == wanted.slice_level, wanted.inner.get(level + 1, 1)
        pods, slices = self.pods, self.slices
        for domain in self.tree.by_level[level]:
            i = domain.index
            if domain.children and not wanted.leaders:
                pods[i] = sum([pods[child.index] // inner * inner for child in domain.children])
                slices[i] = sum([slices[child.index] for child in domain.children])
            elif domain.children:
                self._add_children(domain, inner)
            whole = slices[i]
            if bounds:
                self._stay_within(i, *bounds[i])
            if sliced:
                self.slices_led[i] = self.pods_led[i] // size
                slices[i] = pods[i] // size
            if wanted.tail and sliced:
                self.with_tail_led[i] = self._slices_with_tail(self.pods_led[i])
                self.with_tail[i] = self._slices_with_tail(pods[i])
            elif wanted.tail and level < wanted.slice_level:
                self._add_tails(domain, whole)

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
        size = self.wanted.size
        self.pods[i] = min(self.pods[i], pods)
        self.slices[i] = min(self.slices[i], self.pods[i] // size)
        if self.wanted.leaders:
            self.leaders[i] = min(self.leaders[i], leaders)
            # What the leader costs is measured at a node, so it may be more than the domain has left.
            self.pods_led[i] = min(max(0, self.pods_led[i]), pods_led)
            self.slices_led[i] = min(max(0, self.slices_led[i]), self.pods_led[i] // size)

    # The tail: the last slice, if it is smaller than the others. It needs a domain of the slice level like any other.

    def _slices_with_tail(self, pods: int) -> int:
        tail = self.wanted.tail
        return (pods - tail) // self.wanted.size if pods >= tail else NO_ROOM

    def _add_tails(self, domain: Domain, whole: int) -> None:
        """Count the slices in a domain together with the tail, which goes to the child where it reduces the count least."""
        i = domain.index
        tails = self.cheapest_tails(domain.children)
        self.with_tail[i] = NO_ROOM
        if tails:
            self.with_tail[i] = min(whole - tails[0][0], self._slices_with_tail(self.pods[i]))
        if self.wanted.leaders:
            costs = [
                cost for at in range(len(domain.children)) if (cost := self._led_cost(domain.children, at, tails)) >= 0
            ]
            self.with_tail_led[i] = NO_ROOM
            if costs:
                self.with_tail_led[i] = min(whole - min(costs), self._slices_with_tail(self.pods_led[i]))

    def cheapest_tails(self, domains: Sequence[Domain]) -> list[tuple[int, int]]:
        """The two domains that give up the fewest slices for the tail, as (slices given up, index in `domains`)."""
        costs = [
            (self.slices[d.index] - self.with_tail[d.index], at)
            for at, d in enumerate(domains)
            if self.with_tail[d.index] != NO_ROOM
        ]
        return sorted(costs)[:2]

    def _led_cost(self, domains: Sequence[Domain], at: int, tails: Sequence[tuple[int, int]]) -> int:
        return self.led_cost(domains, at, tails) if self.leaders[domains[at].index] else -1

    def led_cost(self, domains: Sequence[Domain], at: int, tails: Sequence[tuple[int, int]]) -> int:
        """The slices given up if a domain holds the leader, and this or another one the tail; -1 if none holds that."""
        i = domains[at].index
        apart = [cost + self.slices[i] - self.slices_led[i] for cost, other in tails if other != at]
        if self.with_tail_led[i] != NO_ROOM:
            apart.append(self.slices[i] - self.with_tail_led[i])
        return min(apart, default=-1)


def _without(room: Mapping[str, int], taken: Mapping[str, int]) -> dict[str, int]:
    return {name: amount - taken.get(name, 0) for name, amount in room.items()}
