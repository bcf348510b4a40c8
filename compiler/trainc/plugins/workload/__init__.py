"""Workload: gang scheduling by Kubernetes 1.37 itself, with a Workload and PodGroups of scheduling.k8s.io/v1beta1."""

from __future__ import annotations

from trainc.plugins.plugin import Gang, Lint, Plugin

API_VERSION = "scheduling.k8s.io/v1beta1"
# The first Kubernetes minor that serves this API.
SINCE = "1.37"
TOPOLOGY = "kueue.x-k8s.io/podset-required-topology"

PLUGIN = Plugin(
    name="Workload",
    passes="trainc.plugins.workload.passes",
    policy="workload",
    lints=(
        Lint("sized", "trainc.plugins.workload.lints", "too_few_pods"),
        Lint("sized", "trainc.plugins.workload.lints", "topology_behind_gate"),
        Lint("rendered", "trainc.plugins.workload.lints", "stale_groups"),
    ),
    gang=Gang(
        "scheduling.k8s.io",
        ("spec", "schedulingGroup", "podGroupName"),
        size=("spec", "schedulingPolicy", "gang", "minCount"),
        by_default=True,
        by_job=True,
        topology=TOPOLOGY,
        changes={
            "Workload": ("spec.podGroupTemplates[*].schedulingPolicy.gang.minCount",),
            "PodGroup": ("spec.schedulingPolicy.gang.minCount",),
        },
    ),
)
