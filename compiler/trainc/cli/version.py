"""What `trainc --version` prints: trainc's own version, and the upstream tags whose behaviour it follows."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any


def version_text() -> str:
    """Version, releases with their pinned tags and commits, and how many deviations there are."""
    port = read_port()
    repositories = port["repositories"]
    lines = [f"trainc {version('trainc')}", f"follows {repositories['trainer']} and {repositories['jobset']}:"]
    for minor, pins in port["releases"].items():
        trainer = f"Trainer {pins['trainer']} ({pins['trainerCommit'][:8]})"
        lines.append(f"  {minor}  {trainer}, JobSet {pins['jobset']} ({pins['jobsetCommit'][:8]})")
    lines.append(f"with {len(port['deviations'])} deviations under --semantics gitops:")
    lines += [f"  {deviation['id']}: {deviation['what']}" for deviation in port["deviations"]]
    return "\n".join((*lines, ""))


def read_port() -> dict[str, Any]:
    """PORT.yaml, which names what trainc follows."""
    from trainc.reading.yaml_reader import read_value

    path = os.path.join(os.path.dirname(os.path.dirname(__file__)), "PORT.yaml")
    with open(path, encoding="utf-8") as stream:
        port: dict[str, Any] = read_value(stream.read())
    return port
