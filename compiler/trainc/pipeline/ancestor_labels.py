"""Ancestor labels: which replicated job does which step, inferred where a runtime does not say.

Runs on patched templates, before pods are counted, because the label decides the count. Only under `gitops`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainc.api import names
from trainc.diagnostics import Finding, Path
from trainc.dialects.naming import LABELLED, Naming

Json = Mapping[str, Any]

JOBS: Path = ("spec", "template", "spec", "replicatedJobs")
_INITIALIZERS = (names.DATASET_INITIALIZER, names.MODEL_INITIALIZER)


def infer_ancestor_labels(
    template: Json, ml_policy: Json | None, naming: Naming = LABELLED
) -> tuple[Json, list[Finding]]:
    """The JobSetSpec with ancestor labels added where they are missing and plain, and what was added.

    An existing label is never changed. Several candidates for one step are an error, not a guess.
    """
    jobs = list(template.get("replicatedJobs", ()))
    findings: list[Finding] = []
    present = {ancestor_of(job) for job in jobs}
    if names.TRAINER in present and None not in present:  # Nothing is left to label.
        return {**template, "replicatedJobs": jobs}, findings
    for step in (names.TRAINER, *_INITIALIZERS):
        if step in present:
            continue
        candidates = _candidates(step, jobs, ml_policy, naming)
        if len(candidates) > 1 or (not candidates and naming.guesses and step == names.TRAINER and jobs):
            findings.append(_ambiguous(step, [jobs[i]["name"] for i in candidates] or [job["name"] for job in jobs]))
        for i in candidates[:1] if len(candidates) == 1 else ():
            jobs[i] = _labelled(jobs[i], step)
            if jobs[i]["name"] != naming.contract:
                findings.append(_inferred(step, jobs[i]["name"], i))
    return {**template, "replicatedJobs": jobs}, findings


def ancestor_of(job: Json) -> str | None:
    """The step that a replicated job is labelled with."""
    labels = (job.get("template", {}).get("metadata") or {}).get("labels", {})
    value: str | None = labels.get(names.ANCESTOR_LABEL)
    return value


def container_names(job: Json) -> tuple[str, ...]:
    """The regular containers of a replicated job, in order."""
    pod = job.get("template", {}).get("spec", {}).get("template", {}).get("spec", {})
    return tuple(container.get("name", "") for container in pod.get("containers", ()))


def _candidates(step: str, jobs: Sequence[Json], ml_policy: Json | None, naming: Naming) -> list[int]:
    """Indexes of the unlabelled jobs that could do a step."""
    unlabelled = [i for i, job in enumerate(jobs) if ancestor_of(job) is None]
    if step != names.TRAINER:
        return [i for i in unlabelled if jobs[i]["name"] == step and step in container_names(jobs[i])]
    # An MPI job trains from its launcher, where there is one.
    launches = "mpi" in (ml_policy or {}) and any(job["name"] == names.LAUNCHER for job in jobs)
    for name in (names.LAUNCHER,) if launches else naming.trainer_jobs:
        found = [i for i in unlabelled if jobs[i]["name"] == name]
        if found:
            return [i for i in found if naming.guesses or set(naming.containers) & set(container_names(jobs[i]))]
    return [i for i in unlabelled if not _initializes(jobs[i]["name"])] if naming.guesses else []


def _initializes(name: str) -> bool:
    return name == "initializer" or name.endswith("-initializer")


def _labelled(job: Json, step: str) -> Json:
    template = job["template"]
    metadata = template.get("metadata") or {}
    labels = {**metadata.get("labels", {}), names.ANCESTOR_LABEL: step}
    return {**job, "template": {**template, "metadata": {**metadata, "labels": labels}}}


def _inferred(step: str, job: str, index: int) -> Finding:
    return Finding(
        "RoleInferred",
        "warning",
        f"job {job!r} carries no ancestor label; it is taken for the {step} step",
        f"add the label {names.ANCESTOR_LABEL}: {step} to the job template's metadata",
        (*JOBS, index),
        about="runtime",
    )


def _ambiguous(step: str, jobs: list[str]) -> Finding:
    return Finding(
        "AmbiguousTrainerJob",
        "error",
        f"jobs {', '.join(jobs)} could all be the {step} step and none is labelled"
        if len(jobs) > 1
        else f"job {jobs[0]} is the {step} step neither by its label nor by its name",
        f"add the label {names.ANCESTOR_LABEL}: {step} to the one that is",
        JOBS,
        about="runtime",
    )
