"""The graph as a Mermaid flowchart for Markdown; strokes only, so that it reads on light and dark pages."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.report.graph.layers import layers
from trainc.report.graph.model import Graph, Step
from trainc.report.graph.words import gang, size

_ROLES = {"trainer": "trainer", "dataset-initializer": "initializer", "model-initializer": "initializer"}
_CLASSES = (
    "classDef trainer stroke:#2f81f7,stroke-width:3px",
    "classDef initializer stroke:#3fb950,stroke-width:2px",
    "classDef gang fill:none,stroke:#a371f7,stroke-dasharray:6 4",
)
_ESCAPES = {"&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;", "#": "&#35;"}


def graph_mermaid(graph: Graph) -> str:
    """A flowchart from left to right, without the fence around it."""
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: Graph) -> Iterator[str]:
    steps = [step for layer in layers(graph) for step in layer]
    ids = {step.name: f"s{i}" for i, step in enumerate(steps)}
    members = [step for step in steps if step.in_gang and graph.gang is not None]
    yield "flowchart LR"
    yield from (f"  {_node(step, ids)}" for step in steps if step not in members)
    if members and graph.gang is not None:
        yield f'  subgraph gang["{_escaped(gang(graph.gang))}"]'
        yield from (f"    {_node(step, ids)}" for step in members)
        yield "  end"
    for step in steps:
        for dependency in step.depends_on:
            if dependency.step in ids:
                yield f"  {ids[dependency.step]} -->|{dependency.status}| {ids[step.name]}"
    yield from (f"  {line}" for line in _CLASSES)
    for step in steps:
        if step.role in _ROLES:
            yield f"  class {ids[step.name]} {_ROLES[step.role]}"
    if members:
        yield "  class gang gang"


def _node(step: Step, ids: dict[str, str]) -> str:
    lines = [f"<b>{_escaped(step.name)}</b>", size(step), step.hosts]
    lines += [f"meets at {meeting.address}" for meeting in step.rendezvous]
    if step.volumes:
        lines.append("volumes: " + ", ".join(volume.name for volume in step.volumes))
    body = "<br/>".join([lines[0], *(_escaped(line) for line in lines[1:] if line)])
    return f'{ids[step.name]}["{body}"]'


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in text)
