"""Lints for JobSets that share a headless Service or a place on a claim.

If a Service's name is already taken, the addresses of the second JobSet's pods never resolve.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trainc.findings import Finding
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.kube.documents import Json
from trainc.options import Options
from trainc.startup.records import dataclass, replace

# (namespace, name) of a headless Service -> the JobSet to which it belongs.
Services = dict[tuple[str, str], str]


@dataclass(frozen=True, slots=True)
class Claim:
    """A headless Service that a JobSet uses; `needed` is true if its pods resolve names through it.

    With `written`, the name is that of a place on a claim to which the JobSet writes, `claim:path`, instead.
    """

    jobset: str
    namespace: str
    service: str
    needed: bool
    written: bool = False


def claims_of(manifests: Iterable[Json], name: str) -> Iterator[Claim]:
    """Yield the Service of a job's JobSet, which has the name of its subdomain or else of the JobSet, and its write paths.

    `name` is that of the TrainJob.

    JobSet uses an existing Service with that name (kubernetes-sigs/jobset pkg/controllers/jobset_controller.go,
    createHeadlessSvcIfNecessary).
    """
    for jobset in (manifest for manifest in manifests if manifest["kind"] == "JobSet"):
        metadata = jobset["metadata"]
        network = jobset["spec"].get("network") or {}
        namespace = metadata.get("namespace", "")
        label = "JobSet " + "/".join(part for part in (namespace, name) if part)
        service = network.get("subdomain") or metadata["name"]
        yield Claim(label, namespace, service, network.get("enableDNSHostnames", True))
        for place in sorted(_places(jobset)):
            yield Claim(label, namespace, place, needed=True, written=True)


def _places(jobset: Json) -> set[str]:
    """Return the places on claims, `claim:path`, to which the containers of a JobSet write."""
    specs = [spec for job in jobset["spec"].get("replicatedJobs", ()) if (spec := _pod_spec(job)).get("volumes")]
    if not any("persistentVolumeClaim" in volume for spec in specs for volume in spec["volumes"]):
        return set()
    from trainc.lints.outputs import claimed_paths

    return {f"{claim}:{path}" for spec in specs for claim, path in claimed_paths(spec)}


def _pod_spec(job: Json) -> Json:
    spec: Json = ((job["template"].get("spec") or {}).get("template") or {}).get("spec") or {}
    return spec


def duplicate_subdomain(claims: Iterable[Claim], services: Services) -> Iterator[Finding]:
    """Yield a warning for each JobSet whose Service an earlier one uses. `services` collects those of all jobs."""
    for claim in claims:
        first = services.setdefault((claim.namespace, claim.service), claim.jobset)
        if first != claim.jobset and claim.needed:
            found = _overwritten(claim.service, first) if claim.written else _taken(claim.service, first)
            yield replace(found, about=claim.jobset)


def _overwritten(place: str, first: str) -> Finding:
    claim, _, path = place.partition(":")
    return Finding(
        "SharedOutput",
        "warning",
        f"this job and {first} both write to {path or '/'} on claim {claim!r}: one overwrites the checkpoints of the other",
        hint="use a different folder for each job",
        path=("metadata", "name"),
    )


def subdomain_of_every_run(job: TrainJob, info: Info, options: Options) -> Iterator[Finding]:
    """Yield a warning if the job's name has a content hash but its Service's has none, so that runs share the Service."""
    subdomain = (info.template.get("network") or {}).get("subdomain")
    if subdomain and job.name_hash:
        yield Finding(
            "DuplicateSubdomain",
            "warning",
            f"every run of the job uses the Service {subdomain!r}, and a new run starts before the old one is removed",
            hint="remove the subdomain from the runtime: the Service then has the name of the job, including the hash",
            path=("spec", "template", "spec", "network", "subdomain"),
            about="runtime",
        )


def _taken(service: str, first: str) -> Finding:
    return Finding(
        "DuplicateSubdomain",
        "warning",
        f"its Service {service!r} is also the Service of {first}; while both exist, the pods of the later job cannot find each other",
        hint="give each job its own subdomain, or remove it: the Service then has the name of the job",
        path=("spec", "network", "subdomain"),
    )
