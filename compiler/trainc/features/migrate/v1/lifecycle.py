"""The life of a job: restarts, retries, success, deadlines and clean-up, as Jobs and JobSets have them.

Source: kubeflow/training-operator pkg/controller.v1/common and the controllers' status (release-1.9); JobSet v0.10.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.features.migrate.v1.job import Job, Role
from trainc.features.migrate.v1.layout import Group, Layout
from trainc.findings import Finding, Path
from trainc.kube import names

# v1 retries indefinitely by default, while a Job stops after 6 failures. This is the largest limit that a Job accepts.
_FOR_EVER = 2_147_483_647
_RETRYABLE_FROM = 128
_POLICY: Path = ("spec", "runPolicy")
_RESTARTS = {"Always": "OnFailure", "ExitCode": "Never"}


def restart_policy(role: Role) -> str:
    """The restart policy of a role's pods; a Job allows only Never and OnFailure."""
    return _RESTARTS.get(role.restart, role.restart)


def job_fields(layout: Layout, group: Group, main: str) -> dict[str, Any]:
    """What a Job of a group says of failures and success; `main` is the name of its main container."""
    fields: dict[str, Any] = {}
    limit = _backoff_limit(layout.job, group.role)
    if limit is not None:
        fields["backoffLimit"] = limit
    if group.role.restart == "ExitCode":
        codes = list(range(1, _RETRYABLE_FROM))
        rule = {"action": "FailJob", "onExitCodes": {"containerName": main, "operator": "In", "values": codes}}
        fields["podFailurePolicy"] = {"rules": [rule]}
    if _first_decides(layout, group):
        fields["successPolicy"] = {"rules": [{"succeededIndexes": "0"}]}
    return fields


def _backoff_limit(job: Job, role: Role) -> int | None:
    given = job.policy.get("backoffLimit")
    if job.kind.is_mpi and role.name == "Launcher":
        # The launcher is a Job in v1 too, with a Job's defaults.
        return None if given is None else int(given)
    if role.restart == "Never":
        return 0
    return _FOR_EVER if given is None or job.kind.is_mpi else int(given)


def _first_decides(layout: Layout, group: Group) -> bool:
    """Whether the job has ended when the first pod of a group has, among several."""
    if len(group.pods) == 1:
        return False
    if group.pods[0][0] == "master":
        return layout.job.kind.name != "PaddleJob"
    return _worker_decides(layout.job) and group.role.name == "Worker"


def _worker_decides(job: Job) -> bool:
    """Whether a TFJob ends with its first worker."""
    has_chief = any(role.name in ("Chief", "Master") for role in job.roles)
    return job.kind.name == "TFJob" and not has_chief and job.spec.get("successPolicy") != "AllWorkers"


def success_policy(layout: Layout) -> dict[str, Any] | None:
    """The JobSet's policy of success: which replicated jobs decide. None where all do."""
    decisive = [group.name for group in layout.groups if _decides(layout, group)]
    if not decisive or len(decisive) == len(layout.groups):
        return None
    return {"operator": "All", "targetReplicatedJobs": decisive}


def _decides(layout: Layout, group: Group) -> bool:
    masters = {"Master", "Launcher", "Chief"} & {role.name for role in layout.job.roles if role.replicas}
    if masters:
        return group.role.name in masters
    return group.is_trainer if layout.job.kind.name == "TFJob" else True


def differences(layout: Layout) -> Iterator[Finding]:
    """How a JobSet differs from v1 in failures, timing and termination."""
    job = layout.job
    for role in layout.roles:
        yield from _restarts(role)
    yield from _retries(layout)
    yield from _pod_cleanup(job)
    yield from _remaining_pods(layout)


def _restarts(role: Role) -> Iterator[Finding]:
    path = (*role.path, "restartPolicy")
    if role.restart == "Always":
        message = "restartPolicy Always also restarted containers that had succeeded; it becomes OnFailure"
        yield warning(path, message, "no action needed unless the program relies on being restarted")
    elif role.restart == "ExitCode":
        message = "restartPolicy ExitCode becomes Never with a pod failure policy: exit codes 1 to 127 fail the job"
        yield info(path, message, "no action needed: other exit codes and evictions are retried, as before")


def _retries(layout: Layout) -> Iterator[Finding]:
    job, path = layout.job, (*_POLICY, "backoffLimit")
    limit = job.policy.get("backoffLimit")
    if limit is None or job.kind.is_mpi:
        return
    restarted = [group for group in layout.groups if group.role.restart != "Never"]
    if not restarted:
        yield info(
            path,
            f"backoffLimit {limit} had no effect in v1 with restartPolicy Never; it is removed",
            "no action needed",
        )
    elif layout.job.size > 1:
        message = f"v1 counted container restarts of all pods together; now each Job has its own limit of {limit}"
        yield info(path, message, "lower backoffLimit in the runtime if there must not be more retries in total")


def _pod_cleanup(job: Job) -> Iterator[Finding]:
    policy = job.policy.get("cleanPodPolicy")
    path = (*_POLICY, "cleanPodPolicy")
    if policy == "All":
        message = "cleanPodPolicy All has no counterpart: finished pods stay until the JobSet is deleted"
        yield info(path, message, "set ttlSecondsAfterFinished in the runtime to delete the JobSet with its pods")
    elif policy == "Running":
        yield info(
            path,
            "cleanPodPolicy Running is what a JobSet does: it deletes the pods that are still running",
            "no action needed",
        )


def _remaining_pods(layout: Layout) -> Iterator[Finding]:
    """Pods that v1 left running after the job ended. Workers of an MPIJob only wait for the launcher by then."""
    job = layout.job
    deciding = [group for group in layout.groups if _first_decides(layout, group)]
    ends_early = bool(deciding) or success_policy(layout) is not None
    if job.kind.is_mpi or not ends_early or job.policy.get("cleanPodPolicy") in ("All", "Running"):
        return
    message = "pods that are still running when the job ends are stopped; v1 let them finish (cleanPodPolicy None)"
    hint = (
        "if they may still be writing data, remove successPolicy from the runtime: then the job ends with the last pod"
    )
    yield info((*_POLICY, "cleanPodPolicy"), message, hint)


def info(path: Path, message: str, hint: str) -> Finding:
    """An info about something that is expressed differently from v1, or had no effect there."""
    return Finding("MigrationChanges", "info", message, hint, path)


def warning(path: Path, message: str, hint: str) -> Finding:
    """A warning about something that v1 did and a JobSet does not, which requires a decision."""
    return Finding("MigrationDiffers", "warning", message, hint, path)


def trainjob_fields(job: Job) -> dict[str, Any]:
    """The fields of a TrainJob's spec that a run policy becomes."""
    policy = job.policy
    fields: dict[str, Any] = {}
    if policy.get("suspend"):
        fields["suspend"] = True
    if policy.get("managedBy") == names.MULTIKUEUE_MANAGED_BY:
        fields["managedBy"] = names.MULTIKUEUE_MANAGED_BY
    if policy.get("activeDeadlineSeconds") is not None:
        fields["activeDeadlineSeconds"] = policy["activeDeadlineSeconds"]
    return fields


def jobset_fields(layout: Layout) -> dict[str, Any]:
    """The fields of a JobSet's spec that a run policy becomes."""
    fields: dict[str, Any] = {}
    success, seconds = success_policy(layout), layout.job.policy.get("ttlSecondsAfterFinished")
    if seconds is not None:
        fields["ttlSecondsAfterFinished"] = seconds
    if success is not None:
        fields["successPolicy"] = success
    return fields
