"""All rules by which JobSet's webhook refuses to create a JobSet. The CRD's schema is checked elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.admission.jobset import (
    DerivedName,
    JobSet,
    ReplicatedJob,
    claim_name,
    claim_templates,
    containers,
    coordinator_label,
    job_name,
    longest_name,
    number,
    pod_name,
    text,
)
from trainc.admission.rules_policies import check_depends_on, check_managed_by, check_network, check_policies
from trainc.admission.versions import JobSetVersion
from trainc.findings import Finding, Fix, Hint, Path, Severity, choose
from trainc.kube.documents import items, mapping
from trainc.kube.names import (
    DNS_1035_FORM,
    DNS_1123_FORM,
    LABEL_LIMIT,
    SUBDOMAIN_LIMIT,
    is_dns1035_label,
    is_dns1123_subdomain,
    length,
)


def check_creation(jobset: JobSet, version: JobSetVersion) -> list[Finding]:
    """Return the reasons why this JobSet minor would refuse `jobset`; empty if it would accept it.

    `jobset` must have the webhook's defaults. What the CRD's schema refuses (types, enums, list keys, bounds, CEL rules)
    is reported by the schema stage.
    """
    return [
        *check_names(jobset, version),
        *check_depends_on(jobset, version),
        *check_network(jobset),
        *check_managed_by(jobset),
        *check_policies(jobset, version),
        *check_coordinator(jobset, version),
        *(check_volume_claims(jobset) if version.has_volume_claims else ()),
    ]


# Refused on creation: names of Jobs and pods that would be too long or malformed, and group names (J8, J9, J10).
#
# Source: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go, ValidateCreate.


def check_names(jobset: JobSet, version: JobSetVersion) -> Iterator[Finding]:
    """Yield errors for the names of a JobSet's Jobs, pods and groups."""
    if not jobset.name:
        yield from _no_name(jobset)
        return
    for job in jobset.jobs:
        if version.has_groups:
            yield from _group(job)
        yield from _job_and_pod(jobset, job)


def _no_name(jobset: JobSet) -> Iterator[Finding]:
    # If there is no generateName either, the schema stage reports the missing name.
    if jobset.generates_name:
        message = "the API server generates the name on creation, so the names of Jobs and pods are not known yet"
        hint = "set metadata.name: an object with only generateName cannot be applied from git either"
        yield Finding("MissingJobSetName", "error", message, hint=hint, path=("metadata", "generateName"))


def _group(job: ReplicatedJob) -> Iterator[Finding]:
    excess = length(job.group) - LABEL_LIMIT
    if excess <= 0 and is_dns1035_label(job.group):
        return
    why = f"has {length(job.group)} characters; at most {LABEL_LIMIT} are allowed" if excess > 0 else "is malformed"
    yield Finding(
        "InvalidGroupName",
        "error",
        f"group name {job.group!r} {why}",
        hint=f"use at most {LABEL_LIMIT} characters: {DNS_1035_FORM}",
        path=(*job.path, "groupName"),
    )


def _job_and_pod(jobset: JobSet, job: ReplicatedJob) -> Iterator[Finding]:
    name = job_name(jobset, job)
    if not is_dns1035_label(name.value):
        yield Finding(
            "InvalidJobName",
            "error",
            f"the Job would be called {name.value!r}, which is not a valid name for a Job of a JobSet",
            hint=f"for the names of the JobSet and of {job.name!r}, use {DNS_1035_FORM}",
            path=name.path,
        )
    # One name is to be shortened, so one finding: about the pods where those have indexes, as they are longer.
    longest = pod_name(jobset, job) or name
    if longest.spare < 0:
        place = name_to_shorten(jobset, longest)
        hint = shortening_hint(jobset)
        yield Finding("JobNameTooLong", "error", str(longest), hint=hint, path=longest.path, source_path=place)


def shortening_hint(jobset: JobSet) -> str:
    """Return the hint for a derived name that is too long."""
    longest = longest_name(jobset)
    if longest < 1:
        return "shorten the names of the replicated jobs, claims or volumes: shortening the name of the JobSet is not enough"
    return f"shorten the name of the job to at most {longest} characters; it has {length(jobset.name)}"


def name_to_shorten(jobset: JobSet, name: DerivedName) -> Path:
    """Return the field to shorten if a derived name is too long: the JobSet's name, unless no name is short enough."""
    return ("metadata", "name") if name.repeats and longest_name(jobset) > 0 else name.path


# Refused on creation: volume claim templates that clash, that nothing mounts, or whose claims are misnamed (J17).
#
# JobSet also compares each template with an existing claim in the cluster, which is unknown offline. The CRD's schema
# ensures that a template has no namespace.
# Source: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go, validateVolumeClaimPolicies.


def check_volume_claims(jobset: JobSet) -> Iterator[Finding]:
    """Yield the webhook's errors for `volumeClaimPolicies` (JobSet 0.11 and later)."""
    taken: set[str] = set()
    for path, template in claim_templates(jobset):
        name = text(mapping(template.get("metadata")).get("name"))
        name_path = (*path, "metadata", "name")
        if name in taken:
            message = f"another claim template is called {name!r}"
            yield Finding(
                "DuplicateVolumeClaim", "error", message, hint="give each template a different name", path=name_path
            )
        taken.add(name)
        if not is_dns1123_subdomain(name) or length(name) > SUBDOMAIN_LIMIT:
            message = f"{name!r} is not a valid name for a claim template"
            yield Finding("InvalidVolumeClaimName", "error", message, hint=f"use {DNS_1123_FORM}", path=name_path)
        if (claim := claim_name(jobset, path, template)).spare < 0:
            place = name_to_shorten(jobset, claim)
            yield Finding(
                "VolumeClaimNameTooLong",
                "error",
                str(claim),
                hint=shortening_hint(jobset),
                path=name_path,
                source_path=place,
            )
        yield from _mounts(jobset, name, name_path)


def _mounts(jobset: JobSet, name: str, path: Path) -> Iterator[Finding]:
    for job in jobset.jobs:
        for i, volume in enumerate(items(job.pod_spec.get("volumes"))):
            if mapping(volume).get("name") == name:
                yield Finding(
                    "VolumeClaimShadowsVolume",
                    "error",
                    f"the pods of {job.name!r} already have a volume {name!r}, the name of the volume that JobSet adds for the claim",
                    hint="remove the volume, or rename it together with its mounts",
                    path=(*job.pod_path, "volumes", i, "name"),
                )
    if not any(_is_mounted(job, name) for job in jobset.jobs):
        message = f"no container mounts the volume {name!r}, so the claim would not be used"
        yield Finding(
            "VolumeClaimNotMounted",
            "error",
            message,
            hint=f"add to a container: volumeMounts: [{{name: {name}, mountPath: /data}}]",
            path=path,
        )


def _is_mounted(job: ReplicatedJob, name: str) -> bool:
    return any(mapping(m).get("name") == name for _, c in containers(job) for m in items(c.get("volumeMounts")))


# Refused on creation: a coordinator pod that does not exist, or whose address is not a valid label value (J15, J16).
#
# Source: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go, validateCoordinator and validateCoordinatorLabelValue.


_PATH = ("spec", "coordinator")


def check_coordinator(jobset: JobSet, version: JobSetVersion) -> Iterator[Finding]:
    """Yield errors for the coordinator, if there is one."""
    if isinstance(jobset.spec.get("coordinator"), dict):
        yield from _place(jobset)
        if version.checks_coordinator_label:
            yield from coordinator_label_problem(jobset, "error")


def _place(jobset: JobSet) -> Iterator[Finding]:
    coordinator = jobset.spec["coordinator"]
    name = text(coordinator.get("replicatedJob"))
    job = next((job for job in jobset.jobs if job.name == name), None)
    if job is None:
        hint = choose(name, jobset.job_names, "use one of the replicated jobs:")
        message = f"the coordinator is in {name!r}, which is not a replicated job"
        yield Finding("UnknownTargetJob", "error", message, hint=hint, path=(*_PATH, "replicatedJob"))
        return
    replica, pod = number(coordinator.get("jobIndex"), 0), number(coordinator.get("podIndex"), 0)
    if not 0 <= replica < job.replicas:
        yield _index("jobIndex", replica, f"{name!r} has {job.replicas} replicas")
    if not job.indexed or job.completions is None:
        message = f"the coordinator's job {name!r} must be Indexed and set completions"
        hint = "set completionMode: Indexed and completions in its template"
        yield Finding("CoordinatorNotIndexed", "error", message, hint=hint, path=(*_PATH, "replicatedJob"))
    elif not 0 <= pod < job.completions:
        yield _index("podIndex", pod, f"a Job of {name!r} has {job.completions} completions")


def _index(field: str, value: int, have: str) -> Finding:
    message = f"{field} {value} is out of range: {have}, and indexes start at 0"
    hint = Hint(f"set {field} to 0", Fix("set", "0", field))
    return Finding("InvalidCoordinatorIndex", "error", message, hint, (*_PATH, field))


def coordinator_label_problem(jobset: JobSet, severity: Severity) -> Iterator[Finding]:
    """Yield a finding if the coordinator's address is too long for its label. Before JobSet 0.11 nothing refuses it."""
    label = coordinator_label(jobset)
    # Only the length can be wrong: the address consists of names that are checked separately.
    if label is not None and label.spare < 0:
        place = name_to_shorten(jobset, label)
        yield Finding(
            "InvalidCoordinatorLabel",
            severity,
            str(label),
            hint=shortening_hint(jobset),
            path=label.path,
            source_path=place,
        )
