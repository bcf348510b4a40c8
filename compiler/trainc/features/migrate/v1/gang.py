"""Gang scheduling: a v1 job's scheduling policy, which applied if the operator ran with a gang scheduler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.features.migrate.v1.job import Job
from trainc.features.migrate.v1.lifecycle import info, warning
from trainc.findings import Finding, Path
from trainc.kube.documents import Json

_PATH: Path = ("spec", "runPolicy", "schedulingPolicy")
_QUEUE = "scheduling.volcano.sh/queue-name"
_VOLCANO = "volcano"
_COSCHEDULING = ("scheduler-plugins", "scheduler-plugins-scheduler")


def _policy(job: Job) -> Json:
    return job.policy.get("schedulingPolicy") or {}


def _scheduler(job: Job) -> str | None:
    """The gang scheduler that the pods themselves name."""
    named = {role.template["spec"].get("schedulerName") for role in job.roles}
    if _VOLCANO in named:
        return _VOLCANO
    return "coscheduling" if named & set(_COSCHEDULING) else None


def group_policy(job: Job) -> dict[str, Any]:
    """The runtime's pod group policy, if the job has a scheduling policy and names its scheduler."""
    scheduler = _scheduler(job)
    if not _policy(job) or scheduler is None:
        return {}
    timeout = _policy(job).get("scheduleTimeoutSeconds")
    fields = {"scheduleTimeoutSeconds": timeout} if timeout and scheduler == "coscheduling" else {}
    return {"podGroupPolicy": {scheduler: fields}}


def group_annotations(job: Job) -> dict[str, str]:
    """The annotation that puts the pod group into a queue of Volcano."""
    queue = _policy(job).get("queue")
    return {_QUEUE: queue} if queue and _scheduler(job) == _VOLCANO else {}


def differences(job: Job) -> Iterator[Finding]:
    """Parts of the scheduling policy that are lost, or that depend on the operator's flags."""
    policy = _policy(job)
    if not policy:
        return
    if _scheduler(job) is None:
        message = (
            "schedulingPolicy has an effect only if v1 ran with a gang scheduler, and the job does not say which one"
        )
        hint = (
            "if it did, add podGroupPolicy: {volcano: {}} or podGroupPolicy: {coscheduling: {}} to the runtime's spec"
        )
        yield warning(_PATH, message, hint)
        if policy.get("queue"):
            hint = f"with Volcano, add the annotation {_QUEUE}: {policy['queue']} to the runtime's template"
            yield warning((*_PATH, "queue"), f"the queue {policy['queue']!r} is not kept", hint)
    least = policy.get("minAvailable")
    if least is not None and least != job.size:
        message = f"v1 started the job once {least} of its {job.size} pods could be scheduled; Trainer's pod group waits for all"
        yield warning(
            (*_PATH, "minAvailable"),
            message,
            "reduce replicas to the pods that must run together, or accept the longer wait",
        )
    if policy.get("minResources"):
        message = "minResources is computed from the pods"
        yield info((*_PATH, "minResources"), message, "no action needed if it was the sum of their requests")
    if policy.get("priorityClass"):
        message = f"the pod group's priority class {policy['priorityClass']!r} has no counterpart"
        hint = "set priorityClassName in the runtime's pod templates (this sets the priority of the pods, too)"
        yield warning((*_PATH, "priorityClass"), message, hint)
    if policy.get("scheduleTimeoutSeconds") and _scheduler(job) == _VOLCANO:
        message = "Volcano has no timeout for a pod group"
        yield info(
            (*_PATH, "scheduleTimeoutSeconds"), message, "no action needed: v1 used it with scheduler-plugins only"
        )
