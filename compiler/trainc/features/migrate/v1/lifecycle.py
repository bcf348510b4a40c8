"""The life of a job: its gang, restarts, retries, success, deadlines and clean-up, as Jobs and JobSets have them.

Source: kubeflow/training-operator pkg/controller.v1/common and the controllers' status (release-1.9); JobSet v0.10.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.api.findings import Finding, Path
from trainc.api.kube import Json, names
from trainc.features.migrate.v1.job import Job, Role, changes, differs
from trainc.features.migrate.v1.layout import Group, Layout

# v1 retries indefinitely by default, while a Job stops after 6 failures. This is the largest limit that a Job accepts.
_FOR_EVER = 2_147_483_647
_RETRYABLE_FROM = 128
_POLICY: Path = ("spec", "runPolicy")
_RESTARTS = {"Always": "OnFailure", "ExitCode": "Never"}


def restart_policy(role: Role) -> str:
    """The restart policy of a role's pods; a Job allows only Never and OnFailure."""
    return _RESTARTS.get(role.restart, role.restart)


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
    decisive, seconds = _decisive(layout), layout.job.policy.get("ttlSecondsAfterFinished")
    fields: dict[str, Any] = {} if seconds is None else {"ttlSecondsAfterFinished": seconds}
    if decisive:
        fields["successPolicy"] = {"operator": "All", "targetReplicatedJobs": decisive}
    return fields


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
    success = _success_rule(layout, group)
    if success is not None:
        fields["successPolicy"] = {"rules": [success]}
    return fields


def _backoff_limit(job: Job, role: Role) -> int | None:
    given = job.policy.get("backoffLimit")
    if job.kind.is_mpi and role.name == "Launcher":
        # The launcher is a Job in v1 too, with a Job's defaults.
        return None if given is None else int(given)
    if role.restart == "Never":
        return 0
    return _FOR_EVER if given is None or job.kind.is_mpi else int(given)


def _success_rule(layout: Layout, group: Group) -> dict[str, Any] | None:
    """Which pods of a group end the job, if not all: the first one, or, of elastic workers, any."""
    job = layout.job
    if len(group.pods) == 1:
        return None
    roles = {role.name for role in job.roles}
    if job.kind.name == "PyTorchJob" and job.spec.get("elasticPolicy") is not None and "Master" not in roles:
        return {"succeededCount": 1}
    first_is_master = group.pods[0][0] == "master" and job.kind.name != "PaddleJob"
    workers_decide = (
        job.kind.name == "TFJob" and not roles & {"Chief", "Master"} and job.spec.get("successPolicy") != "AllWorkers"
    )
    if first_is_master or (workers_decide and group.role.name == "Worker"):
        return {"succeededIndexes": "0"}
    return None


def _decisive(layout: Layout) -> list[str]:
    """The replicated jobs whose end is that of the JobSet; empty if all of them decide."""
    masters = {"Master", "Launcher", "Chief"} & {role.name for role in layout.job.roles if role.replicas}
    if masters:
        decisive = [group.name for group in layout.groups if group.role.name in masters]
    elif layout.job.kind.name == "TFJob":
        decisive = [group.name for group in layout.groups if group.is_trainer]
    else:
        decisive = []
    return decisive if len(decisive) < len(layout.groups) else []


def differences(layout: Layout) -> Iterator[Finding]:
    """How a JobSet differs from v1 in failures, timing, termination and gangs."""
    job = layout.job
    for role in layout.roles:
        path = (*role.path, "restartPolicy")
        if role.restart == "Always":
            message = "restartPolicy Always also restarted containers that had succeeded; it becomes OnFailure"
            yield differs(path, message, "no action needed unless the program relies on being restarted")
        elif role.restart == "ExitCode":
            message = "restartPolicy ExitCode becomes Never with a pod failure policy: exit codes 1 to 127 fail the job"
            yield changes(path, message, "no action needed: other exit codes and evictions are retried, as before")
    limit, path = job.policy.get("backoffLimit"), (*_POLICY, "backoffLimit")
    if limit is not None and not job.kind.is_mpi:
        if all(group.role.restart == "Never" for group in layout.groups):
            message = f"backoffLimit {limit} had no effect in v1 with restartPolicy Never; it is removed"
            yield changes(path, message, "no action needed")
        elif job.size > 1:
            message = f"v1 counted container restarts of all pods together; now each Job has its own limit of {limit}"
            yield changes(path, message, "lower backoffLimit in the runtime if there must not be more retries in total")
    yield from _remaining_pods(layout)
    if job.policy.get("schedulingPolicy"):
        yield from _gang(job)


def _remaining_pods(layout: Layout) -> Iterator[Finding]:
    """Pods that v1 kept, or left running, after the job ended. Workers of an MPIJob only wait for the launcher by then."""
    job, path = layout.job, (*_POLICY, "cleanPodPolicy")
    policy = job.policy.get("cleanPodPolicy")
    if policy == "All":
        message = "cleanPodPolicy All has no counterpart: finished pods stay until the JobSet is deleted"
        yield changes(path, message, "set ttlSecondsAfterFinished in the runtime to delete the JobSet with its pods")
    elif policy == "Running":
        message = "cleanPodPolicy Running is what a JobSet does: it deletes the pods that are still running"
        yield changes(path, message, "no action needed")
    elif not job.kind.is_mpi and (_decisive(layout) or any(_success_rule(layout, group) for group in layout.groups)):
        message = "pods that are still running when the job ends are stopped; v1 let them finish (cleanPodPolicy None)"
        hint = "if they may still be writing data, remove successPolicy from the runtime: then the job ends with the last pod"
        yield changes(path, message, hint)


# Gang scheduling: a v1 job's scheduling policy, which applied if the operator ran with a gang scheduler.


_SCHEDULING: Path = (*_POLICY, "schedulingPolicy")
_QUEUE = "scheduling.volcano.sh/queue-name"
_COSCHEDULING = ("scheduler-plugins", "scheduler-plugins-scheduler")


def _scheduler(job: Job) -> str | None:
    """The gang scheduler that the pods of a job with a scheduling policy name."""
    named = {role.template["spec"].get("schedulerName") for role in job.roles}
    if not job.policy.get("schedulingPolicy"):
        return None
    return "volcano" if "volcano" in named else "coscheduling" if named & set(_COSCHEDULING) else None


def group_policy(job: Job) -> dict[str, Any]:
    """The runtime's pod group policy, if the job has a scheduling policy and names its scheduler."""
    scheduler = _scheduler(job)
    if scheduler is None:
        return {}
    timeout = job.policy["schedulingPolicy"].get("scheduleTimeoutSeconds")
    fields = {"scheduleTimeoutSeconds": timeout} if timeout and scheduler == "coscheduling" else {}
    return {"podGroupPolicy": {scheduler: fields}}


def group_annotations(job: Job) -> dict[str, str]:
    """The annotation that puts the pod group into a queue of Volcano."""
    queue = _scheduler(job) == "volcano" and job.policy["schedulingPolicy"].get("queue")
    return {_QUEUE: queue} if queue else {}


def _gang(job: Job) -> Iterator[Finding]:
    """Parts of the scheduling policy that are lost, or that depend on the operator's flags."""
    policy: Json = job.policy["schedulingPolicy"]
    scheduler, least, queue = _scheduler(job), policy.get("minAvailable"), policy.get("queue")
    if scheduler is None:
        message = "schedulingPolicy was for v1 with a gang scheduler, and the job does not say which one that was"
        hint = "if there was one, add podGroupPolicy: {volcano: {}} or podGroupPolicy: {coscheduling: {}} to the runtime's spec"
        yield differs(_SCHEDULING, message, hint)
        if queue:
            hint = f"with Volcano, add the annotation {_QUEUE}: {queue} to the runtime's template"
            yield differs((*_SCHEDULING, "queue"), f"the queue {queue!r} is not kept", hint)
    if least is not None and least != job.size:
        message = f"v1 started the job once {least} of its {job.size} pods could be scheduled; Trainer's pod group waits for all"
        hint = "reduce replicas to the pods that must run together, or accept the longer wait"
        yield differs((*_SCHEDULING, "minAvailable"), message, hint)
    if policy.get("minResources"):
        hint = "no action needed if it was the sum of their requests"
        yield changes((*_SCHEDULING, "minResources"), "minResources is computed from the pods", hint)
    if policy.get("priorityClass"):
        message = f"the pod group's priority class {policy['priorityClass']!r} has no counterpart"
        hint = "set priorityClassName in the runtime's pod templates (this sets the priority of the pods, too)"
        yield differs((*_SCHEDULING, "priorityClass"), message, hint)
    if policy.get("scheduleTimeoutSeconds") and scheduler == "volcano":
        hint = "no action needed: v1 used it with scheduler-plugins only"
        yield changes((*_SCHEDULING, "scheduleTimeoutSeconds"), "Volcano has no timeout for a pod group", hint)
