"""What JobSet accepts and the cluster does not: Jobs and pods that the API server refuses, and jobs that wait forever."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trainc.admission.creation import coordinator_label_problem, too_long
from trainc.admission.versions import JobSetVersion
from trainc.findings import Finding, Severity
from trainc.kube.documents import Json, items, mapping, objects
from trainc.kube.jobset import JobSet, ReplicatedJob, pod_template_names, text
from trainc.pods import validate_job
from trainc.reading.document import label_of
from trainc.startup.records import replace
from trainc.startup.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainc.pods.admission_plugins import ClusterObjects


def post_admission_checks(jobset: JobSet, version: JobSetVersion, severity: Severity) -> list[Finding]:
    """Return what a JobSet that has its defaults fails on after this JobSet minor has accepted it."""
    findings = list(_jobset(jobset, version, severity))
    for job in jobset.jobs:
        names = [name for name in pod_template_names(jobset, job) if name.spare < 0]
        findings += [too_long(jobset, name, "DerivedNameTooLong", severity) for name in names]
        reported = {name.path for name in names}
        refused = validate_job(_child_job(jobset, job), (*job.path, "template"))
        for finding in refused:
            if finding.path not in reported:
                findings.append(finding if severity == "error" else replace(finding, severity=severity))
    return findings


def _jobset(jobset: JobSet, version: JobSetVersion, severity: Severity) -> Iterator[Finding]:
    if not version.checks_coordinator_label:
        yield from coordinator_label_problem(jobset, severity)
    if version.has_message_patterns:
        yield from _message_patterns(jobset, severity)
    for job in jobset.jobs:
        for i, dependency in enumerate(job.depends_on or ()):
            if dependency.step == job.name and job.index > 0:
                message = f"{job.name!r} depends on itself and never starts"
                hint = "remove the dependency, or use the name of another job"
                yield Finding("DependsOnSelf", severity, message, hint, (*job.path, "dependsOn", i, "name"))


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
                yield Finding("InvalidMessagePattern", severity, message, "use Go's RE2 syntax", path)


def _child_job(jobset: JobSet, job: ReplicatedJob) -> Json:
    """Return a Job's template with JobSet's changes to its pods: volumes of claims, and the subdomain.

    Source: kubernetes-sigs/jobset pkg/controllers/jobset_controller.go, constructJob.
    """
    volume_names = {text(mapping(volume).get("name")) for volume in items(job.pod_spec.get("volumes"))}
    claims = {text(mapping(template.get("metadata")).get("name")) for _, template in jobset.claims} - volume_names
    has_hostnames = mapping(jobset.spec.get("network")).get("enableDNSHostnames") is not False
    if not claims and not (has_hostnames and "subdomain" in job.pod_spec):
        return job.template
    pod_spec = dict(job.pod_spec)
    if claims:
        added = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in sorted(claims)]
        pod_spec["volumes"] = [*items(pod_spec.get("volumes")), *added]
    if has_hostnames:
        pod_spec["subdomain"] = ""
    pod = {**job.pod_template, "spec": pod_spec}
    return {**job.template, "spec": {**job.job_spec, "template": pod}}


# Pods that the API server refuses although it takes their JobSet and their Jobs.
#
# Then nothing ever runs: the Job controller tries to create the pods again and again, and only an event says why.


# What a pod must have to be refused whatever the cluster holds.
_SUSPECT = frozenset(("overhead", "priority", "preemptionPolicy", "nodeName"))


def objects_for_pods(documents: Iterable[Json]) -> ClusterObjects:
    """Return the objects of a cluster among `documents` that decide whether it admits pods."""
    manifests = list(documents)
    if not manifests:  # As in most inputs.
        return {}
    from trainc.pods.admission_plugins import cluster_objects

    return cluster_objects(manifests)


def pod_refusals(manifests: Sequence[Json], cluster: ClusterObjects, severity: Severity) -> Iterator[Finding]:
    """Yield why the API server would refuse pods of the JobSets in `manifests`."""
    for jobset in JobSet.among(manifests):
        if not (cluster or any(_is_suspect(job.pod_spec) for job in jobset.jobs)):
            continue
        from trainc.pods.admission_plugins import count_refusals, in_namespace, refusals_of_pods

        findings = list[Finding]()
        if "ResourceQuota" in cluster:
            created = {"count/jobsets.jobset.x-k8s.io": 1, "count/jobs.batch": sum(job.replicas for job in jobset.jobs)}
            quotas = in_namespace(cluster, "ResourceQuota", jobset.namespace)
            findings += count_refusals(created, ("spec", "replicatedJobs"), quotas)
        for job in jobset.jobs:
            findings += refusals_of_pods(job.pod_spec, job.pod_path, jobset.namespace, cluster)
        for finding in findings:
            lowered = finding.severity if severity == "error" else severity
            yield replace(finding, about=label_of(jobset.document), severity=lowered)


def _is_suspect(pod: Json) -> bool:
    """Return whether a pod may be refused whatever the cluster holds."""
    return not _SUSPECT.isdisjoint(pod) or any("image" in volume for volume in objects(pod.get("volumes")))
