"""The passes of JobSet: builds the object that runs the job.

Source: kubeflow/trainer pkg/runtime/framework/plugins/jobset.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.api import names
from trainc.api.documents import Json, Manifest
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.plugins.jobset.replicated_job import replicated_job
from trainc.plugins.jobset.validation import validate
from trainc.plugins.plugin import Passes


def build(job: TrainJob, policy: Json, info: Info) -> Iterator[Manifest]:
    """Yield the JobSet, which has the TrainJob's name.

    It has no owner reference, because only a cluster assigns the UID of a TrainJob.
    """
    metadata: dict[str, Any] = dict(job.metadata)
    if info.labels:
        metadata["labels"] = dict(info.labels)
    if info.annotations:
        metadata["annotations"] = dict(info.annotations)
    templates = info.template.get("replicatedJobs", ())
    jobs = [replicated_job(t, pod_set, job, info) for t, pod_set in zip(templates, info.pod_sets, strict=True)]
    spec = {**info.template, "replicatedJobs": jobs, "suspend": bool(job.suspend)}
    if not jobs:
        del spec["replicatedJobs"]
    yield {"apiVersion": names.JOBSET_API, "kind": "JobSet", "metadata": metadata, "spec": spec}


PASSES = Passes(validate=validate, build=build)
