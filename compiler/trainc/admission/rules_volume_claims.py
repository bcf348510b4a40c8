"""Refused on creation: volume claim templates that clash, that nothing mounts, or whose claims are misnamed (J17).

JobSet also compares each template with a claim that already exists in the cluster, which cannot be known offline. That
a template names no namespace is in the CRD's schema.
Source: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go, validateVolumeClaimPolicies.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.admission.jobset import JobSet, ReplicatedJob, containers, items, mapping, text
from trainc.admission.name_budget import claim_name, claim_templates
from trainc.admission.rules_names import shorter_name, to_shorten
from trainc.api.name_forms import DNS_1123_FORM, SUBDOMAIN_LIMIT, is_dns1123_subdomain, length
from trainc.diagnostics import Finding, Path


def check_volume_claims(jobset: JobSet) -> Iterator[Finding]:
    """What is wrong with `volumeClaimPolicies`, as the webhook sees it (JobSet 0.11 and later)."""
    taken: set[str] = set()
    for path, template in claim_templates(jobset):
        name = text(mapping(template.get("metadata")).get("name"))
        name_path = (*path, "metadata", "name")
        if name in taken:
            message = f"another claim template is called {name!r}"
            yield Finding("DuplicateVolumeClaim", "error", message, "give every template a name of its own", name_path)
        taken.add(name)
        if not is_dns1123_subdomain(name) or length(name) > SUBDOMAIN_LIMIT:
            message = f"no claim template can be called {name!r}"
            yield Finding("InvalidVolumeClaimName", "error", message, f"use {DNS_1123_FORM}", name_path)
        if (claim := claim_name(jobset, path, template)).spare < 0:
            place = to_shorten(jobset, claim)
            yield Finding(
                "VolumeClaimNameTooLong", "error", str(claim), shorter_name(jobset), name_path, source_path=place
            )
        yield from _mounts(jobset, name, name_path)


def _mounts(jobset: JobSet, name: str, path: Path) -> Iterator[Finding]:
    for job in jobset.jobs:
        for i, volume in enumerate(items(job.pod_spec.get("volumes"))):
            if mapping(volume).get("name") == name:
                yield Finding(
                    "VolumeClaimShadowsVolume",
                    "error",
                    f"the pods of {job.name!r} already have a volume {name!r}, which JobSet would add for the claim",
                    "drop the volume, or rename it with its mounts",
                    (*job.pod_path, "volumes", i, "name"),
                )
    if not any(_mounted(job, name) for job in jobset.jobs):
        message = f"no container mounts a volume {name!r}, so the claim would be made for nobody"
        yield Finding("VolumeClaimNotMounted", "error", message, f"add a volumeMount called {name!r}", path)


def _mounted(job: ReplicatedJob, name: str) -> bool:
    return any(mapping(m).get("name") == name for _, c in containers(job) for m in items(c.get("volumeMounts")))
