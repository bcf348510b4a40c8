"""Export the graph in Graphviz's DOT language and as JSON.

{"apiVersion": "trainc/v1alpha1", "kind": "Graph", "namespace", "name", "suspended", "pods", "gpus",
 "gang": {"name", "scheduler", "members"} | null where there are several or none, "gangs": [all of them],
 "steps": [{"name", "role", "image", "pods", "replicas", "gpus": {RESOURCE: PER_POD},
            "requests": {RESOURCE: PER_POD}, "inGang", "gang", "hosts",
            "dependsOn": [{"step", "status"}], "volumes": [{"name", "source"}],
            "rendezvous": [{"address", "toldBy"}]}]}
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from trainc.graph.model import Graph, Step, gang, size, total


def graph_dot(graph: Graph) -> str:
    """Return a left-to-right digraph with the gang's members in a cluster."""
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: Graph) -> Iterator[str]:
    known = {step.name for step in graph.steps}
    clusters = [(each, members) for each in graph.gangs if (members := graph.members(each))]
    inside = {step.name for _, members in clusters for step in members}
    yield f"digraph {_quoted(graph.name)} {{"
    yield "  rankdir=LR; labelloc=t; fontname=Helvetica; bgcolor=transparent"
    yield f"  label={_quoted(f'JobSet {graph.name}: {total(graph)}')}"
    yield '  node [shape=box, style="rounded", fontname=Helvetica, margin="0.2,0.12"]'
    yield "  edge [fontname=Helvetica, fontsize=10]"
    yield from (f"  {_node(step)}" for step in graph.steps if step.name not in inside)
    for number, (each, members) in enumerate(clusters):
        yield f"  subgraph cluster_gang{number or ''} {{"
        yield f"    label={_quoted(gang(each))}; style=dashed"
        yield from (f"    {_node(step)}" for step in members)
        yield "  }"
    for step in graph.steps:
        for dependency in step.depends_on:
            if dependency.step in known:
                ends = f"{_quoted(dependency.step)} -> {_quoted(step.name)}"
                yield f"  {ends} [label={_quoted(dependency.status)}]"
    yield "}"


def _node(step: Step) -> str:
    lines = [step.name, size(step), step.hosts, *(f"rendezvous {m.address}" for m in step.rendezvous)]
    if step.volumes:
        lines.append("volumes: " + ", ".join(volume.name for volume in step.volumes))
    width = ", penwidth=2" if step.role == "trainer" else ""
    return f"{_quoted(step.name)} [label={_quoted(chr(10).join(filter(None, lines)))}{width}]"


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
        "steps": [_step(step) for step in graph.steps],
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "name": step.name,
        "role": step.role,
        "image": step.image,
        "pods": step.pods,
        "replicas": step.replicas,
        "gpus": step.gpus,
        "requests": {name: str(amount) for name, amount in step.requests},
        "runs": step.runs,
        "inGang": bool(step.gang),
        "gang": step.gang,
        "hosts": step.hosts,
        "dependsOn": [asdict(dependency) for dependency in step.depends_on],
        "volumes": [asdict(volume) for volume in step.volumes],
        "rendezvous": [{"address": meeting.address, "toldBy": meeting.source} for meeting in step.rendezvous],
    }
