"""Assigning flavors to the pod sets of a job, in one look of the scheduler.

Source: kubernetes-sigs/kueue pkg/scheduler/flavorassigner/{flavorassigner,tas_flavorassigner,flavor_assigner_attempts}.go.
Nobody is preempted here: what could only be had that way has mode WAITS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import TypeAlias

from trainc.fits.amounts import PODS, Amounts
from trainc.fits.cluster import Cluster, ClusterQueue, FlavorResource, Group
from trainc.fits.placement import NoPlace, Request, find_place, has_levels
from trainc.fits.quota import QuotaNode, Used, available, borrow_level
from trainc.fits.selectors import MalformedSelector, barring_taint, flavor_matches
from trainc.fits.topology import Occupancy, Placement, Tree, take
from trainc.fits.workload import PodSet, Workload
from trainc.records import dataclass, field

# Pod set by pod set: resource -> the index of the flavor at which the search stopped, -1 where it read the whole list.
Progress: TypeAlias = tuple[Mapping[str, int], ...]
# Pod set -> resource -> flavor: what an earlier look in the same cycle chose, to which a second one is held.
Chosen: TypeAlias = Mapping[str, Mapping[str, str]]


class Mode(IntEnum):
    """How a flavor could be had: not at all, once others leave, or now."""

    NO = 0
    WAITS = 1
    FITS = 2


# Why not, the mildest first.
TOPOLOGY, QUOTA_TAKEN, TOO_MUCH, NO_MATCH = "topology", "waiting-for-quota", "exceeds-max-quota", "no-matching-flavor"
_SEVERITY = ("", TOPOLOGY, QUOTA_TAKEN, TOO_MUCH, NO_MATCH)
NOT_COVERED, NO_TOPOLOGY, SEVERAL = "resource-not-covered", "no-topology-flavor", "several-topologies"


@dataclass(slots=True)
class Choice:
    """A flavor chosen for a resource."""

    flavor: str
    mode: Mode
    level: int
    tried: int = 0


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of trying a flavor: its mode, why not, and in words what stood against it.

    `short` holds the resources of which there is too little: resource -> what is asked and the most there could be.
    """

    mode: Mode
    cause: str
    reason: str = ""
    short: Mapping[str, tuple[int, int]] = field(default_factory=dict)


Attempts: TypeAlias = dict[str, Attempt]


@dataclass(slots=True)
class Assigned:
    """What a pod set got. `failed` says that its own search ended without flavors, `error` why it cannot end well."""

    pod_set: PodSet
    asked: Amounts
    flavors: dict[str, Choice]
    waiting: bool
    failed: bool
    error: str
    attempts: Attempts
    uncovered: str = ""
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
    """The outcome for a job: its pod sets as far as the search came, and how far that was."""

    pod_sets: list[Assigned] = field(default_factory=list)
    used: dict[FlavorResource, int] = field(default_factory=dict)
    level: int = 0
    mode: Mode = Mode.NO

    @property
    def progress(self) -> Progress:
        """How far the search of each pod set came."""
        return tuple({name: choice.tried for name, choice in one.flavors.items()} for one in self.pod_sets)

    @property
    def chosen(self) -> Chosen:
        """The flavors of each pod set."""
        return {one.pod_set.name: {res: c.flavor for res, c in one.flavors.items()} for one in self.pod_sets}

    def settle(self) -> Mode:
        """Set the mode to the worst of the pod sets."""
        self.mode = min((one.mode for one in self.pod_sets), default=Mode.NO)
        return self.mode

    def cause(self, queue: ClusterQueue) -> str:
        """Why there is no assignment; empty where there is one."""
        error = next((one.error for one in self.pod_sets if one.error), "")
        if error or self.mode != Mode.NO:
            return error
        if any(one.uncovered for one in self.pod_sets):
            return NOT_COVERED
        return max((_pod_set_cause(one, queue) for one in self.pod_sets), key=_SEVERITY.index, default="")


def _pod_set_cause(one: Assigned, queue: ClusterQueue) -> str:
    """Per resource group the mildest cause, for any of its flavors would do; among groups the most severe."""
    if one.no_place:
        return TOPOLOGY
    if one.mode != Mode.NO:
        return ""
    refused = {name: attempt.cause for name, attempt in one.attempts.items() if attempt.mode == Mode.NO}
    groups = [[refused[name] for name in group.flavors if name in refused] for group in queue.groups]
    mildest = [min(causes, key=_SEVERITY.index) for causes in groups if causes]
    return max(mildest, key=_SEVERITY.index, default=NO_MATCH)


class Assigner:
    """Looks for flavors in a queue, as the cluster is at that moment.

    `used` is what is taken of the quota, `occupied` of the nodes; `progress` where an earlier look stopped; `held` the
    flavors that a second look of one cycle must keep to.
    """

    def __init__(
        self,
        cluster: Cluster,
        trees: Mapping[str, Tree],
        queue: ClusterQueue,
        node: QuotaNode,
        used: Used,
        occupied: Occupancy,
    ) -> None:
        self.cluster = cluster
        self.queue = queue
        self.node = node
        self.used = used
        self.occupied = occupied
        self.trees = {name: trees[name] for name in queue.flavors if name in trees}
        # Nothing else can be meant by a queue whose flavors all have a topology; one without flavors counts as such.
        self.places_all = all(name in self.trees for name in queue.flavors)

    def assign(self, workload: Workload, progress: Progress = (), held: Chosen | None = None) -> Assignment:
        """The best assignment from where the search stopped before."""
        found = Assignment()
        for members in _grouped(workload):
            if not self._assign_group(workload, members, progress, held or {}, found):
                found.settle()
                return found
        if found.settle() != Mode.NO:
            self._place(workload, found)
        return found

    # Flavors, group of pod sets by group.

    def _assign_group(
        self, workload: Workload, members: Sequence[int], progress: Progress, held: Chosen, found: Assignment
    ) -> bool:
        """Assign flavors to pod sets that belong together; False where the search ends here."""
        pod_sets = [workload.pod_sets[i] for i in members]
        asked = [self._asked(one) for one in pod_sets]
        total: Amounts = {}
        for each in asked:
            for name, amount in each.items():
                total[name] = total.get(name, 0) + amount
        flavors: dict[str, Choice] | None = {}
        waiting, error, uncovered, attempts = False, "", "", Attempts()
        for name in sorted(total):
            group = self.queue.group(name)
            if flavors is None or name in flavors or (group is None and not total[name]):
                continue
            if group is None:
                flavors, uncovered = None, name
                break
            start = _start(progress, members[0], name)
            search = _GroupSearch(self, pod_sets, group, name, total, found.used, held)
            best, malformed = search.run(start)
            _merge(attempts, search.attempts, group)
            if malformed or not best:
                flavors, error = None, NO_MATCH if malformed else ""
                break
            flavors.update(best)
            waiting |= search.mode != Mode.FITS
        going_on = True
        for one, each in zip(pod_sets, asked, strict=True):
            own = self._own(one, each, flavors or {})
            failed = flavors is None
            assigned = Assigned(one, each, own, waiting, failed, error, attempts, uncovered)
            self._append(found, assigned)
            going_on &= not error and not (each and not own)
        return going_on

    def _asked(self, one: PodSet) -> Amounts:
        covered = self.queue.group(PODS) is not None
        return {**one.total, PODS: one.count} if covered else dict(one.total)

    def _own(self, one: PodSet, asked: Amounts, flavors: Mapping[str, Choice]) -> dict[str, Choice]:
        """The flavors that a pod set takes of those of its group; one that asks for nothing takes those with a topology."""
        if asked:
            return {name: choice for name, choice in flavors.items() if name in asked}
        if one.topology.group is not None:
            return {name: choice for name, choice in flavors.items() if choice.flavor in self.trees}
        return {}

    def _append(self, found: Assignment, assigned: Assigned) -> None:
        found.pod_sets.append(assigned)
        for name, choice in assigned.flavors.items():
            found.level = max(found.level, choice.level)
            key = (choice.flavor, name)
            found.used[key] = found.used.get(key, 0) + assigned.asked.get(name, 0)

    def wants_place(self, one: PodSet) -> bool:
        """Whether the pods of a pod set are placed on domains."""
        return one.topology.explicit or self.places_all

    def mismatch(self, name: str, group: Group, one: PodSet) -> str:
        """Why a flavor cannot be used by a pod set; empty where it can. MalformedSelector where its affinity is unreadable."""
        flavor = self.cluster.flavors[name]
        wrong = self._topology_mismatch(name, group, one)
        if wrong:
            return wrong
        taint = barring_taint(flavor.taints, (*(one.pod.get("tolerations") or ()), *flavor.tolerations))
        if taint:
            value = f"={taint['value']}" if taint.get("value") else ""
            return f"its taint {taint.get('key')}{value}:{taint.get('effect')} is not tolerated"
        if not flavor_matches(one.pod, flavor.labels):
            return "its node labels do not match the pods' node selector or affinity"
        return ""

    def _topology_mismatch(self, name: str, group: Group, one: PodSet) -> str:
        has_topology = self.cluster.flavors[name].topology is not None
        if not one.topology.explicit:
            return "" if self.places_all or not has_topology else "it only takes pods that ask for a topology"
        if not has_topology:
            return "it has no topology" if group.covered & one.one.keys() else ""
        return "" if has_levels(self.trees[name], one.topology) else "its topology does not have the level that is asked for"

    # Places on the topology.

    def _place(self, workload: Workload, found: Assignment) -> None:
        requests = self.requests(workload, found)
        if found.settle() == Mode.FITS:
            failed = self._search(requests, found, empty=False, keep=True)
            if not failed:
                return
            self._lower(found, failed[0], Mode.WAITS)
        if found.mode == Mode.WAITS:
            failed = self._search(requests, found, empty=True, keep=False)
            if failed:
                self._lower(found, failed[0], Mode.NO)
                failed[0].no_place = failed[1]
            else:
                for _, request in requests:
                    for one in self._members(request, found):
                        self._lower(found, one, Mode.WAITS)

    def requests(self, workload: Workload, found: Assignment) -> list[tuple[str, Request]]:
        """The pod sets to be placed, by flavor; a pod set that cannot be is given its error."""
        by_flavor: dict[str, list[Assigned]] = {}
        for one in found.pod_sets:
            if not self.wants_place(one.pod_set) or one.error or not one.pod_set.count or one.placement is not None:
                continue
            flavors = sorted({c.flavor for c in one.flavors.values() if c.flavor in self.trees})
            if len(flavors) != 1:
                one.error = SEVERAL if flavors else NO_TOPOLOGY
                continue
            one.tree = flavors[0]
            by_flavor.setdefault(flavors[0], []).append(one)
        return [(name, request) for name in sorted(by_flavor) for request in _paired(by_flavor[name])]

    def _search(
        self, requests: Sequence[tuple[str, Request]], found: Assignment, *, empty: bool, keep: bool
    ) -> tuple[Assigned, NoPlace] | None:
        """Look for a place for every request; the first pod set without one. With `keep` the places are written down."""
        places: dict[str, Placement] = {}
        shared: dict[tuple[str, ...], Amounts] = {}
        apart: dict[str, dict[tuple[str, ...], Amounts]] = {}
        for name, request in requests:
            tree = self.trees[name]
            assumed = shared if tree.by_hostname else apart.setdefault(name, {})
            result = find_place(tree, request, (assumed,) if empty else (self.occupied.taken(name), assumed))
            if isinstance(result, NoPlace):
                return self._members(request, found)[0], result
            for one in self._members(request, found):
                take(assumed, result[one.pod_set.name], one.pod_set.one)
            places |= result
        if keep:
            for assigned in found.pod_sets:
                assigned.placement = places.get(assigned.pod_set.name, assigned.placement)
        return None

    def reserve_places(self, workload: Workload, found: Assignment) -> None:
        """Write down where a job that waits would be placed on empty nodes, so that these are kept for it."""
        if found.mode == Mode.WAITS and any(self.wants_place(one) for one in workload.pod_sets):
            self._search(self.requests(workload, found), found, empty=True, keep=True)

    def _members(self, request: Request, found: Assignment) -> list[Assigned]:
        names = {request.workers.name, request.leader.name if request.leader else request.workers.name}
        return [one for one in found.pod_sets if one.pod_set.name in names]

    def _lower(self, found: Assignment, one: Assigned, mode: Mode) -> None:
        one.waiting = True
        for choice in one.flavors.values():
            choice.mode = mode
        found.mode = mode


def _start(progress: Progress, pod_set: int, resource: str) -> int:
    return progress[pod_set].get(resource, -1) + 1 if pod_set < len(progress) else 0


def _grouped(workload: Workload) -> list[list[int]]:
    """The pod sets by index, those of one pod set group together, in the order of their first."""
    groups: dict[object, list[int]] = {}
    for i, one in enumerate(workload.pod_sets):
        name = one.topology.group
        groups.setdefault(i if name is None else name, []).append(i)
    return list(groups.values())


def _paired(members: Sequence[Assigned]) -> list[Request]:
    """The placement requests of one flavor: each pod set alone, or the two of a group with the smaller as leader."""
    groups: dict[object, list[PodSet]] = {}
    for i, one in enumerate(members):
        name = one.pod_set.topology.group
        groups.setdefault(i if name is None else name, []).append(one.pod_set)
    found = []
    for group in groups.values():
        workers, leader = group[0], group[1] if len(group) > 1 else None
        if leader and leader.count > workers.count:
            workers, leader = leader, workers
        found.append(Request(workers, leader, not workers.topology.explicit))
    return found


def _merge(attempts: Attempts, others: Mapping[str, Attempt], group: Group) -> None:
    """Join what was found out about the flavors of a group for one more resource; the worse counts."""
    for name, other in others.items():
        known = attempts.get(name)
        if known:
            cause = max(known.cause, other.cause, key=_SEVERITY.index)
            reason = known.reason or other.reason
            other = Attempt(min(known.mode, other.mode), cause, reason, {**known.short, **other.short})  # noqa: PLW2901
        attempts[name] = other
    if others:
        for name in group.flavors:
            if name in attempts and name not in others:
                attempts[name] = Attempt(Mode.NO, NO_MATCH, attempts[name].reason, attempts[name].short)


class _GroupSearch:
    """The search of one resource group's flavors for pod sets that belong together."""

    def __init__(
        self,
        assigner: Assigner,
        pod_sets: Sequence[PodSet],
        group: Group,
        resource: str,
        total: Amounts,
        before: Mapping[FlavorResource, int],
        held: Chosen,
    ) -> None:
        self.assigner = assigner
        self.pod_sets = pod_sets
        self.group = group
        self.asked = {name: amount for name, amount in total.items() if name in group.covered}
        self.before = before
        self.allowed = {held[one.name].get(resource) for one in pod_sets if one.name in held} if held else None
        self.attempts: Attempts = {}
        self.mode = Mode.NO

    def run(self, start: int) -> tuple[dict[str, Choice], bool]:
        """The best flavor for each resource of the group, from the flavor `start` on; and whether a selector is unreadable."""
        best: dict[str, Choice] = {}
        best_rank = (Mode.NO, 0)
        last = -1
        for at in range(start, len(self.group.flavors)):
            last, name = at, self.group.flavors[at]
            if self.allowed is not None and name not in self.allowed:
                continue
            try:
                wrong = self._mismatch(name)
            except MalformedSelector as error:
                self.attempts[name] = Attempt(Mode.NO, NO_MATCH, f"the pods' affinity cannot be read: {error}")
                return {}, True
            if wrong:
                self.attempts[name] = Attempt(Mode.NO, NO_MATCH, wrong)
                continue
            choices, rank = self._try(name)
            if rank[0] == Mode.FITS and (rank[1] == 0 or not self.assigner.queue.tries_next):
                best, best_rank = choices, rank
                break
            if rank[0] != Mode.NO and rank > best_rank:
                best, best_rank = choices, rank
        for choice in best.values():
            choice.tried = -1 if last == len(self.group.flavors) - 1 else last
        self.mode = best_rank[0]
        return best, False

    def _mismatch(self, name: str) -> str:
        return next(filter(None, (self.assigner.mismatch(name, self.group, one) for one in self.pod_sets)), "")

    def _try(self, name: str) -> tuple[dict[str, Choice], tuple[Mode, int]]:
        """The choices of a flavor for all resources, and its rank: the worst mode, then the least borrowing."""
        choices: dict[str, Choice] = {}
        worst = (Mode.FITS, 0)
        cause, short = "", {}
        for resource in sorted(self.asked):
            mode, level, why = self._quota(name, resource, short)
            cause = max(cause, why, key=_SEVERITY.index)
            worst = min(worst, (mode, -level))
            if worst[0] == Mode.NO:
                worst = (Mode.NO, 0)
            else:
                choices[resource] = Choice(name, mode, level)
        self.attempts[name] = Attempt(worst[0], cause, "", short)
        return choices, worst

    def _quota(self, name: str, resource: str, short: dict[str, tuple[int, int]]) -> tuple[Mode, int, str]:
        """How a flavor's resource could be had, how far from home, and why not."""
        assigner, key = self.assigner, (name, resource)
        wanted = self.before.get(key, 0) + self.asked[resource]
        most = assigner.node.potential(key)
        if wanted > most:
            short[resource] = (wanted, most)
            return Mode.NO, 0, TOO_MUCH
        level, reclaimable = borrow_level(assigner.node, key, wanted, assigner.used)
        if wanted <= max(0, available(assigner.node, key, assigner.used)):
            return Mode.FITS, level, ""
        quota = assigner.queue.quotas.get(key)
        if (quota and quota.nominal >= wanted) or reclaimable or assigner.queue.preempts_borrowing:
            return Mode.WAITS, level, ""
        return Mode.NO, level, QUOTA_TAKEN
