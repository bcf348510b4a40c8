"""One scheduling attempt: assign flavors to the pod sets in order, then place those that need a topology.

Source: kubernetes-sigs/kueue pkg/scheduler/flavorassigner/{flavorassigner,tas_flavorassigner}.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trainc.features.fits.amounts import PODS, Amounts
from trainc.features.fits.assignment import (
    NO_MATCH,
    NO_TOPOLOGY,
    SEVERAL,
    Assigned,
    Assignment,
    Attempts,
    Choice,
    Chosen,
    Mode,
    Progress,
)
from trainc.features.fits.cluster import ClusterQueue
from trainc.features.fits.domain_request import NoPlace, Request
from trainc.features.fits.flavors import GroupSearch, Places, QueueView, State, merge_attempts
from trainc.features.fits.placement import Placements, find_place
from trainc.features.fits.topology import Values, occupy
from trainc.features.fits.workload import PodSet, Workload

_FNV_OFFSET, _FNV_PRIME, _MASK = 0xCBF29CE484222325, 0x100000001B3, 2**64 - 1


class Assigner:
    """Assigns flavors and places in a queue, given the state of the cluster at one moment."""

    def __init__(self, state: State, queue: ClusterQueue) -> None:
        self.view = QueueView(state, queue)
        self.queue = queue
        self.trees = self.view.trees

    def assign(self, workload: Workload, progress: Progress = (), held: Chosen | None = None) -> Assignment:
        """The best assignment, resuming the search at `progress` and restricted to the flavors in `held` if given."""
        found = Assignment()
        whole = all(self._assign_group(workload, one, progress, held, found) for one in _grouped(workload))
        if found.settle() != Mode.NO and whole:
            self._place(workload, found)
        self._reserve(workload, found)
        return found

    def _reserve(self, workload: Workload, found: Assignment) -> None:
        """Record where a waiting job would be placed on empty nodes, so that these are reserved for it."""
        if found.mode == Mode.WAITS:
            result = self._search(workload, self._requests(found), empty=True)
            if isinstance(result, dict):
                found.put(result)

    # Flavors, by group of pod sets.

    def _assign_group(
        self, workload: Workload, members: Sequence[int], progress: Progress, held: Chosen | None, found: Assignment
    ) -> bool:
        """Assign flavors to pod sets that belong together; return False if the search ends here."""
        pod_sets = [workload.pod_sets[i] for i in members]
        requested = [self._requested(one) for one in pod_sets]
        total = _sum(requested)
        flavors: dict[str, Choice] = {}
        attempts: Attempts = {}
        waiting, failed, error, uncovered = False, False, "", ""
        for name in sorted(total, key=_kueue_order):
            group = self.queue.group(name)
            if name in flavors or (group is None and not total[name]):
                continue
            if group is None:
                failed, uncovered = True, name
                break
            of_group = {name: amount for name, amount in total.items() if name in group.covered}
            search = GroupSearch(self.view, group, pod_sets, of_group, found.used, _allowed(held, pod_sets, name))
            best = search.run(_start(progress, members[0], name))
            merge_attempts(attempts, search.attempts, group)
            if not best:
                failed, error = True, NO_MATCH if search.malformed else ""
                break
            flavors.update(best)
            waiting |= search.mode != Mode.FITS
        going_on = not error
        for one, each in zip(pod_sets, requested, strict=True):
            own = {} if failed else self._own(one, each, flavors)
            found.add(Assigned(one, each, own, attempts, waiting, failed, error, uncovered))
            going_on &= bool(own) or not each
        return going_on

    def _requested(self, one: PodSet) -> Amounts:
        covered = self.queue.group(PODS) is not None
        return {**one.total, PODS: one.count} if covered else one.total

    def _own(self, one: PodSet, requested: Amounts, flavors: Mapping[str, Choice]) -> dict[str, Choice]:
        """The flavors of the group that a pod set takes; one without requests takes those that have a topology."""
        if requested:
            return {name: choice for name, choice in flavors.items() if name in requested}
        if one.topology.group is not None:
            return {name: choice for name, choice in flavors.items() if choice.flavor in self.trees}
        return {}

    # Placement on the topology.

    def _place(self, workload: Workload, found: Assignment) -> None:
        requests = self._requests(found)
        if found.settle() == Mode.FITS and requests:
            found.saw_nodes = True
            result = self._search(workload, requests, empty=False)
            if isinstance(result, dict):
                found.put(result)
                return
            found.lower(_named(found, result[0]), Mode.WAITS)
        if found.mode == Mode.WAITS:
            result = self._search(workload, requests, empty=True)
            if isinstance(result, dict):
                for name in result:
                    found.lower(_named(found, name), Mode.WAITS)
            else:
                failed = _named(found, result[0])
                failed.no_place = result[1]
                found.lower(failed, Mode.NO)

    def _requests(self, found: Assignment) -> list[tuple[str, Request]]:
        """The pod sets to place, by flavor; a pod set that cannot be placed gets its error set."""
        by_flavor: dict[str, list[PodSet]] = {}
        for one in found.pod_sets:
            wanted = one.pod_set.topology.explicit or self.view.places_all
            if not wanted or one.error or not one.pod_set.count or one.placement is not None:
                continue
            flavors = {choice.flavor for choice in one.flavors.values() if choice.flavor in self.trees}
            if len(flavors) != 1:
                one.error = SEVERAL if flavors else NO_TOPOLOGY
                continue
            one.tree = flavors.pop()
            by_flavor.setdefault(one.tree, []).append(one.pod_set)
        return [(name, request) for name in sorted(by_flavor) for request in _paired(by_flavor[name])]

    def _search(self, workload: Workload, requests: Sequence[tuple[str, Request]], *, empty: bool) -> Places:
        """Place every request, on the nodes in their current state or (`empty`) as if nothing was running."""
        known, occupied = self.view.state.places, self.view.state.occupied
        if not (empty or any(occupied.taken(self.trees[name]) for name, _ in requests)):
            empty = True
        key = (workload.shape, tuple((name, request.workers.name) for name, request in requests))
        if empty and key in known:
            return known[key]
        result = self._found(requests, empty=empty)
        if empty:
            known[key] = result
        return result

    def _found(self, requests: Sequence[tuple[str, Request]], *, empty: bool) -> Places:
        places: Placements = {}
        on_hosts: dict[Values, Amounts] = {}
        apart: dict[str, dict[Values, Amounts]] = {}
        for name, request in requests:
            tree = self.trees[name]
            assumed = on_hosts if tree.by_hostname else apart.setdefault(name, {})
            taken = () if empty else self.view.state.occupied.taken(tree)
            result = find_place(tree, request, (*taken, assumed) if assumed else taken)
            if isinstance(result, NoPlace):
                return request.workers.name, result
            for one in (request.workers, *((request.leader,) if request.leader else ())):
                occupy(assumed, result[one.name], one.one)
            places |= result
        return places


def _named(found: Assignment, name: str) -> Assigned:
    return next(one for one in found.pod_sets if one.pod_set.name == name)


def _sum(parts: Sequence[Amounts]) -> Amounts:
    total: Amounts = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def _kueue_order(resource: str) -> int:
    """The order in which Kueue visits resources: by a hash of their names (pkg/resources/slice_requests.go).

    It determines which of several problems is reported, but never the verdict.
    """
    value = _FNV_OFFSET
    for byte in resource.encode("utf-8", "surrogatepass"):
        value = (value ^ byte) * _FNV_PRIME & _MASK
    return value


def _start(progress: Progress, pod_set: int, resource: str) -> int:
    return progress[pod_set].get(resource, -1) + 1 if pod_set < len(progress) else 0


def _allowed(held: Chosen | None, pod_sets: Sequence[PodSet], resource: str) -> set[str | None] | None:
    return None if not held else {held.get(one.name, {}).get(resource) for one in pod_sets}


def _grouped(workload: Workload) -> list[list[int]]:
    """The indexes of the pod sets, with those of a pod set group together, ordered by the first of each group."""
    return list(_by_group(enumerate(workload.pod_sets)))


def _by_group(pod_sets: Iterator[tuple[int, PodSet]]) -> Iterator[list[int]]:
    groups: dict[object, list[int]] = {}
    for i, one in pod_sets:
        name = one.topology.group
        groups.setdefault(i if name is None else name, []).append(i)
    yield from groups.values()


def _paired(pod_sets: Sequence[PodSet]) -> Iterator[Request]:
    """The placement requests of one flavor: a single pod set, or the two of a group with the smaller one as leader."""
    for members in _by_group(iter(enumerate(pod_sets))):
        workers, leader = pod_sets[members[0]], pod_sets[members[1]] if len(members) > 1 else None
        if leader and leader.count > workers.count:
            workers, leader = leader, workers
        yield Request(workers, leader, not workers.topology.explicit)
