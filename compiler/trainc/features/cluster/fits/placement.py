"""Choose the domains for the pods of a pod set, as Kueue's topology-aware scheduling does.

First, the number of pods (and slices of pods) that each domain can hold is counted. Then a level and domains on that level
are chosen, and the choice is refined level by level downwards.
Source: kubernetes-sigs/kueue pkg/cache/scheduler/{tas_flavor_snapshot,tas_partial_slices}.go (findTopologyAssignment,
findLevelWithFitDomains, updateCountsToMinimumGeneric, closingDomainWithTail).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from trainc.api.cluster import kueue_versions
from trainc.api.records import dataclass
from trainc.features.cluster.fits.pods import is_readable
from trainc.features.cluster.fits.topology import NO_ROOM, Counts, Demand, Domain, Placement, Request, Tree, Usage
from trainc.features.cluster.fits.workload import TopologyRequest


@dataclass(frozen=True, slots=True)
class NoPlace:
    """No place was found: of the `count` requested, the roomiest domain of `level` holds `most`.

    Both count slices of `size` pods; one more has only `tail` pods. `reason` describes another problem, such as a level
    missing from the topology.
    """

    reason: str = ""
    level: str = ""
    most: int = 0
    count: int = 0
    size: int = 1
    tail: int = 0


NO_LEVEL = "no Ready node has the labels of this flavor and of every level of its topology"


class Search(Counts):
    """The search for the domains of one request, with the counts that it goes by."""

    # Choosing the level and its domains.

    def choose(self, level: int) -> tuple[int, list[Domain]] | NoPlace:
        """The level, `level` or above, at which the pods fit, and the domains chosen there."""
        domains, demand = self.tree.by_level[level], self.demand
        if not domains:
            return NoPlace(NO_LEVEL)
        by_led = sorted(domains, key=self._led_rank)
        if demand.free:
            single = next((d for d in by_led if self._holds_all(d)), None)
        elif demand.tail:
            both, held = self._tail_counts(demand.leaders), self._slice_counts(demand.leaders)
            single = self._tightest(by_led, demand.slices, demand.leaders, both, held)
        else:
            single = self._tightest(by_led, demand.slices, demand.leaders, self._slice_counts(demand.leaders))
        if single and self._holds_all(single):
            return level, [single]
        if demand.required:
            most = max(self.slices[d.index] for d in domains)
            return NoPlace("", self.tree.levels[level], most, demand.slices, demand.size, demand.tail)
        if level and not demand.free:
            return self.choose(level - 1)
        return self._several(level, by_led)

    def _holds_all(self, domain: Domain) -> bool:
        i = domain.index
        return self.leaders[i] >= self.demand.leaders and self.with_tail_led[i] >= self.demand.slices

    def _several(self, level: int, domains: list[Domain]) -> tuple[int, list[Domain]] | NoPlace:
        """As many domains of a level as needed."""
        demand = self.demand
        domains = self._leader_first(domains, demand.slices, self._slice_counts, tail=demand.tail)
        selected: list[Domain] = []
        tail_fits = not demand.tail
        needed, leaders, at = demand.slices, demand.leaders, 0
        while leaders > 0 and at < len(domains) and self.leaders[domains[at].index] > 0:
            domain = domains[at]
            if not self.demand.free and self.slices_led[domain.index] >= needed:
                domain = self._tightest(domains[at:], needed, leaders, self._slice_counts(leaders))
            selected.append(domain)
            i = domain.index
            tail_fits |= min(self.slices_led[i], needed) <= self.with_tail_led[i]
            leaders -= self.leaders[i]
            needed -= self.slices_led[i]
            at += 1
        total = sum(self.slices[d.index] for d in domains)
        lacking = NoPlace("", "", total, demand.slices, demand.size, demand.tail)
        if leaders > 0:
            return lacking
        followers = sorted(domains[at:], key=self._rank)
        for at, domain in enumerate(followers):
            if needed <= 0:
                break
            chosen = domain
            if not demand.free and self.slices[domain.index] >= needed:
                chosen = self._tightest(followers[at:], needed, 0, self.slices)
            selected.append(chosen)
            i = chosen.index
            tail_fits |= min(self.slices[i], needed) <= self.with_tail[i]
            needed -= self.slices[i]
        if needed <= 0 and not tail_fits and (extra := self._domain_for_tail(followers, selected)):
            return level, [*selected, extra]
        return (level, selected) if needed <= 0 and tail_fits else lacking

    def _domain_for_tail(self, domains: Sequence[Domain], used: Sequence[Domain]) -> Domain | None:
        """The first unused domain that can hold the tail."""
        taken = {domain.index for domain in used}
        return next((d for d in domains if d.index not in taken and self.with_tail[d.index] != NO_ROOM), None)

    def _slice_counts(self, leaders: int) -> list[int]:
        return self.slices_led if leaders else self.slices

    def _led_rank(self, domain: Domain) -> tuple[object, ...]:
        i = domain.index
        slices = self.slices_led[i] if self.demand.free else -self.slices_led[i]
        return -self.leaders[i], slices, self.pods_led[i], domain.values

    def _rank(self, domain: Domain) -> tuple[object, ...]:
        i = domain.index
        return self.slices[i] if self.demand.free else -self.slices[i], self.pods[i], domain.values

    def _tail_counts(self, leaders: int) -> list[int]:
        return self.with_tail_led if leaders else self.with_tail

    def _tightest(self, domains: Sequence[Domain], needed: int, leaders: int, *counts: list[int]) -> Domain:
        """The first of the domains that hold `needed` with the least room to spare; the first of all if none does.

        What they hold is in the first of `counts`; further ones decide between equals.
        """
        fitting = [d for d in domains if self.leaders[d.index] >= leaders and counts[0][d.index] >= needed]
        return min(fitting, key=lambda d: [held[d.index] for held in counts]) if fitting else domains[0]

    def _leader_first(
        self, domains: list[Domain], needed: int, counts: Callable[[int], list[int]], *, tail: int
    ) -> list[Domain]:
        """The domains with one moved to the front: the first that can hold the leader and leaves enough for the rest."""
        leaders = self.demand.leaders
        if not leaders or len(domains) < 2:
            return domains
        held, led = counts(0), counts(1)
        spare = sum(held[d.index] for d in domains) - needed
        tails = self.cheapest_tails(domains) if tail else []
        for at, domain in enumerate(domains):
            i = domain.index
            cost = self.led_cost(domains, at, tails) if tail else held[i] - led[i]
            if self.leaders[i] >= leaders and 0 <= cost <= spare:
                return [domain, *domains[:at], *domains[at + 1 :]]
        return domains

    # Refining the choice, level by level down.

    def refine(self, level: int, domains: list[Domain]) -> list[Domain]:
        """The lowest-level domains that hold the pods, with `pods` and `leaders` set."""
        demand, lowest = self.demand, len(self.tree.by_level) - 1
        domains = self._fill(domains, demand.count, demand.leaders, demand.size, demand.tail, sliced=True)
        while level < min(lowest, demand.slice_level):
            below = sorted((child for domain in domains for child in domain.children), key=self._rank)
            domains = self._fill(below, demand.count, demand.leaders, demand.size, demand.tail, sliced=True)
            level += 1
        while level < lowest:
            size = demand.inner.get(level + 1, 1)
            domains = [below for domain in domains for below in self._into_children(domain, size)]
            level += 1
        return domains

    def _into_children(self, domain: Domain, size: int) -> list[Domain]:
        below = sorted(domain.children, key=self._rank)
        if size > 1:
            for child in below:
                self.slices[child.index] = self.pods[child.index] // size
                self.slices_led[child.index] = self.pods_led[child.index] // size
        return self._fill(below, self.pods[domain.index], self.leaders[domain.index], size, 0, sliced=size > 1)

    def _fill(  # noqa: PLR0913 - a request in numbers
        self, domains: list[Domain], count: int, leaders: int, size: int, tail: int, *, sliced: bool
    ) -> list[Domain]:
        """The first domains that hold `count` pods and the leader, with the pods that go to each."""
        counts = self._slice_counts if sliced else lambda led: self.pods_led if led else self.pods
        size = size if sliced else 1
        needed = count // size
        if leaders:
            domains = self._leader_first(domains, needed, counts, tail=tail)
        selected: list[Domain] = []
        tail_fits = not tail
        for at, domain in enumerate(domains):
            if not tail_fits and (last := self._last_with_tail(domains[at:], needed, leaders)):
                self._give(last.index, needed, leaders, size, tail, sliced=True)
                return [*selected, last]
            held = counts(leaders)
            enough = held[domain.index] >= needed and self.leaders[domain.index] >= leaders
            if enough and not self.demand.free:
                domain = self._tightest(domains[at:], needed, leaders, held)  # noqa: PLW2901 - the last is chosen freely
            i = domain.index
            selected.append(domain)
            placed, leading = min(held[i], needed), min(self.leaders[i], leaders)
            self._give(i, placed, leading, size, 0, sliced=sliced)
            tail_fits = tail_fits or self._takes_tail(i)
            needed, leaders = needed - placed, leaders - leading
            if enough:
                return self._with_tail(selected, domains, tail) if tail else selected
        return []

    def _give(  # noqa: PLR0913 - a share in numbers
        self, i: int, placed: int, leaders: int, size: int, tail: int, *, sliced: bool
    ) -> None:
        self.pods[i], self.leaders[i] = placed * size + tail, leaders
        if sliced:
            self.slices[i] = placed

    def _last_with_tail(self, domains: Sequence[Domain], needed: int, leaders: int) -> Domain | None:
        """The domain that takes all the rest and the tail, if it is no roomier than the rest without the tail needs."""
        held, both = self._slice_counts(leaders), self._tail_counts(leaders)
        last = tightest = domains[0]
        if held[last.index] < needed or self.leaders[last.index] < leaders:
            return None
        if not self.demand.free:
            last = self._tightest(domains, needed, leaders, both, held)
            tightest = self._tightest(domains, needed, leaders, held)
        fits = both[last.index] >= needed and self.leaders[last.index] >= leaders
        return last if fits and held[last.index] <= held[tightest.index] else None

    def _takes_tail(self, i: int) -> bool:
        """Return whether a domain can hold the tail in addition to the slices that it was given."""
        return self.slices[i] <= self._tail_counts(self.leaders[i])[i]

    def _with_tail(self, selected: list[Domain], domains: Sequence[Domain], tail: int) -> list[Domain]:
        """The domains with the tail in one of them, or else in one more; none if it fits nowhere."""
        for domain in selected:
            if self._takes_tail(domain.index):
                self.pods[domain.index] += tail
                return selected
        extra = self._domain_for_tail(domains, selected)
        if extra is None:
            return []
        self._give(extra.index, 0, 0, 1, tail, sliced=True)
        return [*selected, extra]

    def placement(self, domains: Sequence[Domain], counts: Sequence[int]) -> Placement:
        """The pods per lowest-level domain, ordered by the domains' values."""
        ordered = sorted(domains, key=lambda domain: domain.values)
        pod_counts = [(self.tree.leaves[d.leaf].key, counts[d.index]) for d in ordered]
        return tuple((key, count) for key, count in pod_counts if count)


Placements: TypeAlias = dict[str, Placement]


def find_place(tree: Tree, request: Request, usage: Usage) -> Placements | NoPlace:
    """Where the pods of a request go, by pod set, given the usage of the domains; or why there is no place."""
    demand = _demand_of(tree, request.workers.topology, request)
    if isinstance(demand, NoPlace):
        return demand
    checked = [request.workers.pod]
    if request.leader and tree.kueue in kueue_versions.LEADER_FEASIBLE:
        checked.append(request.leader.pod)
    if not all(is_readable(pod, selector=tree.by_node) for pod in checked):
        return NoPlace("its node selector or affinity is not valid")
    search = Search(tree, demand)
    search.count(request, usage)
    chosen = search.choose(demand.level)
    if isinstance(chosen, NoPlace):
        return chosen
    domains = search.refine(*chosen)
    if demand.tail and sum(search.pods[d.index] for d in domains) != demand.count:
        return NoPlace(f"its last slice of {demand.tail} pods does not fit into one domain")
    if request.leader is None:
        return {request.workers.name: search.placement(domains, search.pods)}
    return {
        request.leader.name: search.placement([d for d in domains if search.leaders[d.index]], search.leaders),
        request.workers.name: search.placement(domains, search.pods),
    }


def has_levels(tree: Tree, requested: TopologyRequest) -> bool:
    """Return whether a topology has every requested level."""
    key = _level_key(tree, requested)
    return key is not None and tree.level(key) >= 0 and all(tree.level(level) >= 0 for level, _ in requested.slices)


def _level_key(tree: Tree, requested: TopologyRequest) -> str | None:
    if requested.required is not None or requested.preferred is not None:
        return requested.required if requested.required is not None else requested.preferred
    if requested.slices:
        return tree.levels[0]
    return tree.levels[-1] if requested.unconstrained else None


def _demand_of(tree: Tree, requested: TopologyRequest, request: Request) -> Demand | NoPlace:
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
    leaders, count, required = 1 if request.leader else 0, request.workers.count, requested.required is not None
    tail = count % size if tree.kueue in kueue_versions.PARTIAL_SLICES and len(requested.slices) == 1 else 0
    return Demand(count, leaders, level, slice_level, size, tail, required, free, inner)


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
