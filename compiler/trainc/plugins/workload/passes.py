"""The passes of Workload: a Workload and its PodGroups for kube-scheduler, and the field with which pods join them.

Source: kubernetes/api scheduling/v1beta1/types.go (1.37); kubernetes/enhancements KEP-4671, KEP-5710, KEP-5732.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.api.documents import Json, Manifest
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.plugins.plugin import Passes
from trainc.plugins.workload import API_VERSION
from trainc.plugins.workload.groups import groups, pod_group
from trainc.plugins.workload.validation import validate


def enforce_pod_group_policy(job: TrainJob, policy: Json, info: Info) -> Info:
    """Make the gang's pods join their groups."""
    for group in groups(job, info):
        for pod_set in group.pod_sets:
            info = info.with_pod_set(pod_set.with_pod_fields(schedulingGroup={"podGroupName": group.name}))
    return info


def build(job: TrainJob, policy: Json, info: Info) -> Iterator[Manifest]:
    """Yield the Workload, and a PodGroup for each of its templates; nothing in the cluster creates them for a JobSet."""
    found = [(group, pod_group(group, job, policy, info)) for group in groups(job, info)]
    if not found:
        return
    yield {
        "apiVersion": API_VERSION,
        "kind": "Workload",
        "metadata": job.metadata,
        "spec": {
            "controllerRef": {"apiGroup": "jobset.x-k8s.io", "kind": "JobSet", "name": job.name},
            "podGroupTemplates": [{"name": group.template, **spec} for group, spec in found],
        },
    }
    for group, spec in sorted(found, key=lambda each: each[0].name):
        yield {
            "apiVersion": API_VERSION,
            "kind": "PodGroup",
            "metadata": job.named(group.name),
            "spec": {"workloadRef": {"workloadName": job.name, "templateName": group.template}, **spec},
        }


PASSES = Passes(validate=validate, enforce_pod_group_policy=enforce_pod_group_policy, build=build)
