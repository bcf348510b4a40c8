"""Simulate Kueue's scheduler: queues of waiting jobs whose heads are examined in cycles.

No job ever finishes, and what is preempted keeps its quota. Source: kubernetes-sigs/kueue pkg/scheduler/scheduler.go,
pkg/cache/queue/cluster_queue.go, pkg/workload/resources.go (ValidateAdmissibility).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import TypeAlias

from trainc.api.kube import selectors
from trainc.api.records import dataclass, field, replace
from trainc.features.cluster.fits.assigner import QUOTA_TAKEN, Assigner, Assignment, Mode, Progress
from trainc.features.cluster.fits.cluster import (
    NAME_LABEL,
    Cluster,
    ClusterQueue,
    FlavorResource,
    Quota,
    QuotaNode,
    available,
    quota_tree,
    use,
)
from trainc.features.cluster.fits.pods import out_of_range, over_limit
from trainc.features.cluster.fits.state import Holder, State
from trainc.features.cluster.fits.topology import Occupancy, Tree, still_fits, topology_trees
from trainc.features.cluster.fits.workload import TopologyRequest, Workload, with_size

NAMESPACE, RESOURCES, LIMIT_RANGE = "namespace", "resources", "limit-range"
NO_LONGER, BEHIND, ADMITTED = "no-longer-fits", "behind", "admitted"
PREEMPTS, OVERLAPS = "preempts", "overlapping-preemption"

# After these, a job is examined again at once.
_SKIPPED = (NO_LONGER, OVERLAPS, PREEMPTS)

# By what the jobs of a queue are ordered.
Order: TypeAlias = tuple[float | str, ...]

# A job that has been examined this often has tried every flavor.
_MOST_IDLE_CYCLES = 14


def idle_state(cluster: Cluster, *, nodes_count: bool = False) -> State:
    """The state of a cluster with nothing running; with `nodes_count`, each node counts even if Kueue ignores it."""
    return State(cluster, quota_tree(cluster), topology_trees(cluster, nodes_count=nodes_count), {}, Occupancy())


@dataclass(slots=True)
class Entry:
    """A queued job. `cause` is the result of the latest attempt, `assignment` what it found, `first` what the first one did.

    `barred` is a reason not to try at all. `basis` is the state that the latest attempt depended on; while it is the
    same, the attempt is not repeated. One that is `first_again` stays at the head of its queue: others end for it.
    """

    order: Order
    workload: Workload
    cause: str = BEHIND
    assignment: Assignment | None = None
    progress: Progress = ()
    barred: str = ""
    basis: tuple[Progress, int, int] | None = None
    first: Assignment | None = None
    first_again: bool = False

    @property
    def progress_key(self) -> tuple[object, ...]:
        """Its progress, hashable."""
        return tuple(tuple(tried.items()) for tried in self.progress)

    @property
    def goes_on(self) -> bool:
        """Return whether there are flavors left to try."""
        return any(at != -1 for tried in self.progress for at in tried.values())

    @property
    def place(self) -> tuple[bool, Order]:
        """Its place in the line."""
        return not self.first_again, self.order


@dataclass(slots=True)
class _Line:
    """The waiting jobs of a ClusterQueue: those still to be examined, in order, and the shapes that did not fit."""

    active: list[tuple[tuple[bool, Order], Entry]] = field(default_factory=list)
    refused_shapes: set[str] = field(default_factory=set)

    def copy(self) -> _Line:
        """A line with entries of its own."""
        return _Line([(place, replace(entry)) for place, entry in self.active], set(self.refused_shapes))


class Scheduler:
    """The state of all queues, quota and nodes. Jobs are submitted one at a time, to those that already are in `lines`."""

    def __init__(self, state: State) -> None:
        self.state = state.copy()
        self.lines: dict[str, _Line] = {}
        self.looks = self.changes = 0
        self.changes_in: Counter[QuotaNode] = Counter()  # by tree of cohorts
        # What was found for jobs of the line at each number of changes; None once others may have changed something.
        self.found: dict[tuple[object, ...], Assignment] | None = None
        self.pasts: dict[tuple[object, ...], int] = {}
        self._settled = False

    def fork(self, queues: Container[str]) -> Scheduler:
        """A scheduler that goes on from here by itself, with the lines of some queues."""
        other = Scheduler(self.state)
        other.changes, other.found, other.pasts = self.changes, self.found, self.pasts
        other.lines = {name: line.copy() for name, line in self.lines.items() if name in queues}
        return other

    def head(self, queue: str) -> Entry | None:
        """The job that is examined next in a queue."""
        line = self.lines.get(queue)
        return line.active[0][1] if line and line.active else None

    def submit(self, entry: Entry, queue: ClusterQueue) -> None:
        """Queue a job and run cycles until the state no longer changes."""
        head = self.enqueue(entry, queue)
        if head and not (self._settled and head is not entry):
            self._settled = self.run()

    def enqueue(self, entry: Entry, queue: ClusterQueue) -> Entry | None:
        """Queue a job and return the head of its line; None if it is put aside as one like it was before."""
        line = self.lines.setdefault(queue.name, _Line())
        if not queue.strict and entry.workload.shape in line.refused_shapes:
            return None
        entry.barred = inadmissible(entry.workload, queue, self.state.cluster)
        heappush(line.active, (entry.place, entry))
        return line.active[0][1]

    def run(self, until: Entry | None = None, course: list[Scheduler] | None = None) -> bool:
        """Run cycles, at most until a job starts or evicts others; return whether a further one would repeat the last.

        The state before each cycle is added to `course`.
        """
        idle, before, queues = 0, None, self.state.cluster.cluster_queues
        fewest = sum(len(line.active) for line in self.lines.values())
        while idle < _MOST_IDLE_CYCLES:
            if course is not None:
                course.append(self.fork(self.lines))
            heads = [(queues[name], heappop(line.active)[1]) for name, line in self.lines.items() if line.active]
            if until and not any(entry is until for _, entry in heads) and not self._waits(until):
                return True
            changed = self._cycle(heads, until)
            if until and until.cause in (ADMITTED, PREEMPTS):
                return False
            left = sum(len(line.active) for line in self.lines.values())
            if changed or left < fewest:
                idle, before, fewest = 0, None, min(left, fewest)
                continue
            idle += 1
            after = [(head.order, head.progress, head.cause) for _, head in heads], left
            if after == before or not left:
                return True
            before = after
        return False

    def _waits(self, entry: Entry) -> bool:
        """Return whether a job is still in line."""
        return any(entry is other for line in self.lines.values() for _, other in line.active)

    def _cycle(self, heads: Iterable[tuple[ClusterQueue, Entry]], until: Entry | None) -> bool:
        """Run one scheduling cycle; return whether a job was admitted or others began to be evicted for one."""
        cycle = _Cycle(self)
        before = self.changes
        looked = []
        for queue, entry in heads:
            if entry.barred:
                entry.cause = entry.barred
                self._requeue(queue, entry, again=queue.strict and entry.barred != NAMESPACE, shape=False)
            else:
                looked.append((queue, entry, cycle.look(queue, entry, known=entry is not until)))
        looked.sort(key=lambda item: (item[2].level, item[1].order))
        for queue, entry, assignment in looked:
            entry.cause = cycle.process(queue, entry, assignment, known=entry is not until)
            if entry is until and (entry.cause in (ADMITTED, PREEMPTS) or not self._stays(queue, entry)):
                return True
        if until and self.changes > before:
            self.found = None
        for queue, entry, _ in looked:
            if entry.cause != ADMITTED:
                skipped = entry.cause in _SKIPPED
                self._requeue(queue, entry, again=queue.strict or skipped, shape=not skipped)
        return self.changes > before

    def _stays(self, queue: ClusterQueue, entry: Entry) -> bool:
        """Return whether a job that was examined stays in line."""
        return queue.strict or entry.cause in _SKIPPED or entry.goes_on

    def _requeue(self, queue: ClusterQueue, entry: Entry, *, again: bool, shape: bool) -> None:
        line = self.lines[queue.name]
        if again or entry.goes_on:
            heappush(line.active, (entry.place, entry))
        elif shape and not queue.strict:
            line.refused_shapes.add(entry.workload.shape)
            line.active = [pair for pair in line.active if pair[1].workload.shape != entry.workload.shape]

    def note_change(self, queue: ClusterQueue) -> None:
        """Note that what jobs of a queue's cohorts found is no longer true."""
        self.changes_in[self.state.nodes[queue.name].root] += 1
        self.changes += 1


class _Cycle:
    """One cycle: the state at its start, and what its jobs take or reserve."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.lasting = scheduler.state
        self.state = self.lasting.copy()
        self.evicted: list[Holder] = []
        # The state once all that is evicted is gone.
        self.after = self.state
        self._past: object = scheduler.changes

    def look(self, queue: ClusterQueue, entry: Entry, *, known: bool) -> Assignment:
        """Find flavors for a job, resuming its latest attempt; reuse its result if nothing has changed since."""
        in_tree, in_all = self.scheduler.changes_in[self.state.nodes[queue.name].root], self.scheduler.changes
        found = self.scheduler.found if known else None
        key = (self._past, entry.order, entry.progress_key)
        assignment = entry.assignment if found is None else found.get(key)
        if assignment is None or (
            found is None and entry.basis != (entry.progress, in_tree, in_all if assignment.saw_nodes else 0)
        ):
            self.scheduler.looks += 1
            start = entry.progress
            assignment = Assigner(self.state, queue).assign(entry.workload, start)
            entry.basis = start, in_tree, in_all if assignment.saw_nodes else 0
            if found is not None:
                found[key] = assignment
        entry.assignment, entry.progress = assignment, assignment.progress
        entry.first = entry.first or assignment
        return assignment

    def process(self, queue: ClusterQueue, entry: Entry, assignment: Assignment, *, known: bool) -> str:
        """Admit a job, evict others for it, or return the cause; a waiting job may reserve resources until the cycle ends."""
        found = self.scheduler.found
        key = (self._past, entry.order, entry.progress_key, known)
        if found is not None:  # What is found depends on those processed before.
            self._past = self.scheduler.pasts.setdefault(key, -len(self.scheduler.pasts) - 1)
        fits_quota, fits_places = self._fits(queue, assignment)
        if fits_quota and not fits_places:
            # The places found at the start of the cycle are taken: find others in the same flavors.
            chosen, again = assignment.chosen, found.get(key) if found is not None and known else None
            assignment = again or Assigner(self.state, queue).assign(entry.workload, (), chosen)
            if found is not None and known:
                found[key] = assignment
            entry.assignment, entry.progress, entry.basis = assignment, assignment.progress, None
            fits_quota, fits_places = self._fits(queue, assignment)
        if assignment.mode == Mode.NO:
            return assignment.cause(queue)
        targets = [target.holder for target in assignment.targets]
        if assignment.mode == Mode.WAITS and not targets:
            if queue.preemption.reclaim != "Any":
                self._take(queue, assignment, self._reservation(queue, assignment))
            return QUOTA_TAKEN
        if any(target in self.evicted for target in targets):
            return OVERLAPS
        if not (fits_quota and fits_places):
            return NO_LONGER
        self._take(queue, assignment, assignment.used)
        if targets:
            return self._evict(queue, entry, targets)
        _take(self.lasting, queue, assignment, assignment.used, shared=True)
        self.scheduler.note_change(queue)
        return ADMITTED

    def _take(self, queue: ClusterQueue, assignment: Assignment, amounts: Mapping[FlavorResource, int]) -> None:
        for state in (self.state, self.after) if self.evicted else (self.state,):
            _take(state, queue, assignment, amounts, shared=False)

    def _evict(self, queue: ClusterQueue, entry: Entry, targets: Sequence[Holder]) -> str:
        """Begin to evict Workloads. They keep what they hold; the job looks again, as the head of its queue."""
        self.after = self.after.without(targets)
        self.evicted += targets
        names = {holder.name for holder in targets if not holder.evicted} - self.lasting.evicting
        if names:
            self.scheduler.state = replace(self.lasting, evicting=self.lasting.evicting | names)
            self.lasting = self.scheduler.state
            self.scheduler.note_change(queue)
        entry.progress, entry.first_again = (), not queue.strict
        return PREEMPTS

    def _fits(self, queue: ClusterQueue, assignment: Assignment) -> tuple[bool, bool]:
        """Return whether a job fits into the quota and the nodes left, once what is evicted is gone."""
        leaving = [target.holder for target in assignment.targets if target.holder not in self.evicted]
        state = self.after.without(leaving) if leaving else self.after
        node = state.nodes[queue.name]
        fits_quota = all(max(0, available(node, k, state.used)) >= amount for k, amount in assignment.used.items())
        return fits_quota, fits_quota and all(
            still_fits(tree, assigned.placement, assigned.pod_set.per_pod, state.occupied.usage_in(tree))
            for assigned in assignment.pod_sets
            if assigned.placement is not None
            for tree in [state.trees[assigned.tree]]
        )

    def _reservation(self, queue: ClusterQueue, assignment: Assignment) -> dict[FlavorResource, int]:
        """The resources that a waiting job reserves in this cycle."""
        node = self.state.nodes[queue.name]
        reserved = {}
        for key, amount in assignment.used.items():
            quota = queue.quotas.get(key, Quota(0))  # A flavor may lack some resources of its group.
            unused = quota.nominal - self.state.used.get((node, key), 0)
            if not assignment.level:
                reserved[key] = max(0, min(amount, unused))
            else:
                reserved[key] = amount if quota.borrowing is None else min(amount, unused + quota.borrowing)
        return reserved


def _take(
    state: State, queue: ClusterQueue, assignment: Assignment, amounts: Mapping[FlavorResource, int], *, shared: bool
) -> None:
    """Charge a job to quota and nodes. Other flavors on the same nodes see the usage from the next cycle on."""
    for key, amount in amounts.items():
        use(state.nodes[queue.name], key, amount, state.used)
    for assigned in assignment.pod_sets:
        if assigned.placement is not None:
            state.occupied.add(state.trees[assigned.tree], assigned.placement, assigned.pod_set.per_pod, shared=shared)


def accepts_namespace(queue: ClusterQueue, namespace: str, cluster: Cluster) -> bool | None:
    """Return whether a queue accepts jobs of a namespace; None if that depends on labels that the snapshot lacks."""
    selector, labels = queue.namespaces, cluster.namespaces.get(namespace)
    if "Namespace" in cluster.unknown:
        keys = {*((selector or {}).get("matchLabels") or ())}
        keys |= {expression.get("key") for expression in (selector or {}).get("matchExpressions") or ()}
        if keys - {NAME_LABEL}:
            return None
        labels = {NAME_LABEL: namespace}
    try:
        return labels is not None and selectors.matches_selector(selector, labels)
    except selectors.MalformedSelector:
        return False


def inadmissible(workload: Workload, queue: ClusterQueue, cluster: Cluster) -> str:
    """Why a job is not examined at all: its namespace, a request above its limit, or a LimitRange; otherwise empty."""
    if accepts_namespace(queue, workload.namespace, cluster) is False:
        return NAMESPACE
    if any(next(over_limit(pod_set.pod), None) for pod_set in workload.pod_sets):
        return RESOURCES
    limits = cluster.limits.get(workload.namespace)
    if limits and any(next(out_of_range(pod_set.pod, limits), None) for pod_set in workload.pod_sets):
        return LIMIT_RANGE
    return ""


def submit_alone(workload: Workload, queue: ClusterQueue, state: State) -> Entry:
    """Submit a job alone to the idle cluster and return the final state of its entry."""
    entry = Entry((0,), workload)
    Scheduler(state).submit(entry, queue)
    return entry


def would_be_admitted(workload: Workload, queue: ClusterQueue, state: State) -> bool:
    """Return whether a job would be admitted alone on the idle cluster."""
    return submit_alone(workload, queue, state).cause == ADMITTED


def most_pods(workload: Workload, name: str, queue: ClusterQueue, state: State) -> int:
    """The largest number of pods of one pod set with which the job would be admitted; 0 if there is none.

    Uses binary search.
    """
    count = next(pod_set.count for pod_set in workload.pod_sets if pod_set.name == name)
    fits, fails = 0, count
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if would_be_admitted(with_size(workload, name, middle), queue, state):
            fits = middle
        else:
            fails = middle
    return fits


def softer_topologies(requested: TopologyRequest, tree: Tree) -> Iterable[tuple[str, TopologyRequest]]:
    """Requests that are easier to satisfy, closest first, each with the annotation for it."""
    level = requested.required if requested.required is not None else requested.preferred
    if level is None or tree.level(level) < 0:
        return
    if requested.required is not None:
        yield f"podset-preferred-topology: {level}", replace(requested, required=None, preferred=level)
        for wider in reversed(tree.levels[: tree.level(level)]):
            yield f"podset-required-topology: {wider}", replace(requested, required=wider)
    if requested.slices:
        yield f"podset-required-topology: {level}, without slices", replace(requested, slices=())
    if requested.group is None:
        yield 'podset-unconstrained-topology: "true"', TopologyRequest(unconstrained=True)
