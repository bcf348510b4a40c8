"""Refused on creation: names of Jobs and pods that would be too long or malformed, and group names (J8, J9, J10).

Source: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go, ValidateCreate.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.admission.jobset import JobSet, ReplicatedJob
from trainc.admission.name_budget import DerivedName, job_name, longest_name, pod_name
from trainc.admission.versions import JobSetVersion
from trainc.api.name_forms import DNS_1035_FORM, LABEL_LIMIT, is_dns1035_label, length
from trainc.diagnostics import Finding, Path


def check_names(jobset: JobSet, version: JobSetVersion) -> Iterator[Finding]:
    """What is wrong with the names of a JobSet's Jobs, pods and groups."""
    if not jobset.name:
        yield from _no_name(jobset)
        return
    for job in jobset.jobs:
        if version.has_groups:
            yield from _group(job)
        yield from _job_and_pod(jobset, job)


def _no_name(jobset: JobSet) -> Iterator[Finding]:
    # Without generateName either, the schema stage already says that the name is missing.
    if jobset.generates_name:
        message = "the API server makes up a name at each creation, so that nobody knows those of the Jobs and pods yet"
        hint = "set metadata.name; what has only generateName cannot be applied from git either"
        yield Finding("MissingJobSetName", "error", message, hint, ("metadata", "generateName"))


def _group(job: ReplicatedJob) -> Iterator[Finding]:
    excess = length(job.group) - LABEL_LIMIT
    if excess <= 0 and is_dns1035_label(job.group):
        return
    why = f"has {length(job.group)} of {LABEL_LIMIT} characters, {excess} too many" if excess > 0 else "is malformed"
    yield Finding(
        "InvalidGroupName",
        "error",
        f"group name {job.group!r} {why}",
        f"use at most {LABEL_LIMIT} characters: {DNS_1035_FORM}",
        (*job.path, "groupName"),
    )


def _job_and_pod(jobset: JobSet, job: ReplicatedJob) -> Iterator[Finding]:
    name = job_name(jobset, job)
    if not is_dns1035_label(name.value):
        yield Finding(
            "InvalidJobName",
            "error",
            f"the Job would be called {name.value!r}, which no Job of a JobSet may be",
            f"in the name of the JobSet and of {job.name!r}, use {DNS_1035_FORM}",
            name.path,
        )
    if name.spare < 0:
        yield _too_long("JobNameTooLong", jobset, name)
    if (pod := pod_name(jobset, job)) and pod.spare < 0:
        yield _too_long("PodNameTooLong", jobset, pod)


def _too_long(code: str, jobset: JobSet, name: DerivedName) -> Finding:
    return Finding(code, "error", str(name), shorter_name(jobset), name.path, source_path=to_shorten(jobset, name))


def shorter_name(jobset: JobSet) -> str:
    """How to mend a derived name that is too long."""
    longest = longest_name(jobset)
    if longest < 1:
        return "shorten the names of the replicated jobs, claims or volumes: no name of the JobSet is short enough"
    return f"call the JobSet by at most {longest} characters; {jobset.name!r} has {length(jobset.name)}"


def to_shorten(jobset: JobSet, name: DerivedName) -> Path:
    """Where a derived name that is too long is mended: at the JobSet's own name, unless none is short enough."""
    return ("metadata", "name") if name.repeats and longest_name(jobset) > 0 else name.path
