"""What Kueue would do with each job at the moment of a dump: start it, evict others for it, or let it wait.

Each job is asked for by itself, as the only one that is new: it takes its place among the Workloads that wait, and cycles
of the scheduler run until its fate is known. Nothing that runs ends meanwhile.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterator, Mapping
from typing import Literal, TypeAlias

from trainc.api.records import dataclass, field, replace
from trainc.features.cluster.fits import scheduling
from trainc.features.cluster.fits.assigner import Assignment
from trainc.features.cluster.fits.cluster import ClusterQueue
from trainc.features.cluster.fits.pods import written_amount
from trainc.features.cluster.fits.preemption import Target
from trainc.features.cluster.fits.scheduling import Entry, Scheduler
from trainc.features.cluster.fits.state import Holder, State
from trainc.features.cluster.fits.usage import Pending, Usage, order_of, with_priority
from trainc.features.cluster.fits.workload import Workload

Verdict: TypeAlias = Literal["admitted", "reserved", "preempts", "waits", "unknown"]
# Causes of what is known of a Workload that is there.
FINISHED, ASIDE, RUNNING = "finished", "set-aside", "in-cluster"
# Comes after every identifier of a Workload.
_LAST = "~"


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of a job now: `cause` and `assignment` are those of its latest attempt, `missing` that of the first.

    `preempts` says of each Workload that is evicted why Kueue chooses it. `tried` is False for a job that Kueue never looks
    at, `latest` the time by which it starts, as far as that is certain.
    """

    verdict: Verdict
    cause: str | None = None
    assignment: Assignment | None = None
    preempts: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[Mapping[str, str], ...] = ()
    ahead: tuple[str, ...] = ()
    tried: bool = True
    latest: float | None = None


def _why_chosen(target: Target, workload: Workload) -> str:
    holder = target.holder
    lower = (
        f"its priority {holder.priority} is below {workload.priority}" if holder.priority < workload.priority else ""
    )
    if target.reason == "InClusterQueue":
        why = lower or "as high a priority, and newer"
        return f"{why}, in the same ClusterQueue"
    borrows = f"ClusterQueue {holder.queue} uses more than its quota"
    if target.reason == "InCohortReclaimWhileBorrowing":
        return f"{borrows}, and {lower}, although this job borrows, too"
    return f"{borrows}, which is taken back"


class Moment:
    """The cluster at the moment of a dump: what is in use by whom, and who waits."""

    def __init__(self, idle: State, usage: Usage) -> None:
        cluster = idle.cluster
        running: dict[str, list[Holder]] = {}
        for holder in usage.holders:
            if not cluster.faults(cluster.cluster_queues[holder.queue]):
                running.setdefault(holder.queue, []).append(holder)
        self.usage = usage
        self.state = replace(idle.copy(), running=running, place_cache=idle.place_cache)
        for holder in usage.holders:
            self.state.hold(holder)
        self.fates: dict[tuple[str, str, str], Fate] = {}
        self.course: list[Scheduler] = []

    def known(self, workload: str) -> tuple[Verdict, str] | None:
        """The verdict about a Workload of the dump that does not wait in line, and why."""
        if workload in self.usage.finished:
            return "unknown", FINISHED
        if workload in self.usage.aside:
            return "waits", ASIDE
        holder = next((holder for holder in self.usage.holders if holder.name == workload), None)
        return ("admitted" if holder.admitted else "reserved", RUNNING) if holder else None

    def fate_of(self, workload: Workload, queue: ClusterQueue, waiting: str = "") -> Fate:
        """What becomes of a job, or of the Workload that is `waiting` for it already."""
        key = queue.name, waiting or workload.namespace, workload.shape if not waiting else ""
        if key not in self.fates:
            self.fates[key] = self._simulate(workload, queue, waiting)
        return self.fates[key]

    def _neighbors(self, queue: ClusterQueue) -> set[str]:
        """The queues whose jobs may take what the jobs of a queue need: those of its cohorts, and those on the same nodes."""
        queues, root = self.state.cluster.cluster_queues, self.state.nodes[queue.name].root
        placed = any(name in self.state.trees for name in queue.flavors)
        return {
            name
            for name, node in self.state.nodes.items()
            if node.root is root or (placed and any(flavor in self.state.trees for flavor in queues[name].flavors))
        }

    def _in_line(self, queues: Container[str]) -> list[Pending]:
        return [pending for pending in self.usage.pending if pending.queue in queues]

    def _scheduler(self) -> tuple[Scheduler, dict[str, Entry]]:
        """A scheduler with all that waits in line, and its entries."""
        scheduler, entries = Scheduler(self.state), {}
        for pending in self.usage.pending:
            entries[pending.name] = replace(pending.entry)
            scheduler.enqueue(entries[pending.name], self.state.cluster.cluster_queues[pending.queue])
        return scheduler, entries

    def _course(self) -> list[Scheduler]:
        """What happens without a new job: the state before each cycle, and at the end."""
        if not self.course:
            scheduler, _ = self._scheduler()
            scheduler.found = {}
            scheduler.run(course=self.course)
            self.course.append(scheduler)
        return self.course

    def _simulate(self, workload: Workload, queue: ClusterQueue, waiting: str) -> Fate:
        workload = with_priority(workload)
        entry = Entry(order_of(workload, _LAST), workload)
        if waiting:
            scheduler, entries = self._scheduler()
            entry = entries[waiting]
            scheduler.run(entry)
        else:
            # Until a job is the head of its queue, all goes as without it.
            heads = ((scheduler, scheduler.head(queue.name)) for scheduler in self._course())
            reached = next((s for s, head in heads if head is None or entry.place < head.place), None)
            if reached:
                scheduler = reached.fork(self._neighbors(queue))
                scheduler.enqueue(entry, queue)
                scheduler.run(entry)
        return self._fate(entry, workload, queue, waiting)

    def _fate(self, entry: Entry, workload: Workload, queue: ClusterQueue, waiting: str) -> Fate:
        of_queue = (pending for pending in self.usage.pending if pending.queue == queue.name)
        ahead = tuple(pending.name for pending in of_queue if pending.entry.order < entry.order)
        assignment = entry.assignment
        if entry.cause == scheduling.ADMITTED and assignment:
            return Fate("reserved" if _applying(queue, assignment) else "admitted", None, assignment, ahead=ahead)
        missing = tuple(_missing(entry.first)) if entry.first else ()
        if entry.cause == scheduling.PREEMPTS and assignment:
            targets = sorted(assignment.targets, key=lambda target: target.holder.name)
            evicted = {target.holder.name: _why_chosen(target, workload) for target in targets}
            return Fate("preempts", None, assignment, evicted, missing, ahead)
        tried = entry.first is not None or bool(entry.barred)
        latest = None if ahead or waiting or entry.barred else self._latest(workload, queue)
        return Fate("waits", entry.cause, None, {}, missing, ahead, tried, latest)

    def _latest(self, workload: Workload, queue: ClusterQueue) -> float | None:
        """When a job starts at the latest if nothing else comes: what must end has a limit, and nobody else waits."""
        if self._in_line(self._neighbors(queue)):
            return None
        ending = sorted((h for h in self.usage.holders if h.ends is not None), key=lambda h: h.ends or 0)

        def starts(count: int) -> bool:
            state = replace(self.state.without(ending[:count]), running={})
            return scheduling.would_be_admitted(workload, queue, state)

        if not ending or not starts(len(ending)):
            return None
        return ending[bisect_left(range(1, len(ending)), True, key=starts)].ends


def _applying(queue: ClusterQueue, assignment: Assignment) -> list[str]:
    """The admission checks that a job has to pass with the flavors that it got."""
    used = {choice.flavor for assigned in assignment.pod_sets for choice in assigned.flavors.values()}
    return [check for check, flavors in queue.checks.items() if not flavors or flavors & used]


def _missing(assignment: Assignment) -> Iterator[dict[str, str]]:
    """What an attempt lacked, of each flavor that it tried."""
    seen = set()
    for assigned in assignment.pod_sets:
        for flavor, attempt in assigned.attempts.items():
            for resource, amount in attempt.more.items():
                if (flavor, resource, amount) not in seen:
                    seen.add((flavor, resource, amount))
                    yield {"resource": resource, "flavor": flavor, "more": written_amount(resource, amount)}
