"""Refused on creation: dependencies of the first job, and on jobs that do not come before (J1, J2).

The number of dependencies, their status and their uniqueness (J3) and `startupPolicy: InOrder` beside them (J4) are in
the CRD's schema. Source: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go, ValidateCreate.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.admission.jobset import JobSet
from trainc.admission.versions import JobSetVersion
from trainc.diagnostics import Finding


def check_depends_on(jobset: JobSet, version: JobSetVersion) -> Iterator[Finding]:
    """What is wrong with `dependsOn`, as the webhook sees it."""
    for job in jobset.jobs:
        if job.depends_on is None:
            continue
        path = (*job.path, "dependsOn")
        if job.index == 0:
            yield Finding(
                "DependsOnFirstJob",
                "error",
                f"the first replicated job, {job.name!r}, cannot depend on another: there is none before it",
                "put the job after those it depends on, or drop dependsOn",
                path,
            )
        elif not job.depends_on and version.crashes_on_empty_depends_on:
            message = f"JobSet {version.minor} crashes on an empty dependsOn"
            yield Finding("DependsOnEmpty", "error", message, "drop dependsOn", path)
        before = jobset.job_names[: job.index + 1]
        for i, name in enumerate(job.depends_on):
            if name not in before:
                yield _unknown(jobset, job.name, name, (*path, i, "name"))


def _unknown(jobset: JobSet, job: str, name: str, path: tuple[str | int, ...]) -> Finding:
    known = name in jobset.job_names
    where = "comes later in replicatedJobs" if known else "is not in replicatedJobs"
    hint = f"put {name!r} before {job!r}" if known else f"the jobs are {', '.join(jobset.job_names)}"
    return Finding("DependsOnUnknown", "error", f"{job!r} depends on {name!r}, which {where}", hint, path)
