"""All names that are derived from a JobSet's name, and their limits.

A TrainJob's name becomes part of the names of Jobs, pods, Services, claims, volumes and labels, each with its own suffix
and limit. The code below measures them; the rules decide which ones JobSet refuses and on which it fails later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from trainc.findings import Path
from trainc.kube.documents import mapping, objects
from trainc.kube.jobset import JobSet, ReplicatedJob, number, text
from trainc.kube.names import LABEL_LIMIT, SUBDOMAIN_LIMIT, length
from trainc.startup.records import dataclass, replace

Use: TypeAlias = Literal[
    "Job", "pod", "pod hostname", "headless Service", "PersistentVolumeClaim", "coordinator label", "label", "volume",
    "ConfigMap", "Secret",
]  # fmt: skip

# The form of the suffix that the Job controller appends to the names of indexed pods. JobSet includes its length.
POD_SUFFIX = "-abcde"


@dataclass(frozen=True, slots=True)
class DerivedName:
    """A derived name, the field of the JobSet from which it comes, and how often it contains the JobSet's name."""

    use: Use
    value: str
    limit: int
    path: Path
    repeats: int = 0

    @property
    def spare(self) -> int:
        """The number of characters that are left; negative if the name is too long."""
        return self.limit - length(self.value)

    def __str__(self) -> str:
        room = f"{self.spare} to spare" if self.spare >= 0 else f"{-self.spare} too many"
        allowed = f"at most {self.limit} are allowed ({room})"
        return f"{self.use} {self.value!r} has {length(self.value)} characters; {allowed}"


def longest_name(jobset: JobSet) -> int:
    """Return the maximum length of the JobSet's name with which no derived name is too long; 0 if there is none."""
    used = length(jobset.name)
    return max(0, min(used + name.spare // name.repeats for name in derived_names(jobset) if name.repeats))


def derived_names(jobset: JobSet) -> Iterator[DerivedName]:
    """Yield all derived names, in the order of the fields from which they come."""
    yield DerivedName("label", jobset.name, LABEL_LIMIT, ("metadata", "name"), repeats=1)
    yield service_name(jobset)
    for job in jobset.jobs:
        yield job_name(jobset, job)
        if pod := pod_name(jobset, job):
            yield pod
            yield replace(pod, use="pod hostname", value=pod.value.removesuffix(POD_SUFFIX))
        yield from pod_template_names(jobset, job)
    if coordinator := coordinator_label(jobset):
        yield coordinator
    for path, claim in jobset.claims:
        yield claim_name(jobset, path, claim)


def service_name(jobset: JobSet) -> DerivedName:
    """Return the headless Service's name, which is the subdomain or else the JobSet's name."""
    path = ("spec", "network", "subdomain")
    return DerivedName("headless Service", jobset.service, LABEL_LIMIT, path, repeats=int(not jobset.subdomain))


def job_name(jobset: JobSet, job: ReplicatedJob) -> DerivedName:
    """Return the longest name of a replicated job's Jobs, which is that of the last replica."""
    value = f"{jobset.name}-{job.name}-{job.replicas - 1}"
    return DerivedName("Job", value, LABEL_LIMIT, (*job.path, "name"), repeats=1)


def pod_name(jobset: JobSet, job: ReplicatedJob) -> DerivedName | None:
    """Return the longest name of an indexed job's pods, or None if the Job controller shortens names itself."""
    if not job.indexed or job.completions is None:
        return None
    value = f"{jobset.name}-{job.name}-{job.replicas - 1}-{job.completions - 1}{POD_SUFFIX}"
    return DerivedName("pod", value, LABEL_LIMIT, (*job.path, "name"), repeats=1)


def coordinator_label(jobset: JobSet) -> DerivedName | None:
    """Return the address of the coordinator pod, which JobSet sets as a label on all child objects, or None."""
    if not isinstance(coordinator := jobset.spec.get("coordinator"), dict):
        return None
    job, replica, index = (coordinator.get(key) for key in ("replicatedJob", "jobIndex", "podIndex"))
    value = f"{jobset.name}-{text(job)}-{number(replica, 0)}-{number(index, 0)}.{jobset.service}"
    repeats = 1 if jobset.subdomain else 2
    return DerivedName("coordinator label", value, LABEL_LIMIT, ("spec", "coordinator"), repeats)


def claim_name(jobset: JobSet, path: Path, template: Mapping[str, Any]) -> DerivedName:
    """Return the name of the claim that JobSet creates from a template."""
    value = f"{text(mapping(template.get('metadata')).get('name'))}-{jobset.name}"
    return DerivedName("PersistentVolumeClaim", value, LABEL_LIMIT, (*path, "metadata", "name"), repeats=1)


def pod_template_names(jobset: JobSet, job: ReplicatedJob) -> Iterator[DerivedName]:
    """Yield names inside a pod template, such as labels, volumes and references, many derived from the TrainJob's."""
    labels, labels_path = mapping(job.pod_metadata.get("labels")), (*job.job_path, "template", "metadata", "labels")
    candidates: list[tuple[Use, Any, int, Path]] = [
        ("label", value, LABEL_LIMIT, (*labels_path, key)) for key, value in labels.items()
    ]
    for i, volume in enumerate(objects(job.pod_spec.get("volumes"))):
        path = (*job.pod_path, "volumes", i)
        config_map, secret = mapping(volume.get("configMap")).get("name"), mapping(volume.get("secret"))
        candidates += [
            ("volume", volume.get("name"), LABEL_LIMIT, (*path, "name")),
            ("ConfigMap", config_map, SUBDOMAIN_LIMIT, (*path, "configMap", "name")),
            ("Secret", secret.get("secretName"), SUBDOMAIN_LIMIT, (*path, "secret", "secretName")),
        ]
    for use, value, limit, path in candidates:
        if name := text(value):
            derived = name == jobset.name or name.startswith(f"{jobset.name}-")
            yield DerivedName(use, name, limit, path, repeats=int(derived))
