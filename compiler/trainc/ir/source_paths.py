"""Locates where a field of a pod template was written: in the TrainJob's last patch that sets it, or in the runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainc.api import names
from trainc.diagnostics import Path
from trainc.ir.entrypoints import JOBS, About
from trainc.ir.info import Info
from trainc.ir.podset import PodSet
from trainc.ir.trainjob import TrainJob

# A key, or the field and value that identify a list item: ("name", "node").
Step = str | tuple[str, Any]


def pod_path(job: TrainJob, info: Info, pod_set: str, *steps: Step) -> tuple[Path, About]:
    """Return the path of `steps` below the pod spec of a replicated job, as far as it exists, and its object."""
    for patch in reversed(job.patches):
        for patched in patch.jobs:
            if patched.name == pod_set and (found := _follow(patched.pod_spec, steps)) is not None:
                return (*patched.pod_path, *found), "trainjob"
    index = next((i for i, p in enumerate(info.pod_sets) if p.name == pod_set), 0)
    path: Path = (*JOBS, index, "template", "spec", "template", "spec")
    return (*path, *(_follow(info.pod_spec(pod_set), steps, partly=True) or ())), "runtime"


def container_path(job: TrainJob, info: Info, pod_set: str, container: str, *steps: Step) -> tuple[Path, About]:
    """Like `pod_path`, below a container; init containers are only considered if no other container matches."""
    spec = info.pod_spec(pod_set)
    kinds = ("containers", "initContainers")
    kind = next((k for k in kinds if any(c.get("name") == container for c in spec.get(k, ()))), kinds[0])
    return pod_path(job, info, pod_set, kind, ("name", container), *steps)


def variable_path(job: TrainJob, info: Info, pod_set: PodSet, container: str, name: str) -> tuple[Path, About]:
    """Return the path of a container's variable, in the TrainJob's trainer, a patch or the runtime."""
    if job.trainer is not None and container == pod_set.main and pod_set.ancestor == names.TRAINER:
        for i, variable in enumerate(job.trainer.env):
            if variable["name"] == name:
                return ("spec", "trainer", "env", i), "trainjob"
    return container_path(job, info, pod_set.name, container, "env", ("name", name))


def _follow(value: Any, steps: tuple[Step, ...], *, partly: bool = False) -> Path | None:
    path: list[str | int] = []
    for step in steps:
        if isinstance(step, tuple):
            items = value if isinstance(value, (list, tuple)) else ()
            at = next(
                (i for i, item in enumerate(items) if isinstance(item, Mapping) and item.get(step[0]) == step[1]), None
            )
            if at is None:
                return tuple(path) if partly else None
            path.append(at)
            value = items[at]
        elif isinstance(value, Mapping) and step in value:
            path.append(step)
            value = value[step]
        else:
            return tuple(path) if partly else None
    return tuple(path)
