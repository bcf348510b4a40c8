"""Render the graph as a tree for the terminal: the steps in startup order, with their details."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from trainc.diagnostics.escaping import escape_line
from trainc.graph.model import Graph, Step, gang, layers, per_pod, size, total

Role: TypeAlias = Literal["heading", "step", "size", "faint", "address", "gang"]
Paint: TypeAlias = Callable[[str, Role], str]

# The prefixes of a step's name and of its detail lines.
_INNER = ("├─ ", "│     ")
_LAST = ("└─ ", "      ")


def plain(text: str, role: Role) -> str:
    """Return `text` without styling."""
    return text


def graph_text(graph: Graph, paint: Paint = plain) -> str:
    """Render the whole tree."""
    place = "/".join(filter(None, (graph.namespace, graph.name)))
    about = total(graph) + (", suspended" if graph.suspended else "")
    lines = [f"{paint(f'JobSet {place}', 'heading')}  {paint(about, 'size')}"]
    lines += [f"│  {paint(gang(each), 'gang')}" for each in graph.gangs]
    steps = [step for layer in layers(graph) for step in layer]
    width = max((len(step.name) for step in steps), default=0)
    for step in steps:
        last = step is steps[-1]
        branch, trunk = _LAST if last else _INNER
        first, *others = _step(step, graph, width, paint)
        lines += ["│", branch + first, *(trunk + line for line in others)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _step(step: Step, graph: Graph, width: int, paint: Paint) -> Iterator[str]:
    marks = [step.role] if step.role and step.role != step.name else []
    if step.gang and graph.gangs:
        marks.append("in the gang" if graph.gang is not None else f"in gang {step.gang}")
    title = f"{paint(f'{step.name:<{width}}', 'step')}  {paint(size(step), 'size')}"
    yield f"{title}  {paint(', '.join(marks), 'faint')}"
    for name, value, role in _facts(step):
        yield f"{paint(f'{name:<10}', 'faint')} {paint(escape_line(value), role)}"


def _facts(step: Step) -> Iterator[tuple[str, str, Role]]:
    if step.depends_on:
        yield "after", ", ".join(f"{d.step} is {d.status}" for d in step.depends_on), "step"
    if step.image:
        yield "image", step.image, "faint"
    if step.runs:
        yield "runs", step.runs, "size"
    if step.requests:
        yield "per pod", per_pod(step), "size"
    if step.hosts:
        yield "hosts", step.hosts, "address"
    for meeting in step.rendezvous:
        yield "rendezvous", f"{meeting.address}  ({meeting.source})", "address"
    for i, volume in enumerate(step.volumes):
        yield "" if i else "volumes", f"{volume.name}  ({volume.source})", "faint"
