"""Coscheduling: a PodGroup for the scheduler-plugins gang scheduler, and the label that puts pods into it.

Source: kubeflow/trainer pkg/runtime/framework/plugins/coscheduling.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.api.documents import Manifest
from trainc.api.quantity import format_resources
from trainc.ir import gang
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.plugins.plugin import Plugin

POD_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"


def enforce_pod_group_policy(job: TrainJob, info: Info) -> Info:
    """Labels the gang's pods with their group. v2.0.1 labels them for any pod group policy, an empty one included."""
    chosen = info.gang("coscheduling") is not None
    if not chosen and not (info.release.gang_label_for_any_policy and info.pod_group_policy is not None):
        return info
    for pod_set in gang.members(info):
        info = info.with_pod_set(pod_set.with_pod_labels({POD_GROUP_LABEL: job.name}))
    return info


def build(job: TrainJob, info: Info) -> Iterator[Manifest]:
    """The PodGroup."""
    policy = info.gang("coscheduling")
    if policy is None:
        return
    yield {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": job.metadata,
        "spec": {
            "minMember": gang.min_member(info),
            "minResources": format_resources(gang.min_resources(info)),
            "scheduleTimeoutSeconds": policy["scheduleTimeoutSeconds"],
        },
    }


PLUGIN = Plugin(name="CoScheduling", enforce_pod_group_policy=enforce_pod_group_policy, build=build)
