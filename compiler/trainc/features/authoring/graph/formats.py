"""The graph as text, as Mermaid, in Graphviz's DOT language and as JSON.

{"apiVersion": "trainc/v1alpha1", "kind": "Graph", "namespace", "name", "suspended", "pods", "gpus",
 "gang": {"name", "scheduler", "members"} | null where there are several or none, "gangs": [all of them],
 "steps": [{"name", "role", "image", "pods", "replicas", "gpus": {RESOURCE: PER_POD},
            "requests": {RESOURCE: PER_POD}, "inGang", "gang", "hosts",
            "dependsOn": [{"step", "status"}], "volumes": [{"name", "source"}],
            "rendezvous": [{"address", "toldBy"}]}]}
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal, TypeAlias

from trainc.api.findings import escape_line
from trainc.api.kube import Json, documents
from trainc.api.plugins import Plugin, enabled
from trainc.features.authoring.graph.model import Graph, Step, gang, layers, read_graph, size, total


def graph_dot(graph: Graph) -> str:
    """Return a left-to-right digraph with the gang's members in a cluster."""
    step_names = {step.name for step in graph.steps}
    clusters = [(group, members) for group in graph.gangs if (members := graph.members(group))]
    inside = {step.name for _, members in clusters for step in members}
    nodes = {step.name: _node(step) for step in graph.steps}
    lines = [
        f"digraph {_quoted(graph.name)} {{",
        "  rankdir=LR; labelloc=t; fontname=Helvetica; bgcolor=transparent",
        f"  label={_quoted(f'JobSet {graph.name}: {total(graph)}')}",
        '  node [shape=box, style="rounded", fontname=Helvetica, margin="0.2,0.12"]',
        "  edge [fontname=Helvetica, fontsize=10]",
        *(f"  {node}" for name, node in nodes.items() if name not in inside),
    ]
    for number, (group, members) in enumerate(clusters):
        lines += [f"  subgraph cluster_gang{number or ''} {{", f"    label={_quoted(gang(group))}; style=dashed"]
        lines += [*(f"    {nodes[step.name]}" for step in members), "  }"]
    for step in graph.steps:
        dependencies = [dependency for dependency in step.depends_on if dependency.step in step_names]
        lines += [f"  {_quoted(d.step)} -> {_quoted(step.name)} [label={_quoted(d.status)}]" for d in dependencies]
    return "\n".join([*lines, "}"]) + "\n"


def _node(step: Step) -> str:
    label = "\n".join([step.name, *_label_lines(step)])
    width = ", penwidth=2" if step.job.ancestor == "trainer" else ""
    return f"{_quoted(step.name)} [label={_quoted(label)}{width}]"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def graph_json(graph: Graph) -> dict[str, Any]:
    """Return the graph as JSON-serializable data in the shape shown above."""
    return {
        "apiVersion": "trainc/v1alpha1",
        "kind": "Graph",
        "namespace": graph.namespace,
        "name": graph.name,
        "suspended": graph.suspended,
        "pods": graph.pods,
        "gpus": graph.gpus,
        "gang": None if graph.gang is None else asdict(graph.gang),
        "gangs": [asdict(gang) for gang in graph.gangs],
        "steps": [
            {
                "name": step.name,
                "role": step.job.ancestor,
                "image": step.job.image,
                "pods": step.job.pods_at_once,
                "replicas": step.job.replicas,
                "gpus": step.job.devices,
                "requests": {name: str(amount) for name, amount in step.job.requests.items()},
                "runs": step.runs,
                "inGang": bool(step.gang),
                "gang": step.gang,
                "hosts": step.hosts,
                "dependsOn": [asdict(dependency) for dependency in step.depends_on],
                "volumes": [asdict(volume) for volume in step.volumes],
                "rendezvous": [{"address": meeting.address, "toldBy": meeting.source} for meeting in step.rendezvous],
            }
            for step in graph.steps
        ],
    }


# Render the graph as a tree for the terminal: the steps in startup order, with their details.


Role: TypeAlias = Literal["heading", "step", "size", "faint", "address", "gang"]
Paint: TypeAlias = Callable[[str, Role], str]


def plain(text: str, role: Role) -> str:
    """Return `text` without styling."""
    return text


def graph_text(graph: Graph, paint: Paint = plain) -> str:
    """Render the whole tree."""
    name = documents.qualified(graph.namespace, graph.name)
    lines = [f"{paint(f'JobSet {name}', 'heading')}  {paint(total(graph), 'size')}"]
    lines += [f"│  {paint(gang(group), 'gang')}" for group in graph.gangs]
    steps = [step for layer in layers(graph) for step in layer]
    width = max((len(step.name) for step in steps), default=0)
    for step in steps:
        last = step is steps[-1]
        branch, trunk = ("└─ ", "      ") if last else ("├─ ", "│     ")
        first, *details = _step_lines(step, graph, width, paint)
        lines += ["│", branch + first, *(trunk + line for line in details)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def text_of(manifests: Sequence[Json], plugins: Sequence[Plugin] = enabled(())) -> str:
    """Draw the job of some manifests as an indented tree."""
    return graph_text(read_graph(manifests, plugins))


def svg_of(manifests: Sequence[Json], plugins: Sequence[Plugin] = enabled(()), *, stacked: bool = False) -> str:
    """Draw the job of some manifests as SVG; empty if svg.py is not installed."""
    try:
        from trainc.features.authoring.graph.drawing import graph_svg
    except ModuleNotFoundError as missing:
        if missing.name != "svg":
            raise
        return ""
    return graph_svg(read_graph(manifests, plugins), stacked=stacked)


def _step_lines(step: Step, graph: Graph, width: int, paint: Paint) -> Iterator[str]:
    marks = [step.job.ancestor] if step.job.ancestor and step.job.ancestor != step.name else []
    if step.gang and graph.gangs:
        marks.append("in the gang" if graph.gang is not None else f"in gang {step.gang}")
    title = f"{paint(f'{step.name:<{width}}', 'step')}  {paint(size(step), 'size')}"
    yield f"{title}  {paint(', '.join(marks), 'faint')}"
    for name, value, role in _step_facts(step):
        yield f"{paint(f'{name:<10}', 'faint')} {paint(escape_line(value), role)}"


def _step_facts(step: Step) -> Iterator[tuple[str, str, Role]]:
    if step.depends_on:
        yield "after", ", ".join(map(str, step.depends_on)), "step"
    if step.job.image:
        yield "image", step.job.image, "faint"
    if step.runs:
        yield "runs", step.runs, "size"
    if requested := [text for texts in step.job.request_texts() for text in texts]:
        yield "per pod", ", ".join(requested), "size"
    if step.hosts:
        yield "hosts", step.hosts, "address"
    for meeting in step.rendezvous:
        yield "rendezvous", f"{meeting.address}  ({meeting.source})", "address"
    for i, volume in enumerate(step.volumes):
        yield "" if i else "volumes", f"{volume.name}  ({volume.source})", "faint"


# Render the graph as a Mermaid flowchart for Markdown, as GitHub and GitLab render it.


_ROLES = {"trainer": "trainer", "dataset-initializer": "initializer", "model-initializer": "initializer"}
_LOOKS = {"trainer": "stroke:#2f81f7,stroke-width:3px", "initializer": "stroke:#3fb950,stroke-width:2px"}
_GANG = "fill:none,stroke:#a371f7,stroke-dasharray:6 4"


_ESCAPES = {"&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;", "#": "&#35;"}


# Its name, its lines of text, and the name of a style, or empty.
Box: TypeAlias = tuple[str, Sequence[str], str]
# The names of two boxes, a label, and whether it is dotted.
Arrow: TypeAlias = tuple[str, str, str, bool]


def graph_mermaid(graph: Graph) -> str:
    """Return a left-to-right flowchart without the code fence."""
    steps = [step for layer in layers(graph) for step in layer]
    boxes = [(step.name, tuple(_label_lines(step)), _ROLES.get(step.job.ancestor, "")) for step in steps]
    arrows = [(d.step, step.name, d.status, False) for step in steps for d in step.depends_on]
    frames = {gang(group): [step.name for step in graph.members(group)] for group in graph.gangs}
    return flowchart(boxes, arrows, _LOOKS, frames) + "\n"


def flowchart(
    boxes: Sequence[Box],
    arrows: Sequence[Arrow],
    looks: Mapping[str, str],
    frames: Mapping[str, Collection[str]] | None = None,
) -> str:
    """Return a left-to-right flowchart without the code fence. Arrows with a missing end are omitted.

    `frames` are drawn around the boxes with some names. `looks` maps names to styles; only strokes are readable on both
    light and dark pages.
    """
    ids = {name: f"s{i}" for i, (name, _, _) in enumerate(boxes)}
    texts = {name: "<br/>".join([f"<b>{_escaped(name)}</b>", *map(_escaped, lines)]) for name, lines, _ in boxes}
    drawn = {name: f'{ids[name]}["{text}"]' for name, text in texts.items()}
    framed = {label: [name for name in drawn if name in names] for label, names in (frames or {}).items() if names}
    inside = {name for names in framed.values() for name in names}
    lines = ["flowchart LR", *(f"  {box}" for name, box in drawn.items() if name not in inside)]
    for number, (label, names) in enumerate(framed.items()):
        frame = f"frame{number or ''}"
        lines += [f'  subgraph {frame}["{_escaped(label)}"]', *(f"    {drawn[name]}" for name in names), "  end"]
        lines.append(f"  style {frame} {_GANG}")
    for start, end, label, is_dotted in arrows:
        if start in ids and end in ids:
            lines.append(f"  {ids[start]} {'-.->' if is_dotted else '-->'}|{_escaped(label)}| {ids[end]}")
    for look, style in looks.items():
        if alike := [ids[name] for name, _, look_of_box in boxes if look_of_box == look]:
            lines += [f"  classDef {look} {style}", f"  class {','.join(alike)} {look}"]
    return "\n".join(lines)


def _label_lines(step: Step) -> Iterator[str]:
    yield size(step)
    if step.hosts:
        yield step.hosts
    yield from (f"rendezvous {meeting.address}" for meeting in step.rendezvous)
    if step.volumes:
        yield "volumes: " + ", ".join(volume.name for volume in step.volumes)


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in text)
