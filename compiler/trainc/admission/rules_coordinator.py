"""Refused on creation: a coordinator pod that does not exist, or whose address is no label value (J15, J16).

Source: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go, validateCoordinator and validateCoordinatorLabelValue.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.admission.jobset import JobSet, number, text
from trainc.admission.name_budget import coordinator_label
from trainc.admission.rules_names import shorter_name, to_shorten
from trainc.admission.versions import JobSetVersion
from trainc.diagnostics import Finding, Severity

_PATH = ("spec", "coordinator")


def check_coordinator(jobset: JobSet, version: JobSetVersion) -> Iterator[Finding]:
    """What is wrong with the coordinator, where there is one."""
    if isinstance(jobset.spec.get("coordinator"), dict):
        yield from _place(jobset)
        if version.checks_coordinator_label:
            yield from coordinator_label_problem(jobset, "error")


def _place(jobset: JobSet) -> Iterator[Finding]:
    coordinator = jobset.spec["coordinator"]
    name = text(coordinator.get("replicatedJob"))
    job = next((job for job in jobset.jobs if job.name == name), None)
    if job is None:
        hint = f"name one of {', '.join(jobset.job_names) or 'the replicated jobs, of which there are none'}"
        message = f"the coordinator is to run in {name!r}, which is no replicated job"
        yield Finding("UnknownTargetJob", "error", message, hint, (*_PATH, "replicatedJob"))
        return
    replica, pod = number(coordinator.get("jobIndex"), 0), number(coordinator.get("podIndex"), 0)
    if not 0 <= replica < job.replicas:
        yield _index("jobIndex", replica, f"{name!r} has {job.replicas} replicas")
    if not job.indexed or job.completions is None:
        message = f"the coordinator's job {name!r} must be Indexed and say how many completions it has"
        hint = "set completionMode: Indexed and completions in its template"
        yield Finding("CoordinatorNotIndexed", "error", message, hint, (*_PATH, "replicatedJob"))
    elif not 0 <= pod < job.completions:
        yield _index("podIndex", pod, f"a Job of {name!r} has {job.completions} completions")


def _index(field: str, value: int, have: str) -> Finding:
    message = f"{field} {value} is out of range: {have}, counted from 0"
    return Finding("InvalidCoordinatorIndex", "error", message, f"set {field} to 0", (*_PATH, field))


def coordinator_label_problem(jobset: JobSet, severity: Severity) -> Iterator[Finding]:
    """Whether the coordinator's address fits into the label that carries it; before JobSet 0.11 nothing refuses it."""
    label = coordinator_label(jobset)
    # Its characters are those of names, each of which is judged on its own.
    if label is not None and label.spare < 0:
        place = to_shorten(jobset, label)
        yield Finding(
            "InvalidCoordinatorLabel", severity, str(label), shorter_name(jobset), label.path, source_path=place
        )
