"""Simulate Kueue's scheduler: queues of waiting jobs whose heads are examined in cycles.

No job ever finishes or is preempted. Source: kubernetes-sigs/kueue pkg/scheduler/scheduler.go,
pkg/cache/queue/cluster_queue.go, pkg/workload/resources.go (ValidateAdmissibility).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import heappop, heappush

from trainc.api.kube import MalformedSelector, matches_selector
from trainc.api.records import dataclass, field, replace
from trainc.features.cluster.fits.assigner import QUOTA_TAKEN, Assigner, Assignment, Mode, Progress, State
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
from trainc.features.cluster.fits.topology import Occupancy, Tree, still_fits, topology_trees
from trainc.features.cluster.fits.workload import TopologyRequest, Workload, with_size

NAMESPACE, RESOURCES, LIMIT_RANGE = "namespace", "resources", "limit-range"
NO_LONGER, BEHIND, ADMITTED = "no-longer-fits", "behind", "admitted"

# A job that has been examined this often has tried every flavor.
_MOST_IDLE_CYCLES = 14


def idle_state(cluster: Cluster, *, nodes_count: bool = False) -> State:
    """The state of a cluster with nothing running; with `nodes_count`, each node counts even if Kueue ignores it."""
    return State(cluster, quota_tree(cluster), topology_trees(cluster, nodes_count=nodes_count), {}, Occupancy())


@dataclass(slots=True)
class Entry:
    """A queued job. `cause` is the result of the latest attempt, `assignment` what it found.

    `barred` is a reason not to try at all. `basis` is the state that the latest attempt depended on; while it is the
    same, the attempt is not repeated.
    """

    order: int
    workload: Workload
    cause: str = BEHIND
    assignment: Assignment | None = None
    progress: Progress = ()
    barred: str = ""
    basis: tuple[Progress, int, int] | None = None


@dataclass(slots=True)
class _Line:
    """The waiting jobs of a ClusterQueue: those still to be examined, in order, and the shapes that did not fit."""

    active: list[tuple[int, Entry]] = field(default_factory=list)
    refused_shapes: set[str] = field(default_factory=set)


class Scheduler:
    """The state of all queues, quota and nodes, initially idle. Jobs are submitted one at a time."""

    def __init__(self, state: State) -> None:
        self.state = replace(state, used=dict(state.used), occupied=state.occupied.copy())
        self.lines: dict[str, _Line] = {}
        self.looks = self.admitted = 0
        self.admissions: Counter[QuotaNode] = Counter()  # by tree of cohorts
        self._settled = False

    def submit(self, entry: Entry, queue: ClusterQueue) -> None:
        """Queue a job and run cycles until the state no longer changes."""
        line = self.lines.setdefault(queue.name, _Line())
        if not queue.strict and entry.workload.shape in line.refused_shapes:
            return
        entry.barred = inadmissible(entry.workload, queue, self.state.cluster)
        heappush(line.active, (entry.order, entry))
        if self._settled and line.active[0][1] is not entry:
            return
        self._settled = self._run()

    def _run(self) -> bool:
        """Run cycles; return whether a further one would repeat the last."""
        idle, before, queues = 0, None, self.state.cluster.cluster_queues
        while idle < _MOST_IDLE_CYCLES:
            heads = [(queues[name], heappop(line.active)[1]) for name, line in self.lines.items() if line.active]
            if self._cycle(heads):
                idle, before = 0, None
                continue
            idle += 1
            waiting = [len(line.active) for line in self.lines.values()]
            after = [(head.order, head.progress, head.cause) for _, head in heads], waiting
            if after == before or not any(line.active for line in self.lines.values()):
                return True
            before = after
        return False

    def _cycle(self, heads: Iterable[tuple[ClusterQueue, Entry]]) -> bool:
        """Run one scheduling cycle; return whether a job was admitted."""
        cycle = _Cycle(self)
        looked = []
        for queue, entry in heads:
            if entry.barred:
                entry.cause = entry.barred
                self._requeue(queue, entry, again=queue.strict and entry.barred != NAMESPACE, shape=False)
            else:
                looked.append((queue, entry, cycle.look(queue, entry)))
        looked.sort(key=lambda item: (item[2].level, item[1].order))
        for queue, entry, assignment in looked:
            entry.cause = cycle.process(queue, entry, assignment)
        for queue, entry, _ in looked:
            if entry.cause != ADMITTED:
                skipped = entry.cause == NO_LONGER
                self._requeue(queue, entry, again=queue.strict or skipped, shape=not skipped)
        return any(entry.cause == ADMITTED for _, entry, _ in looked)

    def _requeue(self, queue: ClusterQueue, entry: Entry, *, again: bool, shape: bool) -> None:
        line = self.lines[queue.name]
        if again or any(at != -1 for tried in entry.progress for at in tried.values()):
            heappush(line.active, (entry.order, entry))
        elif shape and not queue.strict:
            line.refused_shapes.add(entry.workload.shape)
            line.active = [pair for pair in line.active if pair[1].workload.shape != entry.workload.shape]


class _Cycle:
    """One cycle: the state at its start, and what its jobs take or reserve."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.lasting = scheduler.state
        self.state = replace(self.lasting, used=dict(self.lasting.used), occupied=self.lasting.occupied.copy())

    def look(self, queue: ClusterQueue, entry: Entry) -> Assignment:
        """Find flavors for a job, resuming its latest attempt; reuse its result if nothing has changed since."""
        admissions = self.scheduler.admissions
        in_tree, in_all = admissions[self.state.nodes[queue.name].root], self.scheduler.admitted
        assignment = entry.assignment
        if assignment is None or entry.basis != (entry.progress, in_tree, in_all if assignment.saw_nodes else 0):
            self.scheduler.looks += 1
            start = entry.progress
            assignment = Assigner(self.state, queue).assign(entry.workload, start)
            entry.basis = start, in_tree, in_all if assignment.saw_nodes else 0
        entry.assignment, entry.progress = assignment, assignment.progress
        return assignment

    def process(self, queue: ClusterQueue, entry: Entry, assignment: Assignment) -> str:
        """Admit a job or return the cause; a waiting job may reserve resources until the cycle ends."""
        fits_quota = self._fits_quota(queue, assignment)
        fits = fits_quota and self._fits_places(assignment)
        if fits_quota and not fits:
            # The places found at the start of the cycle are taken: find others in the same flavors.
            assignment = Assigner(self.state, queue).assign(entry.workload, (), assignment.chosen)
            entry.assignment, entry.progress, entry.basis = assignment, assignment.progress, None
            fits = self._fits_quota(queue, assignment) and self._fits_places(assignment)
        if assignment.mode == Mode.NO:
            return assignment.cause(queue)
        if assignment.mode == Mode.WAITS:
            if not queue.reclaims_any:
                _take(self.state, queue, assignment, self._reservation(queue, assignment), shared=False)
            return QUOTA_TAKEN
        if not fits:
            return NO_LONGER
        _take(self.state, queue, assignment, assignment.used, shared=False)
        _take(self.lasting, queue, assignment, assignment.used, shared=True)
        self.scheduler.admissions[self.state.nodes[queue.name].root] += 1
        self.scheduler.admitted += 1
        return ADMITTED

    def _fits_quota(self, queue: ClusterQueue, assignment: Assignment) -> bool:
        node, used = self.state.nodes[queue.name], self.state.used
        return all(max(0, available(node, key, used)) >= amount for key, amount in assignment.used.items())

    def _fits_places(self, assignment: Assignment) -> bool:
        for assigned in assignment.pod_sets:
            if assigned.placement is not None:
                tree = self.state.trees[assigned.tree]
                if not still_fits(
                    tree, assigned.placement, assigned.pod_set.per_pod, self.state.occupied.usage_in(tree)
                ):
                    return False
        return True

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
        return labels is not None and matches_selector(selector, labels)
    except MalformedSelector:
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
    entry = Entry(0, workload)
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
