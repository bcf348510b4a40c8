"""The result of scheduling a job: the flavors and domains of its pod sets, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import TypeAlias

from trainc.api.kube import selectors
from trainc.api.records import dataclass, field, replace
from trainc.features.cluster.fits.cluster import ClusterQueue, FlavorResource, Group, available, borrow_level
from trainc.features.cluster.fits.placement import NoPlace, Placements, find_place, has_levels
from trainc.features.cluster.fits.pods import PODS, Amounts, add_amounts, barring_taint, flavor_matches, other_label
from trainc.features.cluster.fits.preemption import Target, find_targets
from trainc.features.cluster.fits.state import Places, State
from trainc.features.cluster.fits.topology import Placement, Request, Values, occupy
from trainc.features.cluster.fits.workload import PodSet, Workload

# By pod set: resource -> index of the flavor at which the search stopped, -1 if all flavors were tried.
Progress: TypeAlias = tuple[Mapping[str, int], ...]
# Pod set -> resource -> flavor.
Chosen: TypeAlias = Mapping[str, Mapping[str, str]]


class Mode(IntEnum):
    """Return whether a flavor is unavailable, available once other jobs finish, or available now."""

    NO = 0
    WAITS = 1
    FITS = 2


# Causes, mildest first.
TOPOLOGY, QUOTA_TAKEN, TOO_MUCH, NO_MATCH = "topology", "waiting-for-quota", "exceeds-max-quota", "no-matching-flavor"
_NO_LEVEL = "its topology does not have the requested level"
_SEVERITY = ("", TOPOLOGY, QUOTA_TAKEN, TOO_MUCH, NO_MATCH)
NOT_COVERED, NO_TOPOLOGY, SEVERAL = "resource-not-covered", "no-topology-flavor", "several-topologies"


def more_severe(left: str, right: str) -> str:
    """The more severe of two causes."""
    return max(left, right, key=_SEVERITY.index)


@dataclass(slots=True)
class Choice:
    """A flavor chosen for a resource: its mode, how far up the tree quota is borrowed, and where the search stopped."""

    flavor: str
    mode: Mode
    level: int
    tried: int = 0


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of trying a flavor: its mode, the cause if it does not fit, and a description of the mismatch.

    `short` maps resources that can never suffice to (requested amount, largest possible amount), `more` those that others
    hold to the amount that is missing.
    """

    mode: Mode
    cause: str
    reason: str = ""
    short: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    more: Mapping[str, int] = field(default_factory=dict)


Attempts: TypeAlias = dict[str, Attempt]


@dataclass(slots=True)
class Assigned:
    """The assignment of a pod set. `waiting` means that some flavor is in use, `failed` that none was found.

    `error` is a cause that no flavor can avoid; `uncovered` is a resource that the queue does not cover.
    """

    pod_set: PodSet
    requested: Amounts
    flavors: dict[str, Choice]
    attempts: Attempts
    waiting: bool
    failed: bool
    error: str
    uncovered: str
    placement: Placement | None = None
    tree: str = ""
    no_place: NoPlace | None = None

    @property
    def mode(self) -> Mode:
        """The worst mode of its flavors."""
        if self.error:
            return Mode.NO
        if not self.waiting and not self.failed:
            return Mode.FITS
        return min((choice.mode for choice in self.flavors.values()), default=Mode.NO)


@dataclass(slots=True)
class Assignment:
    """The result for a job: its pod sets as far as the search got. `level` is how far up the tree quota is borrowed.

    `saw_nodes` means that the result depends on what is placed on the nodes. `targets` are evicted to make room for it.
    """

    pod_sets: list[Assigned] = field(default_factory=list)
    used: dict[FlavorResource, int] = field(default_factory=dict)
    level: int = 0
    mode: Mode = Mode.NO
    saw_nodes: bool = False
    targets: list[Target] = field(default_factory=list)

    @property
    def progress(self) -> Progress:
        """How far the search of each pod set got."""
        return tuple({name: choice.tried for name, choice in assigned.flavors.items()} for assigned in self.pod_sets)

    @property
    def chosen(self) -> Chosen:
        """The flavors of each pod set."""
        return {part.pod_set.name: {res: c.flavor for res, c in part.flavors.items()} for part in self.pod_sets}

    def add(self, assigned: Assigned) -> None:
        """Add a pod set and charge its usage."""
        self.pod_sets.append(assigned)
        for name, choice in assigned.flavors.items():
            self.level = max(self.level, choice.level)
            key = (choice.flavor, name)
            self.used[key] = self.used.get(key, 0) + assigned.requested.get(name, 0)

    def settle(self) -> Mode:
        """Set the mode to the worst of the pod sets."""
        self.mode = min((assigned.mode for assigned in self.pod_sets), default=Mode.NO)
        return self.mode

    def put(self, placements: Mapping[str, Placement]) -> None:
        """Record the placement of pod sets."""
        for assigned in self.pod_sets:
            assigned.placement = placements.get(assigned.pod_set.name, assigned.placement)

    def lower(self, assigned: Assigned, mode: Mode) -> None:
        """Set the mode of a pod set's flavors, and with it that of the whole assignment."""
        assigned.waiting = True
        for choice in assigned.flavors.values():
            choice.mode = mode
        self.mode = mode

    def cause(self, queue: ClusterQueue) -> str:
        """Why there is no assignment; empty if there is one."""
        error = next((assigned.error for assigned in self.pod_sets if assigned.error), "")
        if error or self.mode != Mode.NO:
            return error
        if any(assigned.uncovered for assigned in self.pod_sets):
            return NOT_COVERED
        return max((_pod_set_cause(assigned, queue) for assigned in self.pod_sets), key=_SEVERITY.index, default="")


def _pod_set_cause(assigned: Assigned, queue: ClusterQueue) -> str:
    """The mildest cause within each resource group, as any flavor would do; the most severe one across groups."""
    if assigned.no_place:
        return TOPOLOGY
    if assigned.mode != Mode.NO:
        return ""
    refused = {name: attempt.cause for name, attempt in assigned.attempts.items() if attempt.mode == Mode.NO}
    groups = [[refused[name] for name in group.flavors if name in refused] for group in queue.groups]
    mildest = [min(causes, key=_SEVERITY.index) for causes in groups if causes]
    return max(mildest, key=_SEVERITY.index, default=NO_MATCH)


# One scheduling attempt: assign flavors to the pod sets in order, then place those that need a topology.
#
# The flavors of a resource group are tried in order, for pod sets that belong together. What needs others to leave has
# mode WAITS, whether or not they can be evicted. Source: kubernetes-sigs/kueue
# pkg/scheduler/flavorassigner/{flavorassigner,tas_flavorassigner,flavor_assigner_attempts}.go.


class _Way(IntEnum):
    """How a flavor becomes available: not at all, when others end, by eviction in the own queue or in others, or now."""

    NONE = 0
    ENDING = 1
    EVICTING = 2
    RECLAIMING = 3
    NOW = 4

    @property
    def mode(self) -> Mode:
        return Mode.NO if self == _Way.NONE else Mode.FITS if self == _Way.NOW else Mode.WAITS


# How preferable a flavor is: the larger, the better.
_Rank: TypeAlias = tuple[int, ...]


@dataclass(slots=True)
class GroupSearch:
    """The search of one resource group for `pod_sets`, which together request `requested`.

    `before` is the usage of earlier pod sets of the job; `allowed` restricts a repeated search within a cycle.
    """

    assigner: Assigner
    workload: Workload
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
        best_rank: _Rank = (0,)
        last = -1
        for at in range(start, len(self.group.flavors)):
            last, name = at, self.group.flavors[at]
            if not self._usable(name):
                if self.malformed:
                    return {}
                continue
            choices, (way, level) = self._try(name)
            rank = self._rank(way, level)
            stops = self._stops(way, level)
            if stops or (way and rank > best_rank):
                best, best_rank, self.mode = choices, rank, way.mode
            if stops:
                break
        for choice in best.values():
            choice.tried = -1 if last == len(self.group.flavors) - 1 else last
        return best

    def _stops(self, way: _Way, level: int) -> bool:
        """Return whether no further flavor is tried after this one."""
        queue = self.assigner.queue
        if way <= _Way.ENDING or (level and queue.next_before_borrowing):
            return False
        return way == _Way.NOW or not queue.next_before_preempting

    def _rank(self, way: _Way, level: int) -> _Rank:
        if way <= _Way.ENDING:
            return way, -level
        return (2, -level, way) if self.assigner.queue.prefers_preempting else (2, way, -level)

    def _usable(self, name: str) -> bool:
        """Return whether a flavor is suitable for all pod sets, regardless of the quota left."""
        if self.allowed is not None and name not in self.allowed:
            return False
        try:
            mismatches = (self.assigner.mismatch(name, self.group, pod_set) for pod_set in self.pod_sets)
            mismatch = next(filter(None, mismatches), "")
        except selectors.MalformedSelector as error:
            self.malformed, mismatch = True, f"the affinity of the pods is not valid: {error}"
        if mismatch:
            self.attempts[name] = Attempt(Mode.NO, NO_MATCH, mismatch)
        return not mismatch

    def _try(self, name: str) -> tuple[dict[str, Choice], tuple[_Way, int]]:
        """The choices of a flavor for all resources, and the worst of their ways and levels of borrowing."""
        choices: dict[str, Choice] = {}
        short: dict[str, tuple[int, int]] = {}
        more: dict[str, int] = {}
        worst, cause = (_Way.NOW, 0), ""
        for resource in self.requested:
            way, level, why = self._quota(name, resource, short, more)
            cause = more_severe(cause, why)
            worst = min(worst, (way, level), key=lambda item: self._rank(*item))
            choices[resource] = Choice(name, way.mode, level)
        self.attempts[name] = Attempt(worst[0].mode, cause, "", short, more)
        return choices, worst

    def _quota(
        self, name: str, resource: str, short: dict[str, tuple[int, int]], more: dict[str, int]
    ) -> tuple[_Way, int, str]:
        """The way to a flavor's resource, how far up the tree it borrows, and the cause if it does not fit."""
        node, queue, state = self.assigner.node, self.assigner.queue, self.assigner.state
        key = (name, resource)
        needed, most = self.before.get(key, 0) + self.requested[resource], node.potential(key)
        if needed > most:
            short[resource] = (needed, most)
            return _Way.NONE, 0, TOO_MUCH
        level, reclaimable = borrow_level(node, key, needed, state.used)
        left = max(0, available(node, key, state.used))
        if needed <= left:
            return _Way.NOW, level, ""
        more[resource] = needed - left
        quota = queue.quotas.get(key)
        if not ((quota and quota.nominal >= needed) or reclaimable or queue.preemption.borrows):
            return _Way.NONE, level, QUOTA_TAKEN
        targets, without = find_targets(state, queue, self.workload, {key: needed}, (key,))
        if not targets:
            return _Way.ENDING, level, ""
        level, _ = borrow_level(node, key, needed, without.used)
        own = any(target.holder.queue == queue.name for target in targets)
        return _Way.EVICTING if own else _Way.RECLAIMING, level, ""


def merge_attempts(attempts: Attempts, added: Mapping[str, Attempt], group: Group) -> None:
    """Merge the attempts for one more resource into those of the group; the worse one counts."""
    for name, other in added.items():
        if existing := attempts.get(name):
            cause = more_severe(existing.cause, other.cause)
            short, more = {**existing.short, **other.short}, {**existing.more, **other.more}
            mode, reason = min(existing.mode, other.mode), existing.reason or other.reason
            attempts[name] = Attempt(mode, cause, reason, short, more)
        else:
            attempts[name] = other
    if added:
        for name in group.flavors:
            if name in attempts and name not in added:
                attempts[name] = replace(attempts[name], mode=Mode.NO, cause=NO_MATCH)


_FNV_OFFSET, _FNV_PRIME, _MASK = 0xCBF29CE484222325, 0x100000001B3, 2**64 - 1


class Assigner:
    """Assigns flavors and places in a queue, given the state of the cluster at one moment.

    `trees` are the topologies of its flavors. `places_all` means that every pod set is placed on domains, even without a
    request for it, because all flavors have a topology. This includes queues without flavors.
    """

    def __init__(self, state: State, queue: ClusterQueue) -> None:
        self.state = state
        self.queue = queue
        self.node = state.nodes[queue.name]
        self.trees = {name: state.trees[name] for name in queue.flavors if name in state.trees}
        self.places_all = all(state.cluster.flavors[name].topology is not None for name in queue.flavors)

    def assign(self, workload: Workload, progress: Progress = (), held: Chosen | None = None) -> Assignment:
        """The best assignment, resuming the search at `progress` and restricted to the flavors in `held` if given."""
        assignment = Assignment()
        complete = all(
            self._assign_group(workload, members, progress, held, assignment)
            for members in _by_group(enumerate(workload.pod_sets))
        )
        if assignment.settle() != Mode.NO and complete:
            self._place(workload, assignment)
        if assignment.mode == Mode.WAITS:
            self._make_room(workload, assignment)
        return assignment

    def _make_room(self, workload: Workload, assignment: Assignment) -> None:
        """Find who is evicted for a job; without anybody, its places on empty nodes are reserved for it."""
        needing = {
            (choice.flavor, resource)
            for assigned in assignment.pod_sets
            for resource, choice in assigned.flavors.items()
            if choice.mode == Mode.WAITS
        }
        requests = self._requests(assignment)

        def places(state: State) -> Places:
            return Assigner(state, self.queue)._search(workload, requests, empty=False)  # noqa: SLF001 - a changed state

        used = {key: amount for key, amount in assignment.used.items() if amount}
        assignment.targets, without = find_targets(
            self.state, self.queue, workload, used, needing, lambda state: isinstance(places(state), dict)
        )
        found = places(without) if assignment.targets else self._search(workload, requests, empty=True)
        if isinstance(found, dict):
            assignment.put(found)

    # Flavors, by group of pod sets.

    def _assign_group(
        self,
        workload: Workload,
        members: Sequence[int],
        progress: Progress,
        held: Chosen | None,
        assignment: Assignment,
    ) -> bool:
        """Assign flavors to pod sets that belong together; return False if the search ends here."""
        pod_sets = [workload.pod_sets[i] for i in members]
        counts_pods = self.queue.group(PODS) is not None
        requested = [{**pod_set.total, PODS: pod_set.count} if counts_pods else pod_set.total for pod_set in pod_sets]
        total: Amounts = {}
        for amounts in requested:
            add_amounts(total, amounts)
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
            allowed = {held.get(pod_set.name, {}).get(name) for pod_set in pod_sets} if held else None
            search = GroupSearch(self, workload, group, pod_sets, of_group, assignment.used, allowed)
            best = search.run(progress[members[0]].get(name, -1) + 1 if members[0] < len(progress) else 0)
            merge_attempts(attempts, search.attempts, group)
            if not best:
                failed, error = True, NO_MATCH if search.malformed else ""
                break
            flavors.update(best)
            waiting |= search.mode != Mode.FITS
        going_on = not error
        for pod_set, amounts in zip(pod_sets, requested, strict=True):
            choices = {} if failed else self._choices_of(pod_set, amounts, flavors)
            assignment.add(Assigned(pod_set, amounts, choices, attempts, waiting, failed, error, uncovered))
            going_on &= bool(choices) or not amounts
        return going_on

    def _choices_of(self, pod_set: PodSet, requested: Amounts, flavors: Mapping[str, Choice]) -> dict[str, Choice]:
        """The flavors of the group that a pod set takes; one without requests takes those that have a topology."""
        if requested:
            return {name: choice for name, choice in flavors.items() if name in requested}
        if pod_set.topology.group is not None:
            return {name: choice for name, choice in flavors.items() if choice.flavor in self.trees}
        return {}

    def mismatch(self, name: str, group: Group, pod_set: PodSet) -> str:
        """Why a pod set cannot use a flavor; empty if it can. MalformedSelector if its affinity is unreadable."""
        flavor = self.state.cluster.flavors[name]
        if key := other_label(pod_set.pod, flavor.labels):
            return f"its nodes have {key}={flavor.labels[key]}, and the pods select {key}={pod_set.pod['nodeSelector'][key]}"
        if mismatch := self._topology_mismatch(name, group, pod_set):
            return mismatch
        taint = barring_taint(flavor.taints, (*(pod_set.pod.get("tolerations") or ()), *flavor.tolerations))
        if taint:
            value = f"={taint['value']}" if taint.get("value") else ""
            return f"its taint {taint.get('key')}{value}:{taint.get('effect')} is not tolerated"
        if not flavor_matches(pod_set.pod, flavor.labels):
            return "its node labels do not match the node selector or affinity of the pods"
        return ""

    def _topology_mismatch(self, name: str, group: Group, pod_set: PodSet) -> str:
        flavor = self.state.cluster.flavors[name]
        if not pod_set.topology.explicit:
            accepted = self.places_all or flavor.topology is None
            return "" if accepted else "it accepts only pods that request a topology"
        if flavor.vague:
            return ""
        if flavor.topology is None:
            return "it has no topology" if group.covered & pod_set.per_pod.keys() else ""
        tree, requested = self.trees[name], pod_set.topology
        if has_levels(tree, requested):
            return ""
        levels = filter(None, (requested.required, requested.preferred, *(level for level, _ in requested.slices)))
        missing = next((level for level in levels if tree.level(level) < 0), None)
        return f"its topology has no level {missing}, only {', '.join(tree.levels)}" if missing else _NO_LEVEL

    # Placement on the topology.

    def _place(self, workload: Workload, assignment: Assignment) -> None:
        requests = self._requests(assignment)
        if assignment.settle() == Mode.FITS and requests:
            assignment.saw_nodes = True
            result = self._search(workload, requests, empty=False)
            if isinstance(result, dict):
                assignment.put(result)
                return
            assignment.lower(_find_pod_set(assignment, result[0]), Mode.WAITS)
        if assignment.mode == Mode.WAITS:
            result = self._search(workload, requests, empty=True)
            if isinstance(result, dict):
                for name in result:
                    assignment.lower(_find_pod_set(assignment, name), Mode.WAITS)
            else:
                failed = _find_pod_set(assignment, result[0])
                failed.no_place = result[1]
                assignment.lower(failed, Mode.NO)

    def _requests(self, assignment: Assignment) -> list[tuple[str, Request]]:
        """The pod sets to place, by flavor; a pod set that cannot be placed gets its error set."""
        by_flavor: dict[str, list[PodSet]] = {}
        for assigned in assignment.pod_sets:
            needs_placement = assigned.pod_set.topology.explicit or self.places_all
            if not needs_placement or assigned.error or not assigned.pod_set.count or assigned.placement is not None:
                continue
            flavors = {choice.flavor for choice in assigned.flavors.values() if choice.flavor in self.trees}
            if any(self.state.cluster.flavors[choice.flavor].vague for choice in assigned.flavors.values()):
                continue
            if len(flavors) != 1:
                assigned.error = SEVERAL if flavors else NO_TOPOLOGY
                continue
            assigned.tree = flavors.pop()
            if not self.queue.places_later(assigned.tree, self.state.cluster):
                by_flavor.setdefault(assigned.tree, []).append(assigned.pod_set)
        return [(name, request) for name in sorted(by_flavor) for request in _pair(by_flavor[name])]

    def _search(self, workload: Workload, requests: Sequence[tuple[str, Request]], *, empty: bool) -> Places:
        """Place every request, on the nodes in their current state or (`empty`) as if nothing was running."""
        cache, occupied = self.state.place_cache, self.state.occupied
        if not (empty or any(occupied.usage_in(self.trees[name]) for name, _ in requests)):
            empty = True
        key = (workload.shape, tuple((name, request.workers.name) for name, request in requests))
        if empty and key in cache:
            return cache[key]
        result = self._find_places(requests, empty=empty)
        if empty:
            cache[key] = result
        return result

    def _find_places(self, requests: Sequence[tuple[str, Request]], *, empty: bool) -> Places:
        placements: Placements = {}
        on_hosts: dict[Values, Amounts] = {}
        apart: dict[str, dict[Values, Amounts]] = {}
        for name, request in requests:
            tree = self.trees[name]
            assumed = on_hosts if tree.by_hostname else apart.setdefault(name, {})
            usage = () if empty else self.state.occupied.usage_in(tree)
            result = find_place(tree, request, (*usage, assumed) if assumed else usage)
            if isinstance(result, NoPlace):
                return request.workers.name, result
            for pod_set in (request.workers, *((request.leader,) if request.leader else ())):
                on_leaves = result[pod_set.name]
                placements[pod_set.name] = tree.publish(on_leaves)
                occupy(assumed, placements[pod_set.name], pod_set.per_pod)
                if tree.hidden:
                    occupy(assumed, on_leaves, pod_set.per_pod)
        return placements


def _find_pod_set(assignment: Assignment, name: str) -> Assigned:
    return next(assigned for assigned in assignment.pod_sets if assigned.pod_set.name == name)


def _kueue_order(resource: str) -> int:
    """The order in which Kueue visits resources: by a hash of their names (pkg/resources/slice_requests.go).

    It determines which of several problems is reported, but never the verdict.
    """
    value = _FNV_OFFSET
    for byte in resource.encode("utf-8", "surrogatepass"):
        value = (value ^ byte) * _FNV_PRIME & _MASK
    return value


def _by_group(pod_sets: Iterator[tuple[int, PodSet]]) -> Iterator[list[int]]:
    groups: dict[object, list[int]] = {}
    for i, pod_set in pod_sets:
        name = pod_set.topology.group
        groups.setdefault(i if name is None else name, []).append(i)
    yield from groups.values()


def _pair(pod_sets: Sequence[PodSet]) -> Iterator[Request]:
    """The placement requests of one flavor: a single pod set, or the two of a group with the smaller one as leader."""
    for members in _by_group(iter(enumerate(pod_sets))):
        workers, leader = pod_sets[members[0]], pod_sets[members[1]] if len(members) > 1 else None
        if leader and leader.count > workers.count:
            workers, leader = leader, workers
        yield Request(workers, leader, not workers.topology.explicit)
