"""Try alternatives on the idle cluster: fewer pods, a softer topology request, or a toleration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from trainc.features.fits.cluster import ClusterQueue
from trainc.features.fits.flavors import State
from trainc.features.fits.scheduling import ADMITTED, Entry, Scheduler
from trainc.features.fits.topology import Tree
from trainc.features.fits.workload import PodSet, TopologyRequest, Workload
from trainc.startup.records import replace


def admitted(workload: Workload, queue: ClusterQueue, state: State) -> Entry:
    """Submit a job alone to the idle cluster and return the final state of its entry."""
    entry = Entry(0, workload)
    Scheduler(state).submit(entry, queue)
    return entry


def would_be_admitted(workload: Workload, queue: ClusterQueue, state: State) -> bool:
    """Whether a job would be admitted alone on the idle cluster."""
    return admitted(workload, queue, state).cause == ADMITTED


def with_pods(workload: Workload, name: str, count: int) -> Workload:
    """A copy of the job with a different number of pods in one pod set."""
    return _changed(workload, name, lambda one: replace(one, count=count, total=_times(one, count)))


def with_topology(workload: Workload, name: str, requested: TopologyRequest) -> Workload:
    """A copy of the job with a different topology request for one pod set and the others in its group."""
    group = next((one.topology.group for one in workload.pod_sets if one.name == name), None)
    names = {one.name for one in workload.pod_sets if one.name == name or (group and one.topology.group == group)}
    for each in names:
        workload = _changed(workload, each, lambda one: replace(one, topology=requested))
    return workload


def with_tolerations(workload: Workload, added: Iterable[Mapping[str, Any]]) -> Workload:
    """A copy of the job with tolerations added to all pods."""
    more = list(added)
    pod_sets = tuple(
        replace(one, pod={**one.pod, "tolerations": [*(one.pod.get("tolerations") or ()), *more]})
        for one in workload.pod_sets
    )
    return replace(workload, pod_sets=pod_sets, shape=f"{workload.shape} {more}")


def _changed(workload: Workload, name: str, change: Callable[[PodSet], PodSet]) -> Workload:
    pod_sets = tuple(change(one) if one.name == name else one for one in workload.pod_sets)
    changed = [(one.count, one.topology) for one in pod_sets]
    return replace(workload, pod_sets=pod_sets, shape=f"{workload.shape} {changed}")


def _times(one: PodSet, count: int) -> dict[str, int]:
    return {name: amount * count for name, amount in one.one.items()}


def most_pods(workload: Workload, name: str, queue: ClusterQueue, state: State) -> int:
    """The largest number of pods of one pod set with which the job would be admitted; 0 if there is none.

    Uses binary search.
    """
    count = next(one.count for one in workload.pod_sets if one.name == name)
    fits, fails = 0, count
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if would_be_admitted(with_pods(workload, name, middle), queue, state):
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
