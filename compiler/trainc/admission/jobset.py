"""What the admission rules need of a JobSet, read once and tolerantly.

A value of the wrong type reads as absent: the schema stage reports it, and the rules still report the rest.
Absent values read as the CRD's defaults, so that a rule gives the same answer before and after they are filled in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from trainc.diagnostics import Path
from trainc.startup.records import dataclass

Json: TypeAlias = Mapping[str, Any]
_NOTHING: Json = {}


@dataclass(frozen=True, slots=True)
class ReplicatedJob:
    """One entry of `spec.replicatedJobs`; `completions` is None where the template sets none."""

    index: int
    name: str
    group: str
    replicas: int
    parallelism: int
    completions: int | None
    indexed: bool
    depends_on: tuple[str, ...] | None
    job_spec: Json
    pod_metadata: Json
    pod_spec: Json

    @property
    def path(self) -> Path:
        """Where the entry is in the JobSet."""
        return ("spec", "replicatedJobs", self.index)

    @property
    def job_path(self) -> Path:
        """Where the Job's spec is in the JobSet."""
        return (*self.path, "template", "spec")

    @property
    def pod_path(self) -> Path:
        """Where the pods' spec is in the JobSet."""
        return (*self.job_path, "template", "spec")


@dataclass(frozen=True, slots=True)
class JobSet:
    """A JobSet whose webhook defaults have been applied (`defaults.bake_defaults`)."""

    name: str
    generates_name: bool
    spec: Json
    jobs: tuple[ReplicatedJob, ...]

    @property
    def job_names(self) -> tuple[str, ...]:
        """The names of the replicated jobs, in order."""
        return tuple(job.name for job in self.jobs)

    @property
    def subdomain(self) -> str:
        """The subdomain that the JobSet asks for; empty where it asks for none."""
        return text(mapping(self.spec.get("network")).get("subdomain"))

    @property
    def service(self) -> str:
        """The headless Service's name, which is also the subdomain of the pods."""
        return self.subdomain or self.name


def read_jobset(document: Json) -> JobSet:
    """The rules' view of a JobSet document."""
    spec = mapping(document.get("spec"))
    jobs = tuple(_replicated_job(i, mapping(job)) for i, job in enumerate(items(spec.get("replicatedJobs"))))
    metadata = mapping(document.get("metadata"))
    return JobSet(text(metadata.get("name")), bool(metadata.get("generateName")), spec, jobs)


def _replicated_job(index: int, job: Json) -> ReplicatedJob:
    job_spec = mapping(mapping(job.get("template")).get("spec"))
    pod = mapping(job_spec.get("template"))
    depends_on = job.get("dependsOn")
    return ReplicatedJob(
        index=index,
        name=text(job.get("name")),
        group=text(job.get("groupName"), "default"),
        replicas=number(job.get("replicas"), 1),
        parallelism=number(job_spec.get("parallelism"), 1),
        completions=number(job_spec["completions"], 1) if job_spec.get("completions") is not None else None,
        indexed=job_spec.get("completionMode") == "Indexed",
        depends_on=tuple(text(mapping(d).get("name")) for d in depends_on) if isinstance(depends_on, list) else None,
        job_spec=job_spec,
        pod_metadata=mapping(pod.get("metadata")),
        pod_spec=mapping(pod.get("spec")),
    )


def containers(job: ReplicatedJob) -> Iterator[tuple[Path, Json]]:
    """A job's init containers and containers with their paths in the JobSet, in the order in which they start."""
    for field in ("initContainers", "containers"):
        for i, container in enumerate(items(job.pod_spec.get(field))):
            yield (*job.pod_path, field, i), mapping(container)


def mapping(value: object) -> Json:
    """`value` where it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else _NOTHING


def items(value: object) -> list[Any]:
    """`value` where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: object, default: str = "") -> str:
    """`value` where it is a string, else `default`."""
    return value if isinstance(value, str) else default


def number(value: object, default: int) -> int:
    """`value` where it is an integer, else `default`; true and false are no integers here."""
    return value if isinstance(value, int) and not isinstance(value, bool) else default
