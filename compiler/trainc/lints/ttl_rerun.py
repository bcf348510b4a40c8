"""Lints for the TTL trap: a finished object that deletes itself is created, and run, again by a GitOps tool or JobSet."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding, remove
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.options import Options

_FIELD = "ttlSecondsAfterFinished"
_HOOK = "argocd.argoproj.io/hook"


def ttl_rerun(job: TrainJob, info: Info, options: Options) -> Iterator[Finding]:
    """Yield a warning if a GitOps tool watches the JobSet, and for each Job that is deleted before the JobSet finishes.

    Argo CD does not keep hooks in sync, so they are not affected.
    """
    yield from _recreated_jobs(info)
    seconds = info.template.get(_FIELD)
    if seconds is None or options.delivery == "kubectl" or _HOOK in {**info.annotations, **job.annotations}:
        return
    yield Finding(
        "TTLRerun",
        "warning",
        f"the JobSet is deleted {seconds} s after it finishes; the GitOps tool then creates it again, and the job runs again",
        remove(f"remove {_FIELD} from the runtime, and remove finished jobs from git instead"),
        ("spec", "template", "spec", _FIELD),
        about="runtime",
    )


def _recreated_jobs(info: Info) -> Iterator[Finding]:
    """Yield a warning for each Job with a TTL in a JobSet of several, which recreates missing Jobs until it finishes.

    A single Job finishes its JobSet, after which nothing is created.

    Source: kubernetes-sigs/jobset pkg/controllers/jobset_controller.go (shouldCreateJob) v0.8.2 and v0.12.0.
    """
    if sum(pod_set.replicas for pod_set in info.pod_sets) < 2:
        return
    for index, job in enumerate(info.template["replicatedJobs"]):
        seconds = job["template"].get("spec", {}).get(_FIELD)
        if seconds is not None:
            yield Finding(
                "TTLRerun",
                "warning",
                f"the Job of {job['name']!r} is deleted {seconds} s after it finishes; while other Jobs of the JobSet "
                "still run, JobSet creates it again",
                remove(f"remove {_FIELD} from the job: its Jobs are deleted with the JobSet"),
                ("spec", "template", "spec", "replicatedJobs", index, "template", "spec", _FIELD),
                about="runtime",
            )
