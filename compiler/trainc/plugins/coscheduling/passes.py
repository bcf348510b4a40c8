"""The passes of coscheduling: a PodGroup for the gang scheduler of scheduler-plugins, and its label on pods.

Source: kubeflow/trainer pkg/runtime/framework/plugins/coscheduling.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.ir import info as gang
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.kube.documents import Json, Manifest
from trainc.plugins.coscheduling import POD_GROUP_LABEL
from trainc.plugins.plugin import Passes


def enforce_pod_group_policy(job: TrainJob, policy: Json, info: Info) -> Info:
    """Label the gang's pods with their PodGroup."""
    any_policy = "pods are labeled for any podGroupPolicy (Trainer 2.0)" if info.gang("coscheduling") is None else ""
    group = info.made(job.name, job.name, rule=any_policy)
    for pod_set in gang.members(info):
        info = info.with_pod_set(pod_set.with_pod_labels({POD_GROUP_LABEL: group}))
    return info


def build(job: TrainJob, policy: Json, info: Info) -> Iterator[Manifest]:
    """Yield the PodGroup. v2.0.1 builds it only for the coscheduling policy, although it labels the pods for any."""
    if info.gang("coscheduling") is None:
        return
    yield {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": job.metadata,
        "spec": {
            "minMember": gang.min_member(info),
            "minResources": gang.min_resources(info),
            "scheduleTimeoutSeconds": policy["scheduleTimeoutSeconds"],
        },
    }


PASSES = Passes(enforce_pod_group_policy=enforce_pod_group_policy, build=build)
