"""Ancestor labels: which replicated job does which step, inferred where a runtime does not say.

Runs on patched templates, before pods are counted, because the label decides the count. Only under `gitops`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainc.diagnostics import Finding, Path
from trainc.ir import names

Json = Mapping[str, Any]
_JOBS: Path = ("spec", "template", "spec", "replicatedJobs")


def infer_ancestor_labels(template: Json, ml_policy: Json | None) -> tuple[Json, list[Finding]]:
    """The JobSetSpec with ancestor labels added where they are missing and plain, and what was added.

    An existing label is never changed. Several candidates for one step are an error, not a guess.
    """
    jobs = list(template.get("replicatedJobs", ()))
    findings: list[Finding] = []
    for step in (names.TRAINER, names.DATASET_INITIALIZER, names.MODEL_INITIALIZER):
        if any(_label(job) == step for job in jobs):
            continue
        candidates = [i for i, job in enumerate(jobs) if _label(job) is None and _fits(job, step, jobs, ml_policy)]
        if len(candidates) > 1:
            findings.append(_ambiguous(step, [jobs[i]["name"] for i in candidates]))
        for i in candidates[:1]:
            jobs[i] = _labelled(jobs[i], step)
            findings.append(_inferred(step, jobs[i]["name"], i))
    return ({**template, "replicatedJobs": jobs} if findings else template), findings


def _label(job: Json) -> str | None:
    labels = (job.get("template", {}).get("metadata") or {}).get("labels", {})
    value: str | None = labels.get(names.ANCESTOR_LABEL)
    return value


def _fits(job: Json, step: str, jobs: list[Any], ml_policy: Json | None) -> bool:
    if step != names.TRAINER:
        return bool(job["name"] == step) and _has_container(job, step)
    # An MPI job trains from its launcher, where there is one.
    launches = "mpi" in (ml_policy or {}) and any(other["name"] == names.LAUNCHER for other in jobs)
    return bool(job["name"] == (names.LAUNCHER if launches else names.NODE)) and _has_container(job, names.NODE)


def _has_container(job: Json, name: str) -> bool:
    pod = job.get("template", {}).get("spec", {}).get("template", {}).get("spec", {})
    return any(container.get("name") == name for container in pod.get("containers", ()))


def _labelled(job: Json, step: str) -> Json:
    template = job["template"]
    metadata = template.get("metadata") or {}
    labels = {**metadata.get("labels", {}), names.ANCESTOR_LABEL: step}
    return {**job, "template": {**template, "metadata": {**metadata, "labels": labels}}}


def _inferred(step: str, job: str, index: int) -> Finding:
    return Finding(
        "RoleInferred",
        "warning",
        f"job {job!r} carries no ancestor label; its name and container make it the {step} step",
        f"add the label {names.ANCESTOR_LABEL}: {step} to the job template's metadata",
        (*_JOBS, index),
        about="runtime",
    )


def _ambiguous(step: str, jobs: list[str]) -> Finding:
    return Finding(
        "AmbiguousTrainerJob",
        "error",
        f"jobs {', '.join(jobs)} could all be the {step} step and none is labelled",
        f"add the label {names.ANCESTOR_LABEL}: {step} to the one that is",
        _JOBS,
        about="runtime",
    )
