"""JobSet: the object that runs the job, and the DNS names of its pods.

Source: kubeflow/trainer pkg/runtime/framework/plugins/jobset.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from trainc.ir import names
from trainc.ir.info import Info
from trainc.ir.podset import PodSet
from trainc.ir.rendezvous import subdomain
from trainc.ir.trainjob import TrainJob
from trainc.plugins.jobset.replicated_job import replicated_job
from trainc.plugins.jobset.validation import validate
from trainc.plugins.plugin import Manifest, Plugin


def pre_build_sync(job: TrainJob, info: Info) -> Info:
    """Every pod's DNS name, in the order of the runtime's jobs."""
    domain = subdomain(job, info)
    return info.map_pod_sets(lambda pod_set: _with_endpoints(pod_set, job, info, domain))


def _with_endpoints(pod_set: PodSet, job: TrainJob, info: Info, domain: str) -> PodSet:
    replicas = pod_set.replicas if info.release.hostfile_counts_replicas or info.gitops else 1
    hosts = (
        names.pod_host(job.name, pod_set.name, replica, index)
        for replica in range(replicas)
        for index in range(pod_set.count)
    )
    return replace(pod_set, endpoints=tuple(f"{host}.{domain}" for host in hosts))


def build(job: TrainJob, info: Info) -> Iterator[Manifest]:
    """The JobSet, named as the TrainJob. It has no owner reference: the TrainJob's UID is a cluster's to give."""
    metadata: dict[str, Any] = dict(job.metadata)
    if info.labels:
        metadata["labels"] = dict(info.labels)
    if info.annotations:
        metadata["annotations"] = dict(info.annotations)
    jobs = zip(info.template.get("replicatedJobs", ()), info.pod_sets, strict=True)
    spec = {
        **info.template,
        "replicatedJobs": [replicated_job(template, pod_set, job, info) for template, pod_set in jobs],
        "suspend": bool(job.suspend),
    }
    yield {"apiVersion": names.JOBSET_API, "kind": "JobSet", "metadata": metadata, "spec": spec}


PLUGIN = Plugin(name="JobSet", validate=validate, pre_build_sync=pre_build_sync, build=build)
