"""What a compiled job consists of: its steps with their pods, containers, devices and claims, as a JobSet says it.

A value of the wrong type counts as absent: the schema stage reports it, and what reads this can still say the rest.
Absent values count as the CRD's defaults, so that a JobSet says the same before and after these are filled in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trainc.findings import Path
from trainc.kube import names
from trainc.kube.devices import accelerator
from trainc.kube.documents import Json, mapping, objects
from trainc.kube.quantity import ResourceList, pod_requests
from trainc.startup.records import dataclass

_HOST = {"cpu": "CPU", "memory": "memory", "ephemeral-storage": "disk"}


@dataclass(frozen=True, slots=True)
class Dependency:
    """The named step must reach `status` (Ready or Complete) before another one starts."""

    step: str
    status: str

    def __str__(self) -> str:
        return f"{self.step} is {self.status}"


@dataclass(frozen=True, slots=True)
class ReplicatedJob:
    """A step: one entry of `spec.replicatedJobs`, each of whose replicas is a Job with its pods.

    `completions` is None if the template does not set it, `depends_on` if the entry does not.
    """

    index: int
    name: str
    group: str
    replicas: int
    parallelism: int
    completions: int | None
    indexed: bool
    depends_on: tuple[Dependency, ...] | None
    template: Json
    job_spec: Json
    pod_template: Json
    pod_metadata: Json
    pod_spec: Json

    @property
    def path(self) -> Path:
        """The path of the entry in the JobSet."""
        return ("spec", "replicatedJobs", self.index)

    @property
    def job_path(self) -> Path:
        """The path of the Job's spec in the JobSet."""
        return (*self.path, "template", "spec")

    @property
    def pod_path(self) -> Path:
        """The path of the pods' spec in the JobSet."""
        return (*self.job_path, "template", "spec")

    @property
    def ancestor(self) -> str:
        """The step of the TrainJob that Trainer's label names, or empty."""
        return text(mapping(mapping(self.template.get("metadata")).get("labels")).get(names.ANCESTOR_LABEL))

    @property
    def annotations(self) -> Mapping[str, Any]:
        """The annotations of the pods."""
        return mapping(self.pod_metadata.get("annotations"))

    @property
    def indexes(self) -> int:
        """The pods of one replica that have to complete."""
        return self.completions or self.parallelism

    @property
    def pods_at_once(self) -> int:
        """The pods of one replica that run at the same time."""
        return self.parallelism if self.completions is None else min(self.parallelism, self.completions)

    @property
    def pods(self) -> int:
        """The pods of all replicas that run at the same time."""
        return self.replicas * self.pods_at_once

    @property
    def containers(self) -> Iterator[tuple[Path, Json]]:
        """The containers of a pod, init containers first, with their paths in the JobSet."""
        for kind in ("initContainers", "containers"):
            for i, container in enumerate(objects(self.pod_spec.get(kind))):
                yield (*self.pod_path, kind, i), container

    @property
    def image(self) -> str:
        """The image of the first container, or empty."""
        return next((text(container.get("image")) for container in objects(self.pod_spec.get("containers"))), "")

    @property
    def requests(self) -> ResourceList:
        """The requests of one pod: compute devices first, then other devices, then CPU and memory."""
        amounts = pod_requests(self.pod_spec, limits_count=True)
        order = sorted(amounts, key=lambda name: (not accelerator(name), "/" not in name, name in _HOST, name))
        return {name: amounts[name] for name in order}

    @property
    def devices(self) -> dict[str, int]:
        """The compute devices of one pod, by resource."""
        return {name: amount.units for name, amount in self.requests.items() if accelerator(name)}

    def request_texts(self) -> tuple[list[str], list[str]]:
        """What one pod requests, devices apart from CPU and memory: `8 nvidia.com/gpu`; `96 CPU`, `1Ti memory`."""
        requests = self.requests
        devices = [f"{amount} {name}" for name, amount in requests.items() if name not in _HOST]
        return devices, [f"{amount} {_HOST[name]}" for name, amount in requests.items() if name in _HOST]


@dataclass(frozen=True, slots=True)
class JobSet:
    """A JobSet and its steps in their order. `document` is the object itself."""

    namespace: str
    name: str
    generates_name: bool
    spec: Json
    jobs: tuple[ReplicatedJob, ...]
    document: Json

    @classmethod
    def read(cls, document: Json) -> JobSet:
        """Return what a JobSet consists of."""
        spec, metadata = mapping(document.get("spec")), mapping(document.get("metadata"))
        jobs = tuple([_replicated_job(i, job) for i, job in enumerate(objects(spec.get("replicatedJobs")))])
        namespace, name = text(metadata.get("namespace")), text(metadata.get("name"))
        return cls(namespace, name, bool(metadata.get("generateName")), spec, jobs, document)

    @classmethod
    def among(cls, manifests: Iterable[Json]) -> Iterator[JobSet]:
        """Yield each JobSet among manifests; those of a compiled job have one, or none where others make it."""
        return (cls.read(manifest) for manifest in manifests if manifest.get("kind") == "JobSet")

    @property
    def job_names(self) -> tuple[str, ...]:
        """The names of the replicated jobs, in order."""
        return tuple(job.name for job in self.jobs)

    @property
    def subdomain(self) -> str:
        """The subdomain that the JobSet sets, or an empty string."""
        return text(mapping(self.spec.get("network")).get("subdomain"))

    @property
    def service(self) -> str:
        """The headless Service's name, which is also the subdomain of the pods."""
        return self.subdomain or self.name

    @property
    def has_hosts(self) -> bool:
        """Return whether the pods have DNS names."""
        return mapping(self.spec.get("network")).get("enableDNSHostnames") is not False

    @property
    def claims(self) -> Iterator[tuple[Path, Json]]:
        """The templates of the claims that JobSet creates for its pods, with their paths."""
        for i, policy in enumerate(objects(self.spec.get("volumeClaimPolicies"))):
            for k, template in enumerate(objects(policy.get("templates"))):
                yield ("spec", "volumeClaimPolicies", i, "templates", k), template

    @property
    def awaited(self) -> frozenset[str]:
        """The names of the steps that have completed by the time another one starts."""
        return frozenset(d.step for job in self.jobs for d in job.depends_on or () if d.status == "Complete")

    def awaits(self, job: ReplicatedJob) -> tuple[Dependency, ...]:
        """What a step waits for: under startupPolicy InOrder, the one before it."""
        in_order = mapping(self.spec.get("startupPolicy")).get("startupPolicyOrder") == "InOrder"
        if job.depends_on or not (in_order and job.index):
            return job.depends_on or ()
        return (Dependency(self.jobs[job.index - 1].name, "Ready"),)

    def pods_of(self, job: ReplicatedJob) -> Iterator[str]:
        """The host names of a step's pods, by replica and index; with the service, they are DNS names of the namespace."""
        for replica in range(job.replicas):
            for index in range(job.pods_at_once):
                yield names.pod_host(self.name, job.name, replica, index)


def _replicated_job(index: int, job: Json) -> ReplicatedJob:
    template = mapping(job.get("template"))
    job_spec = mapping(template.get("spec"))
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
        depends_on=tuple(map(_dependency, objects(depends_on))) if isinstance(depends_on, list) else None,
        template=template,
        job_spec=job_spec,
        pod_template=pod,
        pod_metadata=mapping(pod.get("metadata")),
        pod_spec=mapping(pod.get("spec")),
    )


def _dependency(item: Json) -> Dependency:
    return Dependency(text(item.get("name")), text(item.get("status"), "Complete"))


def text(value: object, default: str = "") -> str:
    """Return `value` if it is a string, else `default`."""
    return value if isinstance(value, str) else default


def number(value: object, default: int) -> int:
    """Return `value` if it is an integer, else `default`. Booleans do not count as integers."""
    return value if isinstance(value, int) and not isinstance(value, bool) else default
