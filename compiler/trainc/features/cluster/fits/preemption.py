"""Which Workloads Kueue evicts to make room for one that waits.

Candidates use a flavor's resource that is short: Workloads of the same queue by its policy, and those of queues of the
cohort that use more than their own quota. They are removed one by one until the job fits; then those that turn out not to
be needed stay. Source: kubernetes-sigs/kueue pkg/scheduler/preemption/preemption.go (classicalPreemptions),
pkg/scheduler/preemption/classical/{candidate_generator,hierarchical_preemption}.go,
pkg/scheduler/preemption/common/{ordering,preemption_policy}.go, v0.19.2.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from trainc.api.records import dataclass
from trainc.features.cluster.fits.cluster import (
    ClusterQueue,
    FlavorResource,
    QuotaNode,
    Used,
    available,
    left_local,
    nominal_of,
)
from trainc.features.cluster.fits.state import Holder, State
from trainc.features.cluster.fits.workload import Workload

Reason: TypeAlias = Literal["InClusterQueue", "InCohortReclamation", "InCohortReclaimWhileBorrowing"]
Requests: TypeAlias = Mapping[FlavorResource, int]


@dataclass(frozen=True, slots=True)
class Target:
    """A Workload to evict, and why it may be."""

    holder: Holder
    reason: Reason


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    """A target under conditions: up to `common`, the cohort shared with the preemptor, its quota has to be exceeded.

    `rank` is 0 if the preemptor is closer to the quota, 1 if priorities decide, and 2 in the same queue.
    """

    target: Target
    rank: int
    common: QuotaNode | None
    may_borrow: bool


def find_targets(  # noqa: PLR0913, PLR0917 - a request and what it is made of
    state: State,
    queue: ClusterQueue,
    workload: Workload,
    requests: Requests,
    needing: Collection[FlavorResource],
    has_place: Callable[[State], bool] = lambda _: True,
) -> tuple[list[Target], State]:
    """The Workloads that are evicted for `requests` of a job, and the state without them; none if that does not help.

    `needing` are the flavors' resources that are short.
    """
    candidates = sorted(_candidates(state, queue, workload, requests, needing), key=lambda c: _order(c, state))
    for borrowing in _attempts(state, queue, candidates, needing) if candidates else ():
        trial, chosen = state.copy(), list[Target]()
        for candidate in candidates:
            if not _is_valid(candidate, trial, needing, borrowing=borrowing):
                continue
            chosen.append(candidate.target)
            trial.free(candidate.target.holder)
            if _fits(trial, queue, requests, borrowing=borrowing) and has_place(trial):
                for target in chosen[-2::-1]:
                    trial.hold(target.holder)
                    if _fits(trial, queue, requests, borrowing=borrowing) and has_place(trial):
                        chosen.remove(target)
                    else:
                        trial.free(target.holder)
                return chosen, trial
    return [], state


def _order(candidate: _Candidate, state: State) -> tuple[bool, int, int, float, str]:
    holder = candidate.target.holder
    evicted = holder.evicted or holder.name in state.evicting
    return not evicted, candidate.rank, holder.priority, -holder.since, holder.uid


def _candidates(
    state: State, queue: ClusterQueue, workload: Workload, requests: Requests, needing: Collection[FlavorResource]
) -> Iterator[_Candidate]:
    node, policy = state.nodes[queue.name], queue.preemption
    for holder in state.running.get(queue.name, ()):
        if _may_evict(policy.within, workload, holder, needing):
            yield _Candidate(Target(holder, "InClusterQueue"), 2, None, may_borrow=True)
    if policy.reclaim == "Never":
        return
    is_closer, remaining = _within_quota(node, requests, state.used)
    below, common = node, node.parent
    while common:
        for name in _exceeding(common, below, state, needing):
            for holder in state.running.get(name, ()):
                if _may_evict(policy.reclaim, workload, holder, needing):
                    yield _reclaimable(holder, common, queue, workload, is_closer=is_closer)
        fits, remaining = _within_quota(common, remaining, state.used)
        is_closer |= fits
        below, common = common, common.parent


def _may_evict(policy: str, workload: Workload, holder: Holder, needing: Collection[FlavorResource]) -> bool:
    if policy == "Never" or not any(key in holder.amounts for key in needing):
        return False
    if policy == "Any" or holder.priority < workload.priority:
        return True
    newer = holder.priority == workload.priority and workload.created < holder.created
    return policy == "LowerOrNewerEqualPriority" and newer


def _reclaimable(
    holder: Holder, common: QuotaNode, queue: ClusterQueue, workload: Workload, *, is_closer: bool
) -> _Candidate:
    policy = queue.preemption
    if is_closer:
        return _Candidate(Target(holder, "InCohortReclamation"), 0, common, may_borrow=True)
    below = policy.threshold is None or holder.priority <= policy.threshold
    if policy.borrows and below and holder.priority < workload.priority:
        return _Candidate(Target(holder, "InCohortReclaimWhileBorrowing"), 1, common, may_borrow=True)
    return _Candidate(Target(holder, "InCohortReclamation"), 1, common, may_borrow=False)


def _exceeding(
    cohort: QuotaNode, skipped: QuotaNode, state: State, needing: Collection[FlavorResource]
) -> Iterator[str]:
    """The ClusterQueues below a cohort that exceed their quota, as do all cohorts in between."""
    for child in cohort.children:
        if child is skipped or _is_within(child, state.used, needing):
            continue
        if state.nodes.get(child.name) is child:
            yield child.name
        else:
            yield from _exceeding(child, skipped, state, needing)


def _is_within(node: QuotaNode, used: Used, needing: Collection[FlavorResource]) -> bool:
    return all(used.get((node, key), 0) <= node.subtree.get(key, 0) for key in needing)


def _within_quota(node: QuotaNode, requests: Requests, used: Used) -> tuple[bool, Requests]:
    """Return whether a node's own quota has room for requests, and what of them it does not hold back for itself."""
    fits = all(used.get((node, key), 0) + amount <= node.subtree.get(key, 0) for key, amount in requests.items())
    return fits, {key: max(0, amount - left_local(node, key, used)) for key, amount in requests.items()}


def _attempts(
    state: State, queue: ClusterQueue, candidates: Sequence[_Candidate], needing: Collection[FlavorResource]
) -> tuple[bool, ...]:
    """Whether the job may borrow while others are removed: which of both is tried, in order."""
    node, ranks = state.nodes[queue.name], {candidate.rank for candidate in candidates}
    under = all(state.used.get((node, key), 0) < nominal_of(node, key) for key in needing)
    if ranks <= {2} or not (queue.preemption.borrows or under):
        return (True,)
    return (True, False) if queue.preemption.borrows or 0 in ranks else (False, True)


def _is_valid(candidate: _Candidate, state: State, needing: Collection[FlavorResource], *, borrowing: bool) -> bool:
    """Return whether a candidate may still go: what was removed before it may have brought its queue within its quota."""
    if candidate.common is None:
        return True
    node: QuotaNode | None = state.nodes[candidate.target.holder.queue]
    while node and node is not candidate.common:
        if _is_within(node, state.used, needing):
            return False
        node = node.parent
    return candidate.may_borrow or not borrowing


def _fits(state: State, queue: ClusterQueue, requests: Requests, *, borrowing: bool) -> bool:
    node, used = state.nodes[queue.name], state.used
    return all(
        amount <= max(0, available(node, key, used))
        and (borrowing or used.get((node, key), 0) + amount <= nominal_of(node, key))
        for key, amount in requests.items()
    )
