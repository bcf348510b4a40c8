"""The steps in layers: each behind all that it waits for, and near them inside its layer."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

from trainc.graph.model import Graph, Step


def layers(graph: Graph) -> list[list[Step]]:
    """Steps that wait for nothing, then those that wait for them, and so on; in a circle, all in one layer."""
    steps = {step.name: step for step in graph.steps}
    sorter = TopologicalSorter({s.name: [d.step for d in s.depends_on if d.step in steps] for s in graph.steps})
    try:
        sorter.prepare()
    except CycleError:
        return [list(graph.steps)]
    found: list[list[Step]] = []
    place: dict[str, int] = {}
    while sorter.is_active():
        ready = sorter.get_ready()
        layer = sorted((step for step in graph.steps if step.name in ready), key=lambda s: _height(s, place))
        place |= {step.name: i for i, step in enumerate(layer)}
        found.append(layer)
        sorter.done(*ready)
    return found


def _height(step: Step, place: Mapping[str, int]) -> float:
    """The mean height of what a step waits for, so that lines cross little."""
    heights = [place[d.step] for d in step.depends_on if d.step in place]
    return sum(heights) / len(heights) if heights else 0.0
