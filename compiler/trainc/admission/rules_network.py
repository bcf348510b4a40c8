"""Refused on creation: a subdomain that no Service can have, and a malformed `managedBy` (J5, J6).

Source: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go, ValidateCreate.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.admission.jobset import JobSet
from trainc.admission.name_budget import service_name
from trainc.api.name_forms import (
    DNS_1035_FORM,
    LABEL_LIMIT,
    is_dns1035_label,
    is_domain_prefixed_path,
    length,
)
from trainc.diagnostics import Finding

MANAGED_BY_LIMIT = 63


def check_network(jobset: JobSet) -> Iterator[Finding]:
    """What is wrong with the subdomain, which becomes the name of the headless Service."""
    if not jobset.subdomain:
        return
    service = service_name(jobset)
    if service.spare >= 0 and is_dns1035_label(jobset.subdomain):
        return
    message = str(service) if service.spare < 0 else f"no Service can be called {jobset.subdomain!r}"
    hint = f"use at most {LABEL_LIMIT} characters: {DNS_1035_FORM}"
    yield Finding("InvalidSubdomain", "error", message, hint, service.path)


def check_managed_by(jobset: JobSet) -> Iterator[Finding]:
    """What is wrong with the name of the controller that is to manage the JobSet."""
    manager = jobset.spec.get("managedBy")
    if not isinstance(manager, str):
        return
    path = ("spec", "managedBy")
    if not is_domain_prefixed_path(manager):
        message = f"managedBy {manager!r} is not a domain, a slash and a path"
        yield Finding("InvalidManagedBy", "error", message, "write it as in kueue.x-k8s.io/multikueue", path)
    if (excess := length(manager) - MANAGED_BY_LIMIT) > 0:
        message = f"managedBy has {length(manager)} of {MANAGED_BY_LIMIT} characters, {excess} too many"
        yield Finding("InvalidManagedBy", "error", message, f"drop at least {excess} characters", path)
