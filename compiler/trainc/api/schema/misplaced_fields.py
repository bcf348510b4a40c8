"""Suggests where a field belongs that a TrainJob lacks, but its pods, Jobs or runtime have."""

from __future__ import annotations

import json
from typing import Any

from trainc.api.schema.shapes import definition

_OWNERS = ("trainer.TrainJob", "trainer.TrainJobSpec", "trainer.Trainer")
_POD = "template.spec.replicatedJobs[].template.spec.template.spec"
# Structs of a runtime, and their location in its spec.
_IN_RUNTIME = (
    ("trainer.TrainingRuntimeSpec", ""),
    ("core.PodSpec", f"{_POD}."),
    ("core.Container", f"{_POD}.containers[]."),
    ("batch.JobSpec", "template.spec.replicatedJobs[].template.spec."),
    ("jobset.JobSetSpec", "template.spec."),
)
# Structs through which a TrainJob patches pods and containers, and the YAML around a pod field, newest release first.
_PATCHES = (
    (
        "trainer.PodSpecPatch",
        "trainer.ContainerPatch",
        (
            "runtimePatches: [{{manager: acme.io/{field}, trainingRuntimeSpec: {{template: {{spec: {{replicatedJobs: "
            "[{{name: node, template: {{spec: {{template: {{spec: {{{inner}}}}}}}}}}}]}}}}}}}}]"
        ),
    ),
    (
        "trainer.PodTemplateSpecOverride",
        "trainer.ContainerOverride",
        "podTemplateOverrides: [{{targetJobs: [{{name: node}}], spec: {{{inner}}}}}]",
    ),
    (
        "trainer.PodSpecOverride",
        "trainer.ContainerOverride",
        "podSpecOverrides: [{{targetJobs: [{{name: node}}], {inner}}}]",
    ),
)
_LONGEST = 120  # Maximum number of characters of the user's text to repeat in a hint.


def placement_hint(owner: str, field: str, value: Any, release: str) -> str:
    """Return a hint for a field that `owner`, a part of a TrainJob, lacks; empty if it exists nowhere else."""
    if owner not in _OWNERS:
        return ""
    for pod, container, text in _PATCHES:
        inner = f"{field}: {_flow(value)}"
        if _has(release, container, field) and field != "name":
            inner = f"containers: [{{name: node, {inner}}}]"
        elif not _has(release, pod, field):
            continue
        return "write it under spec as " + text.format(field=field.lower(), inner=inner)
    for struct, place in _IN_RUNTIME:
        if _has(release, struct, field):
            return _in_runtime(field, value, place)
    return ""


def _in_runtime(field: str, value: Any, place: str) -> str:
    own = "set numNodes under trainer; or, for all jobs of the runtime, " if field == "mlPolicy" else ""
    text = f"{field}: {_flow(value)}"
    for step in reversed(place.rstrip(".").split(".") if place else ()):
        name = step.removesuffix("[]")
        text = f"{name}: [{{name: node, {text}}}]" if step != name else f"{name}: {{{text}}}"
    return f"{own}add `{text}` to the spec of the runtime (`trainc runtimes show NAME > runtime.yaml` copies a built-in one)"


def _has(release: str, struct: str, field: str) -> bool:
    try:
        return field in definition(release, struct).fields
    except KeyError:
        return False


def _flow(value: Any) -> str:
    """Format a value as YAML on one line, or `...` if it is long or cannot be written as JSON."""
    if value is None:
        return "..."
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return "..."
    return text if len(text) <= _LONGEST else "..."
