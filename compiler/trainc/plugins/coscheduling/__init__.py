"""Coscheduling: a PodGroup for the gang scheduler of scheduler-plugins, and the label with which pods join it."""

from __future__ import annotations

from trainc.kube.documents import Json
from trainc.plugins.plugin import Gang, Lint, Plugin
from trainc.startup.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainc.ir.info import Info
    from trainc.ir.trainjob import TrainJob

POD_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"


def applies_to(job: TrainJob, info: Info) -> Json | None:
    """Return the coscheduling policy. v2.0.1 acts on any podGroupPolicy, even an empty one."""
    policy = info.gang("coscheduling")
    return info.pod_group_policy if policy is None and info.release.gang_label_for_any_policy else policy


PLUGIN = Plugin(
    name="CoScheduling",
    passes="trainc.plugins.coscheduling.passes",
    policy="coscheduling",
    applies_to=applies_to,
    lints=(Lint("sized", "trainc.plugins.coscheduling.lints", "gang_without_pods"),),
    gang=Gang("scheduling.x-k8s.io", ("metadata", "labels", POD_GROUP_LABEL)),
)
