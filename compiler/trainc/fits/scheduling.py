"""Kueue's scheduler: the queues of waiting jobs, and cycle after cycle a look at the head of each.

Nothing ever finishes, and nobody is preempted. Source: kubernetes-sigs/kueue pkg/scheduler/scheduler.go,
pkg/cache/queue/cluster_queue.go, pkg/workload/resources.go (ValidateAdmissibility).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush

from trainc.fits.assigner import Assigner
from trainc.fits.assignment import QUOTA_TAKEN, Assignment, Mode, Progress
from trainc.fits.cluster import Cluster, ClusterQueue, FlavorResource
from trainc.fits.flavors import State
from trainc.fits.quota import available, quota_tree, use
from trainc.fits.requests import out_of_range, over_limit
from trainc.fits.selectors import MalformedSelector, selects
from trainc.fits.topology import Occupancy, still_fits, topology_trees
from trainc.fits.workload import Workload
from trainc.startup.records import dataclass, field, replace

NAMESPACE, RESOURCES, LIMIT_RANGE = "namespace", "resources", "limit-range"
NO_LONGER, BEHIND, ADMITTED = "no-longer-fits", "behind", "admitted"

# A job that is looked at again and again has seen every flavor by then.
_MOST_IDLE_CYCLES = 14


def idle(cluster: Cluster) -> State:
    """A cluster with nothing running."""
    return State(cluster, quota_tree(cluster), topology_trees(cluster), {}, Occupancy())


@dataclass(slots=True)
class Entry:
    """A job in the queues. `cause` is what the last look at it said, `assignment` what it found."""

    order: int
    workload: Workload
    cause: str = BEHIND
    assignment: Assignment | None = None
    progress: Progress = ()


@dataclass(slots=True)
class _Line:
    """The waiting jobs of a ClusterQueue: those still looked at, by order, and the shapes that did not fit."""

    active: list[tuple[int, Entry]] = field(default_factory=list)
    refused_shapes: set[str] = field(default_factory=set)


class Scheduler:
    """The state of all queues, quota and nodes, from idle on. Jobs are submitted one after the other."""

    def __init__(self, state: State) -> None:
        self.state = replace(state, used=dict(state.used), occupied=state.occupied.copy())
        self.lines: dict[str, _Line] = {}
        self.looks = 0

    def submit(self, entry: Entry, queue: ClusterQueue) -> None:
        """Queue a job and let the scheduler run until nothing moves."""
        line = self.lines.setdefault(queue.name, _Line())
        if not queue.strict and entry.workload.shape in line.refused_shapes:
            return
        heappush(line.active, (entry.order, entry))
        idle, before = 0, None
        while idle < _MOST_IDLE_CYCLES:
            heads = self._heads()
            if self._cycle(heads):
                idle, before = 0, None
                continue
            idle += 1
            after = [(head.order, head.progress, head.cause) for _, head in heads], self._sizes()
            if after == before or not any(line.active for line in self.lines.values()):
                return
            before = after

    def _sizes(self) -> list[int]:
        return [len(line.active) for line in self.lines.values()]

    def _heads(self) -> list[tuple[ClusterQueue, Entry]]:
        queues = self.state.cluster.cluster_queues
        return [(queues[name], heappop(line.active)[1]) for name, line in self.lines.items() if line.active]

    def _cycle(self, heads: Iterable[tuple[ClusterQueue, Entry]]) -> bool:
        """One scheduling cycle; whether a job was admitted."""
        cycle = _Cycle(self.state)
        looked = []
        for queue, entry in heads:
            self.looks += 1
            cause = inadmissible(entry.workload, queue, self.state.cluster)
            if cause:
                entry.cause, entry.assignment, entry.progress = cause, None, ()
                self._requeue(queue, entry, again=queue.strict and cause != NAMESPACE, shape=False)
            else:
                entry.assignment = cycle.look(queue, entry)
                entry.progress = entry.assignment.progress
                looked.append((queue, entry))
        looked.sort(key=lambda pair: (pair[1].assignment.level if pair[1].assignment else 0, pair[1].order))
        for queue, entry in looked:
            entry.cause = cycle.process(queue, entry)
        for queue, entry in looked:
            if entry.cause != ADMITTED:
                skipped = entry.cause == NO_LONGER
                self._requeue(queue, entry, again=queue.strict or skipped, shape=not skipped)
        return any(entry.cause == ADMITTED for _, entry in looked)

    def _requeue(self, queue: ClusterQueue, entry: Entry, *, again: bool, shape: bool) -> None:
        line = self.lines[queue.name]
        if again or any(at != -1 for tried in entry.progress for at in tried.values()):
            heappush(line.active, (entry.order, entry))
        elif shape and not queue.strict:
            line.refused_shapes.add(entry.workload.shape)
            line.active = [pair for pair in line.active if pair[1].workload.shape != entry.workload.shape]


class _Cycle:
    """One cycle: the state at its start, and what its jobs take or reserve on top of it."""

    def __init__(self, lasting: State) -> None:
        self.lasting = lasting
        self.state = replace(lasting, used=dict(lasting.used), occupied=lasting.occupied.copy())

    def look(self, queue: ClusterQueue, entry: Entry) -> Assignment:
        """Find flavors for a job, from where its last look stopped."""
        assigner = Assigner(self.state, queue)
        found = assigner.assign(entry.workload, entry.progress)
        assigner.reserve_places(found)
        return found

    def process(self, queue: ClusterQueue, entry: Entry) -> str:
        """Admit a job, or say why not; a job that waits may reserve what it waits for until the cycle ends."""
        found = entry.assignment
        assert found is not None
        fits_quota = self._fits_quota(queue, found)
        fits = fits_quota and self._fits_places(found)
        if fits_quota and not fits:
            found = self._look_again(queue, entry, found)
            fits = self._fits_quota(queue, found) and self._fits_places(found)
        if found.mode == Mode.NO:
            return found.cause(queue)
        if found.mode == Mode.WAITS:
            if not queue.reclaims_any:
                _take(self.state, queue, found, self._reserved(queue, found), shared=False)
            return QUOTA_TAKEN
        if not fits:
            return NO_LONGER
        _take(self.state, queue, found, found.used, shared=False)
        _take(self.lasting, queue, found, found.used, shared=True)
        return ADMITTED

    def _look_again(self, queue: ClusterQueue, entry: Entry, found: Assignment) -> Assignment:
        """The places found at the start of the cycle are gone: look for others, in the same flavors."""
        assigner = Assigner(self.state, queue)
        again = assigner.assign(entry.workload, (), found.chosen)
        assigner.reserve_places(again)
        entry.assignment, entry.progress = again, again.progress
        return again

    def _fits_quota(self, queue: ClusterQueue, found: Assignment) -> bool:
        node, used = self.state.nodes[queue.name], self.state.used
        return all(max(0, available(node, key, used)) >= amount for key, amount in found.used.items())

    def _fits_places(self, found: Assignment) -> bool:
        for one in found.pod_sets:
            if one.placement is not None:
                tree = self.state.trees[one.tree]
                if not still_fits(tree, one.placement, one.pod_set.one, self.state.occupied.taken(tree)):
                    return False
        return True

    def _reserved(self, queue: ClusterQueue, found: Assignment) -> dict[FlavorResource, int]:
        """What a job that waits keeps others from taking in this cycle."""
        node = self.state.nodes[queue.name]
        reserved = {}
        for key, amount in found.used.items():
            quota = queue.quotas[key]
            rest = quota.nominal - self.state.used.get((node, key), 0)
            if not found.level:
                reserved[key] = max(0, min(amount, rest))
            else:
                reserved[key] = amount if quota.borrowing is None else min(amount, rest + quota.borrowing)
        return reserved


def _take(
    state: State, queue: ClusterQueue, found: Assignment, amounts: Mapping[FlavorResource, int], *, shared: bool
) -> None:
    """Charge quota and nodes with a job. What other flavors see of shared nodes, they see from the next cycle on."""
    for key, amount in amounts.items():
        use(state.nodes[queue.name], key, amount, state.used)
    for one in found.pod_sets:
        if one.placement is not None:
            state.occupied.add(state.trees[one.tree], one.placement, one.pod_set.one, shared=shared)


def inadmissible(workload: Workload, queue: ClusterQueue, cluster: Cluster) -> str:
    """Why a job is not even looked at: its namespace, a request above its limit, or a LimitRange; empty if it is."""
    labels = cluster.namespaces.get(workload.namespace)
    try:
        if labels is None or not selects(queue.namespaces, labels):
            return NAMESPACE
    except MalformedSelector:
        return NAMESPACE
    if any(next(over_limit(one.pod), None) for one in workload.pod_sets):
        return RESOURCES
    limits = cluster.limits.get(workload.namespace)
    if limits and any(next(out_of_range(one.pod, limits), None) for one in workload.pod_sets):
        return LIMIT_RANGE
    return ""
