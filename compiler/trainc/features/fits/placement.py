"""Choose the domains for the pods of a pod set, as Kueue's topology-aware scheduling does.

First, the number of pods (and slices of pods) that each domain can hold is counted from the nodes up. Then a level and
domains on that level are chosen, and the choice is refined level by level downwards.
Source: kubernetes-sigs/kueue pkg/cache/scheduler/tas_flavor_snapshot.go (findTopologyAssignment).
"""

from __future__ import annotations

from typing import TypeAlias

from trainc.features.fits.domain_request import NoPlace, Request, Taken, Wanted
from trainc.features.fits.search import Search
from trainc.features.fits.selectors import is_readable
from trainc.features.fits.topology import Placement, Tree
from trainc.features.fits.workload import TopologyRequest

Placements: TypeAlias = dict[str, Placement]


def find_place(tree: Tree, request: Request, taken: Taken) -> Placements | NoPlace:
    """Where the pods of a request go, by pod set, given the usage of the domains; or why there is no place."""
    wanted = _wanted(tree, request.workers.topology, request)
    if isinstance(wanted, NoPlace):
        return wanted
    if not is_readable(request.workers.pod, selector=tree.by_hostname):
        return NoPlace("its node selector or affinity is not valid")
    search = Search(tree, wanted)
    search.count(request, taken)
    chosen = search.choose(wanted.level)
    if isinstance(chosen, NoPlace):
        return chosen
    found = search.refine(*chosen)
    if request.leader is None:
        return {request.workers.name: search.placement(found, search.pods)}
    return {
        request.leader.name: search.placement([d for d in found if search.leaders[d.index]], search.leaders),
        request.workers.name: search.placement(found, search.pods),
    }


def has_levels(tree: Tree, requested: TopologyRequest) -> bool:
    """Whether a topology has every requested level."""
    key = _level_key(tree, requested)
    return key is not None and tree.level(key) >= 0 and all(tree.level(level) >= 0 for level, _ in requested.slices)


def _level_key(tree: Tree, requested: TopologyRequest) -> str | None:
    if requested.required is not None or requested.preferred is not None:
        return requested.required if requested.required is not None else requested.preferred
    if requested.slices:
        return tree.levels[0]
    return tree.levels[-1] if requested.unconstrained else None


def _wanted(tree: Tree, requested: TopologyRequest, request: Request) -> Wanted | NoPlace:
    key = _level_key(tree, requested)
    if key is None:
        if not request.implied:
            return NoPlace("it requests no topology level")
        key = tree.levels[-1]
    outer, size = requested.slices[0] if requested.slices else (tree.levels[-1], 1)
    level, slice_level = tree.level(key), tree.level(outer)
    missing = key if level < 0 else outer
    if level < 0 or slice_level < 0:
        return NoPlace(f"the topology has no level {missing}")
    if level > slice_level:
        return NoPlace(f"slices on level {outer} cannot be placed within the narrower level {key}")
    inner = _inner_sizes(tree, requested, slice_level)
    if isinstance(inner, NoPlace):
        return inner
    sliced_only = bool(requested.slices) and requested.required is None and requested.preferred is None
    free = bool(requested.unconstrained) or request.implied or sliced_only
    leaders = 1 if request.leader else 0
    return Wanted(request.workers.count, leaders, level, slice_level, size, requested.required is not None, free, inner)


def _inner_sizes(tree: Tree, requested: TopologyRequest, level: int) -> dict[int, int] | NoPlace:
    sizes: dict[int, int] = {}
    above = requested.slices[0][1] if requested.slices else 1
    for key, size in requested.slices[1:]:
        inner = tree.level(key)
        if inner < 0:
            return NoPlace(f"the topology has no level {key}")
        if inner <= level:
            return NoPlace(f"the inner slices are on level {key}, which is not below {tree.levels[level]}")
        if above % size:
            return NoPlace(f"{above} pods cannot be divided into slices of {size}")
        sizes |= dict.fromkeys(range(level + 1, inner + 1), size)
        above, level = size, inner
    return sizes
