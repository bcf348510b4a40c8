"""Kueue's scheduler: the queues of waiting jobs, and cycle after cycle a look at the head of each.

Nothing ever finishes, and nobody is preempted. Source: kubernetes-sigs/kueue pkg/scheduler/scheduler.go,
pkg/cache/queue/cluster_queue.go, pkg/workload/resources.go (ValidateAdmissibility).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush

from trainc.fits.cluster import Cluster, ClusterQueue
from trainc.fits.flavors import Assigner, Assignment, Mode, Progress
from trainc.fits.quota import QuotaNode, Used, available, quota_tree, use
from trainc.fits.requests import out_of_range, over_limit
from trainc.fits.selectors import MalformedSelector, selects
from trainc.fits.topology import Occupancy, Tree, still_fits, topology_trees
from trainc.fits.workload import Workload
from trainc.records import dataclass, field

NAMESPACE, RESOURCES, LIMIT_RANGE = "namespace", "resources", "limit-range"
NO_LONGER, BEHIND, ADMITTED = "no-longer-fits", "behind", "admitted"

# A job that is looked at again and again has seen every flavor by then.
_MOST_IDLE_CYCLES = 14


@dataclass(frozen=True, slots=True)
class Facts:
    """What does not change while jobs are scheduled: the cluster, its quota tree and the topologies of its flavors."""

    cluster: Cluster
    nodes: Mapping[str, QuotaNode]
    trees: Mapping[str, Tree]


def facts_of(cluster: Cluster) -> Facts:
    """The facts of a cluster."""
    return Facts(cluster, quota_tree(cluster), topology_trees(cluster))


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

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.used: Used = {}
        self.occupied = Occupancy(facts.trees)
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
        queues = self.facts.cluster.cluster_queues
        return [(queues[name], heappop(line.active)[1]) for name, line in self.lines.items() if line.active]

    def _cycle(self, heads: Iterable[tuple[ClusterQueue, Entry]]) -> bool:
        """One scheduling cycle; whether a job was admitted."""
        cycle = _Cycle(self)
        looked = []
        for queue, entry in heads:
            self.looks += 1
            cause = inadmissible(entry.workload, queue, self.facts.cluster)
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

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.facts = scheduler.facts
        self.used = dict(scheduler.used)
        self.occupied = scheduler.occupied.copy()

    def _assigner(self, queue: ClusterQueue) -> Assigner:
        facts = self.facts
        return Assigner(facts.cluster, facts.trees, queue, facts.nodes[queue.name], self.used, self.occupied)

    def look(self, queue: ClusterQueue, entry: Entry) -> Assignment:
        """Find flavors for a job, from where its last look stopped."""
        assigner = self._assigner(queue)
        found = assigner.assign(entry.workload, entry.progress)
        assigner.reserve_places(entry.workload, found)
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
                self._take(queue, found, self._reserved(queue, found))
            return "waiting-for-quota"
        if not fits:
            return NO_LONGER
        self._take(queue, found, found.used)
        self.scheduler_takes(queue, found)
        return ADMITTED

    def _look_again(self, queue: ClusterQueue, entry: Entry, found: Assignment) -> Assignment:
        """The places found at the start of the cycle are gone: look for others, in the same flavors."""
        assigner = self._assigner(queue)
        again = assigner.assign(entry.workload, (), found.chosen)
        assigner.reserve_places(entry.workload, again)
        entry.assignment, entry.progress = again, again.progress
        return again

    def _fits_quota(self, queue: ClusterQueue, found: Assignment) -> bool:
        node = self.facts.nodes[queue.name]
        return all(max(0, available(node, key, self.used)) >= amount for key, amount in found.used.items())

    def _fits_places(self, found: Assignment) -> bool:
        return all(
            still_fits(self.facts.trees[one.tree], one.placement, one.pod_set.one, self.occupied.taken(one.tree))
            for one in found.pod_sets
            if one.placement is not None
        )

    def _reserved(self, queue: ClusterQueue, found: Assignment) -> dict[tuple[str, str], int]:
        """What a job that waits keeps others from taking in this cycle."""
        node = self.facts.nodes[queue.name]
        reserved = {}
        for key, amount in found.used.items():
            quota = queue.quotas[key]
            rest = quota.nominal - self.used.get((node, key), 0)
            if not found.level:
                reserved[key] = max(0, min(amount, rest))
            else:
                reserved[key] = amount if quota.borrowing is None else min(amount, rest + quota.borrowing)
        return reserved

    def _take(self, queue: ClusterQueue, found: Assignment, amounts: Mapping[tuple[str, str], int]) -> None:
        for key, amount in amounts.items():
            use(self.facts.nodes[queue.name], key, amount, self.used)
        for one in found.pod_sets:
            if one.placement is not None:
                self.occupied.add(one.tree, one.placement, one.pod_set.one, shared=False)

    def scheduler_takes(self, queue: ClusterQueue, found: Assignment) -> None:
        """Charge an admitted job for good."""
        for key, amount in found.used.items():
            use(self.facts.nodes[queue.name], key, amount, self.scheduler.used)
        for one in found.pod_sets:
            if one.placement is not None:
                self.scheduler.occupied.add(one.tree, one.placement, one.pod_set.one, shared=True)


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
