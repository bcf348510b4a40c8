"""Converts the job `initializer` of older dialects to one job per init container.

There, the steps are the init containers dataset-initializer and model-initializer of one job; Trainer uses a job for
each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainc.api import names
from trainc.api.documents import Json
from trainc.diagnostics import Finding, Path
from trainc.dialects.dialect import Move
from trainc.startup.records import dataclass

JOBS: Path = ("spec", "template", "spec", "replicatedJobs")
_POD = ("template", "spec", "template", "spec")
_JOB = "initializer"
_STEPS = (names.DATASET_INITIALIZER, names.MODEL_INITIALIZER)


@dataclass(frozen=True, slots=True)
class SplitJobs:
    """The replicated jobs with a separate job per initializer step, and the original path of everything."""

    jobs: list[Any]
    moves: tuple[Move, ...]
    findings: tuple[Finding, ...]


def split_initializer(jobs: Sequence[Any]) -> SplitJobs | None:
    """Split the job `initializer`; returns None if there is no such job or it has no known steps.

    The steps come first, because jobs of a JobSet can only depend on earlier ones. Every job that has no dependencies,
    or depends on `initializer`, depends on the last step afterwards.
    """
    at = next((i for i, job in enumerate(jobs) if isinstance(job, Mapping) and job.get("name") == _JOB), None)
    if at is None:
        return None
    pod = _pod(jobs[at])
    init_containers = pod.get("initContainers")
    steps = [
        (i, c)
        for i, c in enumerate(init_containers if isinstance(init_containers, list) else ())
        if isinstance(c, Mapping) and c.get("name") in _STEPS
    ]
    if not steps:
        return None
    last = steps[-1][1]["name"]
    others = [(i, job) for i, job in enumerate(jobs) if i != at]
    split: list[Any] = [_step_job(jobs[at], pod, steps, position) for position in range(len(steps))]
    split += [_waiting(job, last) if isinstance(job, Mapping) else job for _, job in others]
    return SplitJobs(split, _moves(at, steps, others), tuple(_notices(at, pod, last, len(steps))))


def _step_job(job: Json, pod: Json, steps: Sequence[tuple[int, Json]], position: int) -> dict[str, Any]:
    """Return the job of one step: the old job with only the container of the step, after the step before it."""
    container = steps[position][1]
    kept = [c for c in pod["initContainers"] if not any(c is step for _, step in steps)] if position == 0 else []
    spec = {key: value for key, value in pod.items() if key not in ("initContainers", "containers")}
    spec = {**spec, **({"initContainers": kept} if kept else {}), "containers": [container]}
    template = job["template"]
    job_spec = {**template["spec"], "template": {**template["spec"]["template"], "spec": spec}}
    metadata = _mapping(template.get("metadata"))
    labels = {**_mapping(metadata.get("labels")), names.ANCESTOR_LABEL: container["name"]}
    waits = [{"name": steps[position - 1][1]["name"], "status": "Complete"}] if position else job.get("dependsOn")
    return {
        **job,
        "name": container["name"],
        **({"dependsOn": waits} if waits else {}),
        "template": {**template, "metadata": {**metadata, "labels": labels}, "spec": job_spec},
    }


def _waiting(job: Json, last: str) -> Json:
    waits = job.get("dependsOn")
    if not waits:
        return {**job, "dependsOn": [{"name": last, "status": "Complete"}]}
    if not isinstance(waits, list):
        return job
    renamed = [{**w, "name": last} if isinstance(w, Mapping) and w.get("name") == _JOB else w for w in waits]
    return {**job, "dependsOn": renamed}


def _moves(at: int, steps: Sequence[tuple[int, Json]], others: Sequence[tuple[int, Any]]) -> tuple[Move, ...]:
    found: list[Move] = []
    for position, (index, _) in enumerate(steps):
        found.append(Move((*JOBS, position), (*JOBS, at)))
        found.append(Move((*JOBS, position, *_POD, "containers", 0), (*JOBS, at, *_POD, "initContainers", index)))
    found += [Move((*JOBS, len(steps) + i), (*JOBS, was)) for i, (was, _) in enumerate(others)]
    return tuple(found)


def _notices(at: int, pod: Json, last: str, count: int) -> list[Finding]:
    containers = pod.get("containers")
    dropped = [
        str(c.get("name")) for c in (containers if isinstance(containers, list) else ()) if isinstance(c, Mapping)
    ]
    jobs = "a replicated job" if count == 1 else "replicated jobs that run one after the other"
    message = f"the init containers of job {_JOB!r} become {jobs}; the other jobs wait for {last}"
    if dropped:
        message += f"; its container {', '.join(dropped)} is dropped"
    hint = "write them as replicated jobs with dependsOn, as in trainer.kubeflow.org/v1alpha1"
    return [Finding("InitializerJobSplit", "warning", message, hint=hint, path=(*JOBS, at))]


def _pod(job: Json) -> Json:
    """Return the pod spec of a job; empty if the job is malformed, which the schema check reports."""
    found: Any = job
    for step in _POD:
        found = _mapping(found).get(step)
    return _mapping(found)


def _mapping(value: Any) -> Json:
    return value if isinstance(value, Mapping) else {}
