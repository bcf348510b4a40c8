"""Lints for what runs again: jobs that a GitOps tool recreates, claims in the way of the next run, and restarts."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding, Path, remove
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.kube.documents import JOBS
from trainc.kube.quantity import whole_number
from trainc.lints.manifests import DEFAULT_BACKOFF_LIMIT
from trainc.lints.training import Training
from trainc.options import Options

_TTL = "ttlSecondsAfterFinished"
_HOOK = "argocd.argoproj.io/hook"
_SPEC: Path = ("spec", "template", "spec")


def ttl_rerun(job: TrainJob, info: Info, options: Options) -> Iterator[Finding]:
    """Yield a warning for a JobSet or a Job that deletes itself and is then created, and run, again.

    A GitOps tool creates the JobSet again; Argo CD does not keep hooks in sync. JobSet creates missing Jobs until it has
    finished, which a single Job ends (kubernetes-sigs/jobset pkg/controllers/jobset_controller.go, shouldCreateJob,
    v0.8.2 and v0.12.0).
    """
    several = sum(pod_set.replicas for pod_set in info.pod_sets) > 1
    for index, replicated in enumerate(info.template["replicatedJobs"] if several else ()):
        seconds = replicated["template"].get("spec", {}).get(_TTL)
        if seconds is not None:
            message = (
                f"the Job of {replicated['name']!r} is deleted {seconds} s after it finishes; while other Jobs of the "
                "JobSet still run, JobSet creates it again"
            )
            hint = remove(f"remove {_TTL} from the job: its Jobs are deleted with the JobSet")
            yield Finding("TTLRerun", "warning", message, hint, (*JOBS, index, "template", "spec", _TTL), "runtime")
    seconds = info.template.get(_TTL)
    if seconds is not None and options.delivery != "kubectl" and _HOOK not in {**info.annotations, **job.annotations}:
        message = f"the JobSet is deleted {seconds} s after it finishes; the GitOps tool then creates it again, and the job runs again"
        hint = remove(f"remove {_TTL} from the runtime, and remove finished jobs from git instead")
        yield Finding("TTLRerun", "warning", message, hint, (*_SPEC, _TTL), "runtime")


def retained_claims(job: TrainJob, info: Info, options: Options) -> Iterator[Finding]:
    """Yield a finding for each policy that retains claims; a warning if the delivery mode recreates the job.

    With a name hash, each version has its own claims.
    """
    for index, policy in enumerate(() if options.name_hash else info.template.get("volumeClaimPolicies") or ()):
        if (policy.get("retentionPolicy") or {}).get("whenDeleted") == "Retain":
            names = ", ".join(str((t.get("metadata") or {}).get("name")) for t in policy.get("templates") or ())
            yield Finding(
                "RetainedClaim",
                "warning" if options.recreates else "info",
                f"claims of {names or 'this policy'} stay when the JobSet is deleted, and JobSet refuses to create a job "
                "of this name again while they are there",
                "compile with --name-hash, which gives each version of the job claims of its own, or mount a "
                "PersistentVolumeClaim that does not belong to the job",
                (*_SPEC, "volumeClaimPolicies", index, "retentionPolicy"),
                "runtime",
            )


def restarts(training: Training) -> Iterator[Finding]:
    """Yield an info about how often a crash that repeats is tried again, if the launcher's restarts are set."""
    for _, launch in training.launches:
        option = launch.find_option(frozenset(("max-restarts",)))
        of_workers = whole_number(training.value(option.value or "", launch)) if option is not None else None
        if option is None or not of_workers:
            continue
        spec = training.replicated_job["template"].get("spec") or {}
        policy = training.info.template.get("failurePolicy")
        of_pods, of_job = _number(spec.get("backoffLimit")), _number((policy or {}).get("maxRestarts", 0))
        if not of_pods and not of_job:
            continue
        several = [f"{of_pods + 1} pods" if of_pods else "", f"{of_job + 1} times by the JobSet" if of_job else ""]
        runs = (of_workers + 1) * (of_pods + 1) * (of_job + 1)
        message = (
            f"{option.spelling} {of_workers} multiplies with the restarts of the pods: a crash that repeats is run up to {runs} times "
            f"({of_workers + 1} by the launcher, in {' and '.join(filter(None, several))})"
        )
        others = ["backoffLimit: 0 in the job template"] * bool(of_pods) + ["failurePolicy.maxRestarts: 0"] * bool(
            of_job
        )
        hint = f"set {' and '.join(others)} in the runtime to keep only the launcher's restarts"
        yield training.finding("RestartsMultiply", "info", message, hint, option.index)


def _number(value: object) -> int:
    return value if isinstance(value, int) else DEFAULT_BACKOFF_LIMIT
