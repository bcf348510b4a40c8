"""The steps of a job before and after as one Mermaid diagram."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.diff.figures import as_arrow
from trainc.diff.model import JobDiff
from trainc.diff.steps import Step
from trainc.graph.flowchart import Arrow, Box, flowchart

# Borders alone carry the colour: fills that suit a light page do not suit a dark one.
_LOOKS = {
    "added": "stroke:#2da44e,stroke-width:3px",
    "removed": "stroke:#cf222e,stroke-width:3px,stroke-dasharray:5 5",
    "changed": "stroke:#bf8700,stroke-width:3px",
}


def steps_changed(job: JobDiff) -> bool:
    """Whether a step came or went, or has other pods, requests or dependencies."""
    return job.steps_before != job.steps_after


def steps_diagram(job: JobDiff) -> str:
    """A flowchart: the steps of both sides, what changed of them, and which waits for which."""
    before = {step.name: step for step in job.steps_before}
    after = {step.name: step for step in job.steps_after}
    names = dict.fromkeys((*before, *after))
    boxes = [
        Box(name, _facts(before.get(name), after.get(name)), _look(before.get(name), after.get(name))) for name in names
    ]
    return flowchart(boxes, list(_arrows(before, after)), _LOOKS)


def _look(before: Step | None, after: Step | None) -> str:
    if before is None:
        return "added"
    if after is None:
        return "removed"
    return "" if before == after else "changed"


def _facts(before: Step | None, after: Step | None) -> list[str]:
    sides = [step for step in (before, after) if step is not None]
    pods = as_arrow(*(f"{step.pods}" for step in (sides[0], sides[-1])))
    gpus = as_arrow(*(f"{step.gpus}" for step in (sides[0], sides[-1])))
    facts = [f"{pods} {'pod' if pods == '1' else 'pods'}"]
    return facts if gpus == "0" else [*facts, f"{gpus} {'GPU' if gpus == '1' else 'GPUs'} each"]


def _arrows(before: dict[str, Step], after: dict[str, Step]) -> Iterator[Arrow]:
    """Dependencies as they are; those that went are dotted."""
    now = {(awaited, name, status) for name, step in after.items() for awaited, status in step.depends_on}
    then = {(awaited, name, status) for name, step in before.items() for awaited, status in step.depends_on}
    for awaited, name, status in sorted(now | then):
        yield Arrow(awaited, name, status, (awaited, name, status) not in now)
