"""The steps of a job before and after as one Mermaid diagram, which GitHub and GitLab draw in a comment."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.report.diff.figures import as_arrow
from trainc.report.diff.model import JobDiff
from trainc.report.diff.steps import Step

# Borders alone carry the colour: fills that suit a light page do not suit a dark one.
_STYLES = {
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
    names = list(dict.fromkeys((*before, *after)))
    ids = {name: f"s{number}" for number, name in enumerate(names)}
    nodes = [f'  {ids[name]}["{_label(name, before.get(name), after.get(name))}"]' for name in names]
    lines = ["flowchart LR", *nodes]
    lines += _edges(before, after, ids)
    for kind, style in _STYLES.items():
        of_kind = [ids[name] for name in names if _kind(before.get(name), after.get(name)) == kind]
        if of_kind:
            lines += [f"  classDef {kind} {style}", f"  class {','.join(of_kind)} {kind}"]
    return "\n".join(lines)


def _kind(before: Step | None, after: Step | None) -> str:
    if before is None:
        return "added"
    if after is None:
        return "removed"
    return "same" if before == after else "changed"


def _label(name: str, before: Step | None, after: Step | None) -> str:
    sides = [step for step in (before, after) if step is not None]
    pods = as_arrow(*(f"{step.pods}" for step in (sides[0], sides[-1])))
    gpus = as_arrow(*(f"{step.gpus}" for step in (sides[0], sides[-1])))
    parts = [name, f"{pods} {'pod' if pods == '1' else 'pods'}"]
    if gpus != "0":
        parts.append(f"{gpus} {'GPU' if gpus == '1' else 'GPUs'} each")
    return "<br/>".join(part.replace('"', "#quot;") for part in parts)


def _edges(before: dict[str, Step], after: dict[str, Step], ids: dict[str, str]) -> Iterator[str]:
    """Dependencies as they are; those that went are dotted."""
    now = {(awaited, name, status) for name, step in after.items() for awaited, status in step.depends_on}
    then = {(awaited, name, status) for name, step in before.items() for awaited, status in step.depends_on}
    for awaited, name, status in sorted(now | then):
        if awaited in ids:
            arrow = "-->" if (awaited, name, status) in now else "-.->"
            yield f"  {ids[awaited]} {arrow}|{status}| {ids[name]}"
