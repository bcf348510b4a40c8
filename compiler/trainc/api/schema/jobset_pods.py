"""Differences between the pods of Trainer's and JobSet's CRDs in 2.2, where Trainer uses a newer Kubernetes.

Pods in Trainer 2.2.1 have `schedulingGroup`, and in JobSet 0.11.1 `workloadRef` instead. The definitions are Trainer's,
so JobSets are converted to that form before validation, and JobSet's own field is restored afterwards. Source: the CRDs
of both at the tags that PORT.yaml pins, compared field by field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from trainc.api.documents import items, mapping
from trainc.diagnostics import Finding, Path

_TRAINERS = "schedulingGroup"
_JOBSETS = "workloadRef"
_POD: Path = ("template", "spec", "template", "spec")

# The value of JobSet's own field by the index of the replicated job.
References: TypeAlias = dict[int, Any]


def in_trainers_form(jobset: Mapping[str, Any], *, prune: bool) -> tuple[dict[str, Any], References, list[Finding]]:
    """Return the JobSet without its own field, the values of that, and a finding for each field that JobSet lacks.

    With `prune` these fields are dropped with a warning; otherwise they are errors.
    """
    references: References = {}
    findings: list[Finding] = []
    jobs = items(mapping(jobset.get("spec")).get("replicatedJobs"))
    changed = list(jobs)
    for index, job in enumerate(jobs):
        pod = _pod(job)
        if pod.get(_JOBSETS) is not None:
            references[index] = pod[_JOBSETS]
        if _TRAINERS in pod:
            findings.append(_unknown(("spec", "replicatedJobs", index, *_POD, _TRAINERS), prune))
        if _TRAINERS in pod or _JOBSETS in pod:
            changed[index] = _with_pod(job, {n: v for n, v in pod.items() if n not in (_JOBSETS, _TRAINERS)})
    if changed == jobs:
        return dict(jobset), references, findings
    return {**jobset, "spec": {**jobset["spec"], "replicatedJobs": changed}}, references, findings


def with_references(jobset: dict[str, Any], references: References) -> dict[str, Any]:
    """Restore JobSet's own field; its contents are not validated."""
    if not references:
        return jobset
    jobs = [
        _with_pod(job, {**_pod(job), _JOBSETS: references[index]}) if index in references else job
        for index, job in enumerate(jobset["spec"]["replicatedJobs"])
    ]
    return {**jobset, "spec": {**jobset["spec"], "replicatedJobs": jobs}}


def _unknown(path: Path, prune: bool) -> Finding:
    message = f"the JobSet of Trainer 2.2 has no field {_TRAINERS} here, although Trainer 2.2 itself has"
    hint = "remove it, or compile with --release 2.3, whose JobSet has it"
    return Finding("UnknownField", "warning" if prune else "error", message + "; it is dropped" * prune, hint, path)


def _pod(job: Any) -> Mapping[str, Any]:
    for step in _POD:
        job = mapping(job).get(str(step))
    return mapping(job)


def _with_pod(job: Mapping[str, Any], pod: Mapping[str, Any]) -> dict[str, Any]:
    template = job["template"]
    spec = template["spec"]
    return {**job, "template": {**template, "spec": {**spec, "template": {**spec["template"], "spec": pod}}}}
