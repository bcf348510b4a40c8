"""What JobSet accepts and later fails on: the API server refuses the child Job, or the job waits or fails for ever.

JobSet then shows nothing but an event, so nobody notices. The caller picks the severity: an error where the manifests
go to git, a warning where the question is what admission does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainc.admission.creation import coordinator_label_problem, shorter_name, to_shorten
from trainc.admission.jobset import (
    JobSet,
    ReplicatedJob,
    containers,
    items,
    mapping,
    objects,
    text,
    too_long_in_pod_template,
)
from trainc.admission.versions import JobSetVersion
from trainc.api.documents import Json
from trainc.api.name_forms import LABEL_VALUE_FORM, is_label_value
from trainc.api.quantity import NANOS_PER_UNIT, Quantity, parse_quantity
from trainc.diagnostics import Finding, Path, Severity

# What a Job counts, and never below nothing. Source: kubernetes pkg/apis/batch/validation, validateJobSpec.
_COUNTS = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"),
    *("backoffLimitPerIndex", "maxFailedIndexes"),
)


def post_admission_checks(jobset: JobSet, version: JobSetVersion, severity: Severity) -> list[Finding]:
    """What a JobSet, its defaults baked in, will fail on after that JobSet minor has accepted it."""
    findings = list(_jobset(jobset, version, severity))
    for job in jobset.jobs:
        findings.extend(_job(job, severity))
        findings.extend(_pod_template(jobset, job, severity))
    return findings


def _jobset(jobset: JobSet, version: JobSetVersion, severity: Severity) -> Iterator[Finding]:
    if not version.checks_coordinator_label:
        yield from coordinator_label_problem(jobset, severity)
    if version.has_message_patterns:
        yield from _message_patterns(jobset, severity)
    for job in jobset.jobs:
        for i, name in enumerate(job.depends_on or ()):
            if name == job.name and job.index > 0:
                message = f"{name!r} waits for itself and never starts"
                hint = "drop the dependency, or name the job that comes before"
                yield Finding("DependsOnSelf", severity, message, hint=hint, path=(*job.path, "dependsOn", i, "name"))


def _message_patterns(jobset: JobSet, severity: Severity) -> Iterator[Finding]:
    rules = items(mapping(jobset.spec.get("failurePolicy")).get("rules"))
    if not rules:
        return
    from trainc.api.re2 import re2_error

    for i, rule in enumerate(rules):
        for k, pattern in enumerate(items(mapping(rule).get("onJobFailureMessagePatterns"))):
            if isinstance(pattern, str) and (error := re2_error(pattern)):
                path = ("spec", "failurePolicy", "rules", i, "onJobFailureMessagePatterns", k)
                message = f"pattern {pattern!r} does not compile, and JobSet skips it: {error}"
                yield Finding(
                    "InvalidMessagePattern", severity, message, hint="write it in RE2 syntax, as Go has it", path=path
                )


def _job(job: ReplicatedJob, severity: Severity) -> Iterator[Finding]:
    for name in _COUNTS:
        count = job.job_spec.get(name)
        if isinstance(count, int) and count < 0:
            message = f"a Job cannot have {name} {count}"
            yield Finding("OutOfRange", severity, message, hint="use 0 or more", path=(*job.job_path, name))
    policy = job.pod_spec.get("restartPolicy")
    if isinstance(policy, str) and policy not in ("", "Never", "OnFailure"):
        message = f"a Job's pods cannot have restartPolicy {policy!r}"
        path = (*job.pod_path, "restartPolicy")
        yield Finding("InvalidRestartPolicy", severity, message, hint="choose Never or OnFailure", path=path)
    if job.job_spec.get("podFailurePolicy") is not None and policy != "Never":
        message = f"podFailurePolicy needs pods that are not restarted, and restartPolicy is {policy!r}"
        path = (*job.job_path, "podFailurePolicy")
        hint = "set restartPolicy: Never in the pod template"
        yield Finding("PodFailurePolicyNeedsNever", severity, message, hint=hint, path=path)
    if job.indexed and job.completions is None and job.job_spec.get("parallelism") is not None:
        message = f"{job.name!r} is Indexed and says parallelism, but not how many completions it has"
        path = (*job.job_path, "parallelism")
        yield Finding("CompletionsMissing", severity, message, hint="set completions as well", path=path)
    if job.job_spec.get("backoffLimitPerIndex") is not None and not job.indexed:
        message = f"{job.name!r} limits retries per index, but its pods have none"
        path = (*job.job_path, "backoffLimitPerIndex")
        yield Finding(
            "BackoffLimitPerIndexNeedsIndexed", severity, message, hint="set completionMode: Indexed", path=path
        )


def _pod_template(jobset: JobSet, job: ReplicatedJob, severity: Severity) -> Iterator[Finding]:
    for name in too_long_in_pod_template(jobset, job):
        hint = shorter_name(jobset) if name.repeats else f"drop at least {-name.spare} characters"
        place = to_shorten(jobset, name)
        yield Finding("DerivedNameTooLong", severity, str(name), hint=hint, path=name.path, source_path=place)
    for key, value in mapping(job.pod_metadata.get("labels")).items():
        if not is_label_value(text(value)):
            path = (*job.job_path, "template", "metadata", "labels", key)
            message = f"{value!r} cannot be a label's value"
            yield Finding("InvalidLabel", severity, message, hint=f"use {LABEL_VALUE_FORM}", path=path)
    yield from _volumes(job, severity)
    for container_path, container in containers(job):
        yield from _env(container_path, container, severity)
        yield from check_resources((*container_path, "resources"), mapping(container.get("resources")), severity)


def _volumes(job: ReplicatedJob, severity: Severity) -> Iterator[Finding]:
    for i, volume in enumerate(objects(job.pod_spec.get("volumes"))):
        sources = [source for source, value in volume.items() if source != "name" and value is not None]
        if len(sources) > 1:
            message = f"volume {text(volume.get('name'))!r} has {len(sources)} sources: {', '.join(sources)}"
            yield Finding(
                "TwoVolumeSources", severity, message, hint="keep one of them", path=(*job.pod_path, "volumes", i)
            )


def _env(container_path: Path, container: Mapping[str, Any], severity: Severity) -> Iterator[Finding]:
    for i, variable in enumerate(objects(container.get("env"))):
        if variable.get("value") and variable.get("valueFrom") is not None:
            message = f"variable {text(variable.get('name'))!r} has both value and valueFrom"
            yield Finding(
                "ValueAndValueFrom", severity, message, hint="keep one of them", path=(*container_path, "env", i)
            )


# Requests and limits that batch/v1 refuses in a pod template, which JobSet never looks at.
#
# Source: kubernetes pkg/apis/core/validation/validation.go (ValidateContainerResourceRequirements) and
# pkg/apis/core/v1/helper/helpers.go (IsExtendedResourceName, IsOvercommitAllowed).


_STANDARD = ("cpu", "memory", "ephemeral-storage")
_HUGE_PAGES = "hugepages-"
_OVERCOMMITTABLE_DOMAIN = "kubernetes.io/"


def check_resources(path: Path, resources: Json, severity: Severity) -> Iterator[Finding]:
    """What is wrong with a container's `resources`; amounts that are no quantities are left to the schema stage."""
    requests, limits = mapping(resources.get("requests")), mapping(resources.get("limits"))
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            if name not in _STANDARD and (quantity := _quantity(amount)):
                yield from _device(name, quantity, (*path, field, name), severity)
    for name, amount in requests.items():
        if (name in limits or _cannot_be_overcommitted(name)) and (request := _quantity(amount)):
            limit = _quantity(limits[name]) if name in limits else None
            yield from _against_limit(name, request, limit, (*path, "requests", name), severity)


def _quantity(amount: object) -> Quantity | None:
    try:
        return parse_quantity(str(amount))
    except ValueError:
        return None


def _device(name: str, amount: Quantity, path: Path, severity: Severity) -> Iterator[Finding]:
    if "/" not in name and not name.startswith(_HUGE_PAGES):
        message = f"a container cannot ask for a resource called {name!r}"
        hint = "use cpu, memory, ephemeral-storage, or a device's full name such as nvidia.com/gpu"
        yield Finding("UnknownResource", severity, message, hint=hint, path=path)
    elif _is_extended(name) and amount.nanos % NANOS_PER_UNIT:
        message = f"{name} is counted in whole devices, and {amount} is none"
        yield Finding("ExtendedResourceNotInteger", severity, message, hint="ask for a whole number", path=path)


def _against_limit(
    name: str, request: Quantity, limit: Quantity | None, path: Path, severity: Severity
) -> Iterator[Finding]:
    if _cannot_be_overcommitted(name):
        if limit is None:
            message = f"{request} of {name} is requested without a limit, and {name} cannot be overcommitted"
            hint = f"set the limit of {name} to {request} too; a limit alone is enough"
            yield Finding("ExtendedResourceUnequal", severity, message, hint=hint, path=path)
        elif limit.nanos != request.nanos:
            message = f"{request} of {name} is requested but limited to {limit}; they must be equal"
            hint = "keep the limit alone, or make them equal"
            yield Finding("ExtendedResourceUnequal", severity, message, hint=hint, path=path)
    elif limit is not None and request.nanos > limit.nanos:
        # Always a warning: clusters often have a policy that rewrites the processors and memory of Jobs.
        message = f"{request} of {name} is requested, more than the limit of {limit}, which no Job may do"
        yield Finding(
            "RequestExceedsLimit", "warning", message, hint="raise the limit, or lower the request", path=path
        )


def _cannot_be_overcommitted(name: str) -> bool:
    return _is_extended(name) or name.startswith(_HUGE_PAGES)


def _is_extended(name: str) -> bool:
    return "/" in name and _OVERCOMMITTABLE_DOMAIN not in name
