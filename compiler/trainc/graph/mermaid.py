"""Render the graph as a Mermaid flowchart for Markdown."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from trainc.graph.model import Graph, Step, gang, layers, size
from trainc.startup.records import dataclass

_ROLES = {"trainer": "trainer", "dataset-initializer": "initializer", "model-initializer": "initializer"}
_LOOKS = {"trainer": "stroke:#2f81f7,stroke-width:3px", "initializer": "stroke:#3fb950,stroke-width:2px"}
_GANG = "fill:none,stroke:#a371f7,stroke-dasharray:6 4"


def graph_mermaid(graph: Graph) -> str:
    """Return a left-to-right flowchart without the code fence."""
    steps = [step for layer in layers(graph) for step in layer]
    boxes = [Box(step.name, tuple(_facts(step)), _ROLES.get(step.role, "")) for step in steps]
    arrows = [Arrow(d.step, step.name, d.status) for step in steps for d in step.depends_on]
    frames = [Frame(gang(each), [step.name for step in graph.members(each)], _GANG) for each in graph.gangs]
    return flowchart(boxes, arrows, _LOOKS, frames) + "\n"


def _facts(step: Step) -> Iterator[str]:
    yield size(step)
    if step.hosts:
        yield step.hosts
    yield from (f"rendezvous {meeting.address}" for meeting in step.rendezvous)
    if step.volumes:
        yield "volumes: " + ", ".join(volume.name for volume in step.volumes)


# Mermaid flowchart syntax, as rendered by GitHub and GitLab, is confined to this section.


_ESCAPES = {"&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;", "#": "&#35;"}


@dataclass(frozen=True, slots=True)
class Box:
    """A box: its name and its lines of text; `look` is the name of a style, or empty."""

    name: str
    lines: Sequence[str]
    look: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow between two boxes, by name."""

    start: str
    end: str
    label: str
    dotted: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """A dashed frame around some of the boxes."""

    label: str
    boxes: Collection[str]
    style: str


def flowchart(
    boxes: Sequence[Box], arrows: Sequence[Arrow], looks: Mapping[str, str], frames: Sequence[Frame] = ()
) -> str:
    """Return a left-to-right flowchart without the code fence. Arrows with a missing end are omitted.

    `looks` maps names to styles; only strokes are readable on both light and dark pages.
    """
    return "\n".join(_lines(boxes, arrows, looks, frames))


def _lines(
    boxes: Sequence[Box], arrows: Sequence[Arrow], looks: Mapping[str, str], frames: Sequence[Frame]
) -> Iterator[str]:
    ids = {box.name: f"s{i}" for i, box in enumerate(boxes)}
    framed = {name for frame in frames for name in frame.boxes}
    yield "flowchart LR"
    yield from (f"  {_box(box, ids)}" for box in boxes if box.name not in framed)
    for number, frame in enumerate(frame for frame in frames if frame.boxes):
        name = f"frame{number or ''}"
        yield f'  subgraph {name}["{_escaped(frame.label)}"]'
        yield from (f"    {_box(box, ids)}" for box in boxes if box.name in frame.boxes)
        yield "  end"
        yield f"  style {name} {frame.style}"
    for arrow in arrows:
        if arrow.start in ids and arrow.end in ids:
            line = "-.->" if arrow.dotted else "-->"
            yield f"  {ids[arrow.start]} {line}|{_escaped(arrow.label)}| {ids[arrow.end]}"
    for look, style in looks.items():
        alike = [ids[box.name] for box in boxes if box.look == look]
        if alike:
            yield f"  classDef {look} {style}"
            yield f"  class {','.join(alike)} {look}"


def _box(box: Box, ids: Mapping[str, str]) -> str:
    body = "<br/>".join([f"<b>{_escaped(box.name)}</b>", *map(_escaped, box.lines)])
    return f'{ids[box.name]}["{body}"]'


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in text)
