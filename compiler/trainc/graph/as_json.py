"""The graph as JSON, for other programs.

{"apiVersion": "trainc/v1alpha1", "kind": "Graph", "namespace", "name", "suspended", "pods", "gpus",
 "gang": {"name", "scheduler", "members"} | null,
 "steps": [{"name", "role", "image", "pods", "replicas", "gpus": {RESOURCE: PER_POD}, "inGang", "hosts",
            "dependsOn": [{"step", "status"}], "volumes": [{"name", "source"}],
            "rendezvous": [{"address", "toldBy"}]}]}
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from trainc.graph.model import Graph, Step


def graph_json(graph: Graph) -> dict[str, Any]:
    """The graph as plain data."""
    return {
        "apiVersion": "trainc/v1alpha1",
        "kind": "Graph",
        "namespace": graph.namespace,
        "name": graph.name,
        "suspended": graph.suspended,
        "pods": graph.pods,
        "gpus": graph.gpus,
        "gang": None if graph.gang is None else asdict(graph.gang),
        "steps": [_step(step) for step in graph.steps],
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "name": step.name,
        "role": step.role,
        "image": step.image,
        "pods": step.pods,
        "replicas": step.replicas,
        "gpus": dict(step.gpus),
        "inGang": step.in_gang,
        "hosts": step.hosts,
        "dependsOn": [asdict(dependency) for dependency in step.depends_on],
        "volumes": [asdict(volume) for volume in step.volumes],
        "rendezvous": [{"address": meeting.address, "toldBy": meeting.told_by} for meeting in step.rendezvous],
    }
