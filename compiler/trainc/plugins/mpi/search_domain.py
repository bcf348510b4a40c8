"""The DNS search domain that lets pods resolve each other's bare hostnames, as Intel MPI and MPICH require."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.diagnostics import Finding
from trainc.ir.env import subdomain
from trainc.ir.info import Info
from trainc.ir.podset import PodSet
from trainc.ir.trainjob import TrainJob


def missing_namespace(job: TrainJob, name: str) -> Iterator[Finding]:
    """Yield an error if the job has no namespace, which is part of the search domain. `name` is the implementation's."""
    if not job.namespace:
        yield Finding(
            "NamespaceMissing",
            "error",
            f"{name} needs the namespace of the job for the pods' DNS search domain, and the TrainJob has none",
            "set metadata.namespace, or compile with --namespace",
            ("metadata", "namespace"),
        )


def with_search_domain(pod_set: PodSet, job: TrainJob, info: Info) -> PodSet:
    """Return the pod set with the job's domain after the template's own search domains."""
    config = info.pod_spec(pod_set.name).get("dnsConfig") or {}
    domain = f"{subdomain(job, info)}.{job.namespace}.svc.{info.cluster_domain}"
    searches = [*config.get("searches", ()), domain]
    return pod_set.with_pod_fields(dnsConfig={**config, "searches": list(dict.fromkeys(searches))})
