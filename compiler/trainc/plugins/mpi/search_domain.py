"""The DNS search domain with which pods find each other by bare hostname, as Intel MPI and MPICH want to."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.diagnostics import Finding
from trainc.ir.env import subdomain
from trainc.ir.info import Info
from trainc.ir.podset import PodSet
from trainc.ir.trainjob import TrainJob


def missing_namespace(job: TrainJob, name: str) -> Iterator[Finding]:
    """An error where the search domain cannot be known: a namespace is part of it."""
    if not job.namespace:
        yield Finding(
            "NamespaceMissing",
            "error",
            f"{name} needs the namespace of the job for the pods' DNS search domain, and the TrainJob has none",
            "set metadata.namespace, or compile with --namespace",
            ("metadata", "namespace"),
        )


def with_search_domain(pod_set: PodSet, job: TrainJob, info: Info) -> PodSet:
    """The pods with the job's domain searched after those that the template asks for."""
    config = info.pod_spec(pod_set.name).get("dnsConfig") or {}
    domain = f"{subdomain(job, info)}.{job.namespace}.svc.{info.cluster_domain}"
    searches = [*config.get("searches", ()), domain]
    return pod_set.with_pod_fields(dnsConfig={**config, "searches": list(dict.fromkeys(searches))})
