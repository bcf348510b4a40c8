"""What a compiled job consists of: its steps with their pods, containers, devices and claims, as a JobSet says it.

A value of the wrong type counts as absent: the schema stage reports it, and what reads this can still say the rest.
Absent values count as the CRD's defaults, so that a JobSet says the same before and after these are filled in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from trainc.findings import Path
from trainc.kube import names
from trainc.kube.devices import accelerator
from trainc.kube.documents import Json, mapping, objects
from trainc.kube.names import LABEL_LIMIT, SUBDOMAIN_LIMIT, length
from trainc.kube.quantity import ResourceList, pod_requests
from trainc.startup.records import dataclass, replace
from trainc.startup.typing import Any, Literal, TypeAlias

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


# A TrainJob's name becomes part of the names of Jobs, pods, Services, claims, volumes and labels, each with its own suffix
# and limit. These are measured here; the rules of admission decide which ones JobSet refuses and on which it fails later.

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
