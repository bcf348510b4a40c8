"""The passes of Volcano: a PodGroup for the Volcano scheduler, and its annotation on pods.

Source: kubeflow/trainer pkg/runtime/framework/plugins/volcano. The fields minMember, queue and priorityClassName of the
policy are in no Trainer release; they have the meaning of those fields in Volcano's PodGroup.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.findings import Finding, Severity
from trainc.ir import info as gang
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.kube.documents import Json, Manifest
from trainc.plugins.plugin import Passes
from trainc.plugins.volcano import GROUP_ANNOTATION, SCHEDULER

QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"
_POLICY = ("spec", "podGroupPolicy", "volcano")


def validate(job: TrainJob, policy: Json, info: Info) -> Iterator[Finding]:
    """Yield errors for several gang schedulers, or an empty queue name. Whether a PriorityClass exists is unknown offline."""
    hint = "write the name of the Volcano queue, or remove it to use the default queue"
    if policy.get("queue") == "":
        yield Finding("EmptyQueueName", "error", "the name of the queue is empty", hint, (*_POLICY, "queue"), "runtime")
    elif "queue" not in policy and info.annotations.get(QUEUE_ANNOTATION) == "":
        message = f"annotation {QUEUE_ANNOTATION} is empty"
        yield Finding("EmptyQueueName", "error", message, hint, ("spec", "annotations", QUEUE_ANNOTATION))
    if info.gang("coscheduling") is not None:
        message = "coscheduling and volcano cannot be used together: each would wait for pods that the other holds back"
        hint = "keep the one whose scheduler runs in the cluster"
        severity: Severity = "error" if info.gitops else "warning"
        yield Finding("MutuallyExclusivePolicies", severity, message, hint, _POLICY, "runtime")


def enforce_pod_group_policy(job: TrainJob, policy: Json, info: Info) -> Info:
    """Annotate the gang's pods with their PodGroup; under `gitops`, set schedulerName to Volcano if it is not set."""
    for pod_set in gang.members(info):
        annotated = pod_set.with_pod_annotations({GROUP_ANNOTATION: job.name})
        if info.gitops and not info.pod_spec(pod_set.name).get("schedulerName"):
            annotated = annotated.with_pod_fields(schedulerName=SCHEDULER)
        info = info.with_pod_set(annotated)
    return info


def build(job: TrainJob, policy: Json, info: Info) -> Iterator[Manifest]:
    """Yield the PodGroup."""
    spec: dict[str, Any] = {
        "minMember": policy.get("minMember", gang.min_member(info)),
        "minResources": gang.min_resources(info, policy.get("minMember")),
    }
    queue = policy.get("queue", info.annotations.get(QUEUE_ANNOTATION))
    if queue is not None:
        spec["queue"] = queue
    # If several replicated jobs have a priority class, the last one wins.
    classes = (info.pod_spec(pod_set.name).get("priorityClassName") for pod_set in reversed(info.pod_sets))
    priority = policy.get("priorityClassName", next((name for name in classes if name is not None), None))
    if priority is not None:
        spec["priorityClassName"] = priority
    if "networkTopology" in policy:
        spec["networkTopology"] = policy["networkTopology"]
    yield {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": job.metadata, "spec": spec}


PASSES = Passes(validate=validate, enforce_pod_group_policy=enforce_pod_group_policy, build=build)
