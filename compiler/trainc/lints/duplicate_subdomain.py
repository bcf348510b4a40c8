"""Two JobSets behind one Service: the second finds the name taken, and the addresses of its pods never resolve."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trainc.api.documents import Json
from trainc.diagnostics import Finding
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.options import Options
from trainc.startup.records import dataclass

# (namespace, name) of a headless Service -> the JobSet that it belongs to.
Services = dict[tuple[str, str], str]


@dataclass(frozen=True, slots=True)
class Claim:
    """The headless Service that a JobSet, named by its label, takes for its own; `needed` is whether pods ask it."""

    jobset: str
    namespace: str
    service: str
    needed: bool


def claims_of(manifests: Iterable[Json]) -> Iterator[Claim]:
    """The Service of each JobSet: called as the subdomain, else as the JobSet.

    One that exists is taken as well (kubernetes-sigs/jobset pkg/controllers/jobset_controller.go,
    createHeadlessSvcIfNecessary).
    """
    for jobset in (manifest for manifest in manifests if manifest["kind"] == "JobSet"):
        metadata = jobset["metadata"]
        network = jobset["spec"].get("network") or {}
        namespace = metadata.get("namespace", "")
        label = "JobSet " + "/".join(part for part in (namespace, metadata["name"]) if part)
        service = network.get("subdomain") or metadata["name"]
        yield Claim(label, namespace, service, network.get("enableDNSHostnames", True))


def duplicate_subdomain(claims: Iterable[Claim], services: Services) -> Iterator[tuple[str, Finding]]:
    """A warning for each JobSet whose Service an earlier one has; `services` remembers those of the whole input."""
    for claim in claims:
        first = services.setdefault((claim.namespace, claim.service), claim.jobset)
        if first != claim.jobset and claim.needed:
            yield claim.jobset, _taken(claim.service, first)


def subdomain_of_every_run(job: TrainJob, info: Info, options: Options) -> Iterator[Finding]:
    """A warning where a job's name changes with its content and its Service's does not: its runs meet there."""
    subdomain = (info.template.get("network") or {}).get("subdomain")
    if subdomain and job.name_hash:
        yield Finding(
            "DuplicateSubdomain",
            "warning",
            f"every run of the job has the Service {subdomain!r}, and a new one begins before the old one is removed",
            "drop the subdomain from the runtime; the Service is then called as the job, hash included",
            ("spec", "template", "spec", "network", "subdomain"),
            about="runtime",
        )


def _taken(service: str, first: str) -> Finding:
    return Finding(
        "DuplicateSubdomain",
        "warning",
        f"its Service {service!r} is that of {first} too; while both exist, pods of the later one find nobody",
        "give each job a subdomain of its own, or none: then the Service is called as the job",
        ("spec", "network", "subdomain"),
    )
