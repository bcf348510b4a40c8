"""Pods that the API server refuses although it takes their JobSet and their Jobs.

Then nothing ever runs: the Job controller tries to create the pods again and again, and only an event says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from trainc.admission.jobset import read_jobset
from trainc.findings import Finding, Severity
from trainc.kube.documents import Json, mapping, objects
from trainc.reading.document import label_of
from trainc.startup.records import replace

if TYPE_CHECKING:
    from trainc.pods.admission_plugins import ClusterObjects

# What a pod must have to be refused whatever the cluster holds.
_SUSPECT = frozenset(("overhead", "priority", "preemptionPolicy", "nodeName"))


def objects_for_pods(documents: Iterable[Json]) -> ClusterObjects:
    """Return the objects of a cluster among `documents` that decide whether it admits pods."""
    read = list(documents)
    if not read:  # As in most inputs.
        return {}
    from trainc.pods.admission_plugins import cluster_objects

    return cluster_objects(read)


def pod_refusals(manifests: Sequence[Json], cluster: ClusterObjects, severity: Severity) -> Iterator[Finding]:
    """Yield why the API server would refuse pods of the JobSets in `manifests`."""
    for manifest in manifests:
        if manifest.get("kind") == "JobSet":
            for finding in _refusals(manifest, cluster):
                kept = finding.severity if severity == "error" else severity
                yield replace(finding, about=label_of(manifest), severity=kept)


def _refusals(jobset: Json, cluster: ClusterObjects) -> Iterator[Finding]:
    if not cluster and not _is_suspect(jobset):
        return
    namespace = str(mapping(jobset.get("metadata")).get("namespace") or "")
    view = read_jobset(jobset)
    if "ResourceQuota" in cluster:
        from trainc.pods.quotas import count_refusals

        jobs = sum(job.replicas for job in view.jobs)
        created = {"count/jobsets.jobset.x-k8s.io": 1, "count/jobs.batch": jobs}
        quotas = [quota for (home, _), quota in sorted(cluster["ResourceQuota"].items()) if home == namespace]
        yield from count_refusals(created, ("spec", "replicatedJobs"), quotas)
    for job in view.jobs:
        from trainc.pods.admission_plugins import refusals_of_pods

        yield from refusals_of_pods(job.pod_spec, job.pod_path, namespace, cluster)


def _is_suspect(jobset: Json) -> bool:
    """Return whether pods of a JobSet may be refused whatever the cluster holds."""
    for job in objects(mapping(jobset.get("spec")).get("replicatedJobs")):
        spec = mapping(mapping(mapping(mapping(job.get("template")).get("spec")).get("template")).get("spec"))
        volumes = objects(spec.get("volumes"))
        if not _SUSPECT.isdisjoint(spec) or any("image" in volume for volume in volumes):
            return True
    return False
