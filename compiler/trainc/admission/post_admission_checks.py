"""Checks for what JobSet accepts but fails on later: the API server refuses a child Job, or the job waits forever.

JobSet then reports only an event, which is easy to miss. The caller chooses the severity: an error if the manifests go
to git, a warning if only admission is to be checked.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.admission.creation import coordinator_label_problem, name_to_shorten, shortening_hint
from trainc.admission.jobset import JobSet, ReplicatedJob, claim_templates, text, too_long_in_pod_template
from trainc.admission.versions import JobSetVersion
from trainc.findings import Finding, Severity
from trainc.kube.documents import Json, items, mapping
from trainc.pods import validate_job
from trainc.startup.records import replace


def post_admission_checks(jobset: JobSet, version: JobSetVersion, severity: Severity) -> list[Finding]:
    """Return what a JobSet that has its defaults fails on after this JobSet minor has accepted it."""
    findings = list(_jobset(jobset, version, severity))
    for job in jobset.jobs:
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
                message = f"{name!r} depends on itself and never starts"
                hint = "remove the dependency, or use the name of another job"
                yield Finding("DependsOnSelf", severity, message, hint=hint, path=(*job.path, "dependsOn", i, "name"))


def _message_patterns(jobset: JobSet, severity: Severity) -> Iterator[Finding]:
    rules = items(mapping(jobset.spec.get("failurePolicy")).get("rules"))
    if not rules:
        return
    from trainc.kube.re2 import re2_error

    for i, rule in enumerate(rules):
        for k, pattern in enumerate(items(mapping(rule).get("onJobFailureMessagePatterns"))):
            if isinstance(pattern, str) and (error := re2_error(pattern)):
                path = ("spec", "failurePolicy", "rules", i, "onJobFailureMessagePatterns", k)
                message = f"pattern {pattern!r} is not a valid regular expression, so JobSet ignores it: {error}"
                yield Finding("InvalidMessagePattern", severity, message, hint="use Go's RE2 syntax", path=path)


def _pod_template(jobset: JobSet, job: ReplicatedJob, severity: Severity) -> Iterator[Finding]:
    too_long = too_long_in_pod_template(jobset, job)
    for name in too_long:
        hint = shortening_hint(jobset) if name.repeats else f"shorten it by at least {-name.spare} characters"
        place = name_to_shorten(jobset, name)
        yield Finding("DerivedNameTooLong", severity, str(name), hint=hint, path=name.path, source_path=place)
    reported = {name.path for name in too_long}
    for finding in validate_job(_child_job(jobset, job), (*job.path, "template")):
        if finding.path not in reported:
            yield finding if severity == "error" else replace(finding, severity=severity)


def _child_job(jobset: JobSet, job: ReplicatedJob) -> Json:
    """Return a Job's template with JobSet's changes to its pods: volumes of claims, and the subdomain.

    Source: kubernetes-sigs/jobset pkg/controllers/jobset_controller.go, constructJob.
    """
    written = {text(mapping(volume).get("name")) for volume in items(job.pod_spec.get("volumes"))}
    claims = {text(mapping(template.get("metadata")).get("name")) for _, template in claim_templates(jobset)} - written
    named = mapping(jobset.spec.get("network")).get("enableDNSHostnames") is not False
    if not claims and not (named and "subdomain" in job.pod_spec):
        return job.template
    pod_spec = dict(job.pod_spec)
    if claims:
        added = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in sorted(claims)]
        pod_spec["volumes"] = [*items(pod_spec.get("volumes")), *added]
    if named:
        pod_spec["subdomain"] = ""
    pod = {**mapping(job.job_spec.get("template")), "spec": pod_spec}
    return {**job.template, "spec": {**job.job_spec, "template": pod}}
