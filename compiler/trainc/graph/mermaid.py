"""The graph as a Mermaid flowchart for Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.graph.flowchart import Arrow, Box, Frame, flowchart
from trainc.graph.layers import layers
from trainc.graph.model import Graph, Step
from trainc.graph.words import gang, size

_ROLES = {"trainer": "trainer", "dataset-initializer": "initializer", "model-initializer": "initializer"}
_LOOKS = {"trainer": "stroke:#2f81f7,stroke-width:3px", "initializer": "stroke:#3fb950,stroke-width:2px"}
_GANG = "fill:none,stroke:#a371f7,stroke-dasharray:6 4"


def graph_mermaid(graph: Graph) -> str:
    """A flowchart from left to right, without the fence around it."""
    steps = [step for layer in layers(graph) for step in layer]
    boxes = [Box(step.name, tuple(_facts(step)), _ROLES.get(step.role, "")) for step in steps]
    arrows = [Arrow(d.step, step.name, d.status) for step in steps for d in step.depends_on]
    frame = None
    if graph.gang is not None:
        frame = Frame(gang(graph.gang), [step.name for step in steps if step.in_gang], _GANG)
    return flowchart(boxes, arrows, _LOOKS, frame) + "\n"


def _facts(step: Step) -> Iterator[str]:
    yield size(step)
    if step.hosts:
        yield step.hosts
    yield from (f"meets at {meeting.address}" for meeting in step.rendezvous)
    if step.volumes:
        yield "volumes: " + ", ".join(volume.name for volume in step.volumes)
