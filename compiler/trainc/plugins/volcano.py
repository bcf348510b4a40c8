"""Volcano: a PodGroup for the Volcano scheduler, and the annotation that puts pods into it.

Source: kubeflow/trainer pkg/runtime/framework/plugins/volcano.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.diagnostics import Finding
from trainc.ir import gang
from trainc.ir.info import Info
from trainc.ir.quantity import format_resources
from trainc.ir.trainjob import TrainJob
from trainc.plugins.plugin import Manifest, Plugin

GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"


def validate(job: TrainJob, info: Info) -> Iterator[Finding]:
    """A queue that is named must have a name. Whether a PriorityClass exists only a cluster knows."""
    if info.gang("volcano") is not None and info.annotations.get(QUEUE_ANNOTATION) == "":
        yield Finding(
            "EmptyQueueName",
            "error",
            f"annotation {QUEUE_ANNOTATION} is empty",
            "name the Volcano queue, or drop the annotation to use the default queue",
            ("spec", "annotations", QUEUE_ANNOTATION),
        )


def enforce_pod_group_policy(job: TrainJob, info: Info) -> Info:
    """Annotates the gang's pods with their group."""
    if info.gang("volcano") is None:
        return info
    for pod_set in gang.members(info):
        info = info.with_pod_set(pod_set.with_pod_annotations({GROUP_ANNOTATION: job.name}))
    return info


def build(job: TrainJob, info: Info) -> Iterator[Manifest]:
    """The PodGroup."""
    policy = info.gang("volcano")
    if policy is None:
        return
    spec: dict[str, Any] = {
        "minMember": policy.get("minMember", gang.min_member(info)),
        "minResources": format_resources(gang.min_resources(info)),
    }
    queue = policy.get("queue", info.annotations.get(QUEUE_ANNOTATION))
    if queue is not None:
        spec["queue"] = queue
    priority = policy.get("priorityClassName", _priority_class(info))
    if priority is not None:
        spec["priorityClassName"] = priority
    if "networkTopology" in policy:
        spec["networkTopology"] = policy["networkTopology"]
    yield {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": job.metadata,
        "spec": spec,
    }


def _priority_class(info: Info) -> str | None:
    """The priority class of the pods; of several jobs that name one, the last decides."""
    found: str | None = None
    for replicated_job in info.template.get("replicatedJobs", ()):
        pod = replicated_job.get("template", {}).get("spec", {}).get("template", {}).get("spec", {})
        found = pod.get("priorityClassName", found)
    return found


PLUGIN = Plugin(
    name="Volcano",
    validate=validate,
    enforce_pod_group_policy=enforce_pod_group_policy,
    build=build,
)
