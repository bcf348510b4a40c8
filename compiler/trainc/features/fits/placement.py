"""Choose the domains for the pods of a pod set, as Kueue's topology-aware scheduling does.

First, the number of pods (and slices of pods) that each domain can hold is counted from the nodes up. Then a level and
domains on that level are chosen, and the choice is refined level by level downwards.
Source: kubernetes-sigs/kueue pkg/cache/scheduler/tas_flavor_snapshot.go (findTopologyAssignment, fillInCounts,
findLevelWithFitDomains, updateCountsToMinimumGeneric).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from trainc.features.fits.requests import PODS, Amounts, times_in
from trainc.features.fits.selectors import is_readable
from trainc.features.fits.topology import Domain, Placement, Tree, Values, remaining
from trainc.features.fits.workload import PodSet, TopologyRequest
from trainc.startup.records import dataclass, field

# The usage of each lowest-level domain, as several mappings to be added up.
Taken: TypeAlias = Sequence[Mapping[Values, Amounts]]


@dataclass(frozen=True, slots=True)
class Request:
    """Pods to place together: a pod set and, as the leader, the single pod of the other pod set in its group."""

    workers: PodSet
    leader: PodSet | None
    implied: bool


@dataclass(frozen=True, slots=True)
class NoPlace:
    """No place was found: of the `count` requested, the roomiest domain of `level` holds `most`.

    Both count slices of `size` pods. `reason` describes another problem, such as a level missing from the topology.
    """

    reason: str = ""
    level: str = ""
    most: int = 0
    count: int = 0
    size: int = 1


@dataclass(frozen=True, slots=True)
class Wanted:
    """The request in terms of tree levels. `inner` is the slice size for each level below the outer slices."""

    count: int
    leaders: int
    level: int
    slice_level: int
    size: int
    required: bool
    free: bool
    inner: Mapping[int, int] = field(default_factory=dict)


class Search:
    """The counts of one search, by domain index: pods and slices that fit, with and without the leader."""

    def __init__(self, tree: Tree, wanted: Wanted) -> None:
        self.tree = tree
        self.wanted = wanted
        self.pods = [0] * tree.size
        self.slices = [0] * tree.size
        # Without a leader, both counts are the same.
        self.pods_led = [0] * tree.size if wanted.leaders else self.pods
        self.slices_led = [0] * tree.size if wanted.leaders else self.slices
        self.leaders = [0] * tree.size

    # Counting, from the nodes up.

    def count(self, request: Request, taken: Taken) -> None:
        """Count the pods and slices that each domain can hold."""
        worker = (*request.workers.one.items(), (PODS, 1))
        leader = dict((*request.leader.one.items(), (PODS, 1))) if request.leader else None
        untouched: dict[int, int] = {}
        for leaf in self.tree.matching(request.workers.pod):
            room = remaining(leaf, taken) if taken else leaf.capacity
            i = leaf.domain.index
            if room is leaf.capacity:
                if leaf.kind not in untouched:
                    untouched[leaf.kind] = times_in(worker, room)
                self.pods[i] = untouched[leaf.kind]
            else:
                self.pods[i] = times_in(worker, room)
            if leader is not None:
                self._count_led(i, room, worker, leader)
        for level in range(len(self.tree.levels) - 1, -1, -1):
            self._add_up(level)

    def _count_led(
        self, i: int, room: Mapping[str, int], worker: Sequence[tuple[str, int]], leader: Mapping[str, int]
    ) -> None:
        self.pods_led[i] = self.pods[i]
        if times_in(leader.items(), room):
            self.leaders[i] = 1
            self.pods_led[i] = times_in(worker, {name: n - leader.get(name, 0) for name, n in room.items()})

    def _add_up(self, level: int) -> None:
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
            if sliced:
                self.slices_led[i] = self.pods_led[i] // size
                slices[i] = pods[i] // size

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

    # Choosing the level and its domains.

    def choose(self, level: int) -> tuple[int, list[Domain]] | NoPlace:
        """The level, `level` or above, at which the pods fit, and the domains chosen there."""
        domains, wanted = self.tree.by_level[level], self.wanted
        if not domains:
            return NoPlace("no Ready node has the labels of this flavor and of every level of its topology")
        slices = wanted.count // wanted.size
        by_led = sorted(domains, key=self._led_rank)
        if wanted.free:
            single = next((d for d in by_led if self._holds(d, slices)), None)
            if single:
                return level, [single]
        top = by_led[0]
        if self.slices_led[top.index] >= slices and self.leaders[top.index] >= wanted.leaders:
            best = top if wanted.free else self._tightest(by_led, slices, wanted.leaders, self._slice_counts)
            return level, [best]
        most = max(self.slices[d.index] for d in domains)
        if wanted.required:
            return NoPlace("", self.tree.levels[level], most, slices, wanted.size)
        if level and not wanted.free:
            return self.choose(level - 1)
        return self._several(level, by_led, slices)

    def _holds(self, domain: Domain, slices: int) -> bool:
        if not self.wanted.leaders:
            return self.slices[domain.index] >= slices
        return self.leaders[domain.index] >= self.wanted.leaders and self.slices_led[domain.index] >= slices

    def _several(self, level: int, domains: list[Domain], slices: int) -> tuple[int, list[Domain]] | NoPlace:
        """As many domains of a level as needed."""
        domains = self._leader_first(domains, slices, self._slice_counts)
        found: list[Domain] = []
        rest, leaders, at = slices, self.wanted.leaders, 0
        while leaders > 0 and at < len(domains) and self.leaders[domains[at].index] > 0:
            domain = domains[at]
            if not self.wanted.free and self.slices_led[domain.index] >= rest:
                domain = self._tightest(domains[at:], rest, leaders, self._slice_counts)
            found.append(domain)
            leaders -= self.leaders[domain.index]
            rest -= self.slices_led[domain.index]
            at += 1
        total = sum(self.slices[d.index] for d in domains)
        lacking = NoPlace("", "", total, slices, self.wanted.size)
        if leaders > 0:
            return lacking
        others = sorted(domains[at:], key=self._rank)
        for i, domain in enumerate(others):
            if rest <= 0:
                break
            chosen = domain
            if not self.wanted.free and self.slices[domain.index] >= rest:
                chosen = self._tightest(others[i:], rest, 0, self._slice_counts)
            found.append(chosen)
            rest -= self.slices[chosen.index]
        return lacking if rest > 0 else (level, found)

    def _slice_counts(self, leaders: int) -> list[int]:
        return self.slices_led if leaders else self.slices

    def _pod_counts(self, leaders: int) -> list[int]:
        return self.pods_led if leaders else self.pods

    def _led_rank(self, domain: Domain) -> tuple[object, ...]:
        i = domain.index
        slices = self.slices_led[i] if self.wanted.free else -self.slices_led[i]
        return -self.leaders[i], slices, self.pods_led[i], domain.values

    def _rank(self, domain: Domain) -> tuple[object, ...]:
        i = domain.index
        return self.slices[i] if self.wanted.free else -self.slices[i], self.pods[i], domain.values

    def _tightest(
        self, domains: Sequence[Domain], needed: int, leaders: int, counts: Callable[[int], list[int]]
    ) -> Domain:
        """The first of the domains that hold `needed` with the least room to spare; the first of all if none does."""
        held = counts(leaders)
        fitting = [d for d in domains if self.leaders[d.index] >= leaders and held[d.index] >= needed]
        return min(fitting, key=lambda d: held[d.index]) if fitting else domains[0]

    def _leader_first(self, domains: list[Domain], needed: int, counts: Callable[[int], list[int]]) -> list[Domain]:
        """The domains with one moved to the front: the first that can hold the leader at no cost to the count."""
        leaders = self.wanted.leaders
        if not leaders or len(domains) < 2:
            return domains
        held, led = counts(0), counts(1)
        total = sum(held[d.index] for d in domains)
        for at, domain in enumerate(domains):
            i = domain.index
            if self.leaders[i] >= leaders and total - (held[i] - led[i]) >= needed:
                return [domain, *domains[:at], *domains[at + 1 :]]
        return domains

    # Refining the choice, level by level down.

    def refine(self, level: int, domains: list[Domain]) -> list[Domain]:
        """The lowest-level domains that hold the pods, with `pods` and `leaders` set."""
        wanted, lowest = self.wanted, len(self.tree.levels) - 1
        domains = self._fill(domains, wanted.count, wanted.leaders, wanted.size, sliced=True)
        while level < min(lowest, wanted.slice_level):
            below = sorted((child for domain in domains for child in domain.children), key=self._rank)
            domains = self._fill(below, wanted.count, wanted.leaders, wanted.size, sliced=True)
            level += 1
        while level < lowest:
            size = wanted.inner.get(level + 1, 1)
            domains = [below for domain in domains for below in self._into_children(domain, size)]
            level += 1
        return domains

    def _into_children(self, domain: Domain, size: int) -> list[Domain]:
        below = sorted(domain.children, key=self._rank)
        if size > 1:
            for child in below:
                self.slices[child.index] = self.pods[child.index] // size
                self.slices_led[child.index] = self.pods_led[child.index] // size
        return self._fill(below, self.pods[domain.index], self.leaders[domain.index], size, sliced=size > 1)

    def _fill(self, domains: list[Domain], count: int, leaders: int, size: int, *, sliced: bool) -> list[Domain]:
        """The first domains that hold `count` pods and the leader, with the pods that go to each."""
        counts = self._slice_counts if sliced else self._pod_counts
        size = size if sliced else 1
        rest = count // size
        domains = self._ordered_for(domains, rest, leaders, counts)
        found: list[Domain] = []
        for at, domain in enumerate(domains):
            held = counts(leaders)
            enough = held[domain.index] >= rest and self.leaders[domain.index] >= leaders
            if enough and not self.wanted.free:
                domain = self._tightest(domains[at:], rest, leaders, counts)  # noqa: PLW2901 - the last is chosen freely
            i = domain.index
            found.append(domain)
            placed = min(held[i], rest)
            leading = min(self.leaders[i], leaders)
            self.pods[i], self.leaders[i] = placed * size, leading
            if sliced:
                self.slices[i] = placed
            rest, leaders = rest - placed, leaders - leading
            if enough:
                return found
        return []

    def _ordered_for(
        self, domains: list[Domain], needed: int, leaders: int, counts: Callable[[int], list[int]]
    ) -> list[Domain]:
        return self._leader_first(domains, needed, counts) if leaders else domains

    def placement(self, domains: Sequence[Domain], counts: Sequence[int]) -> Placement:
        """The pods per lowest-level domain, ordered by the domains' values."""
        ordered = sorted(domains, key=lambda domain: domain.values)
        found = [(self.tree.leaves[d.leaf].key, counts[d.index]) for d in ordered]
        return tuple((key, count) for key, count in found if count)


Placements: TypeAlias = dict[str, Placement]


def find_place(tree: Tree, request: Request, taken: Taken) -> Placements | NoPlace:
    """Where the pods of a request go, by pod set, given the usage of the domains; or why there is no place."""
    wanted = _wanted(tree, request.workers.topology, request)
    if isinstance(wanted, NoPlace):
        return wanted
    if not is_readable(request.workers.pod, selector=tree.by_hostname):
        return NoPlace("its node selector or affinity is not valid")
    search = Search(tree, wanted)
    search.count(request, taken)
    chosen = search.choose(wanted.level)
    if isinstance(chosen, NoPlace):
        return chosen
    found = search.refine(*chosen)
    if request.leader is None:
        return {request.workers.name: search.placement(found, search.pods)}
    return {
        request.leader.name: search.placement([d for d in found if search.leaders[d.index]], search.leaders),
        request.workers.name: search.placement(found, search.pods),
    }


def has_levels(tree: Tree, requested: TopologyRequest) -> bool:
    """Whether a topology has every requested level."""
    key = _level_key(tree, requested)
    return key is not None and tree.level(key) >= 0 and all(tree.level(level) >= 0 for level, _ in requested.slices)


def _level_key(tree: Tree, requested: TopologyRequest) -> str | None:
    if requested.required is not None or requested.preferred is not None:
        return requested.required if requested.required is not None else requested.preferred
    if requested.slices:
        return tree.levels[0]
    return tree.levels[-1] if requested.unconstrained else None


def _wanted(tree: Tree, requested: TopologyRequest, request: Request) -> Wanted | NoPlace:
    key = _level_key(tree, requested)
    if key is None:
        if not request.implied:
            return NoPlace("it requests no topology level")
        key = tree.levels[-1]
    outer, size = requested.slices[0] if requested.slices else (tree.levels[-1], 1)
    level, slice_level = tree.level(key), tree.level(outer)
    missing = key if level < 0 else outer
    if level < 0 or slice_level < 0:
        return NoPlace(f"the topology has no level {missing}")
    if level > slice_level:
        return NoPlace(f"slices on level {outer} cannot be placed within the narrower level {key}")
    inner = _inner_sizes(tree, requested, slice_level)
    if isinstance(inner, NoPlace):
        return inner
    sliced_only = bool(requested.slices) and requested.required is None and requested.preferred is None
    free = bool(requested.unconstrained) or request.implied or sliced_only
    leaders = 1 if request.leader else 0
    return Wanted(request.workers.count, leaders, level, slice_level, size, requested.required is not None, free, inner)


def _inner_sizes(tree: Tree, requested: TopologyRequest, level: int) -> dict[int, int] | NoPlace:
    sizes: dict[int, int] = {}
    above = requested.slices[0][1] if requested.slices else 1
    for key, size in requested.slices[1:]:
        inner = tree.level(key)
        if inner < 0:
            return NoPlace(f"the topology has no level {key}")
        if inner <= level:
            return NoPlace(f"the inner slices are on level {key}, which is not below {tree.levels[level]}")
        if above % size:
            return NoPlace(f"{above} pods cannot be divided into slices of {size}")
        sizes |= dict.fromkeys(range(level + 1, inner + 1), size)
        above, level = size, inner
    return sizes
