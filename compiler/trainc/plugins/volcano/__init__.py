"""Volcano: a PodGroup for the Volcano scheduler, and the annotation with which pods join it."""

from __future__ import annotations

from trainc.plugins.plugin import Gang, Lint, Plugin

GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
SCHEDULER = "volcano"

PLUGIN = Plugin(
    name="Volcano",
    passes="trainc.plugins.volcano.passes",
    policy="volcano",
    lints=(Lint("sized", "trainc.plugins.volcano.lints", "gang_too_large"),),
    gang=Gang("scheduling.volcano.sh", ("metadata", "annotations", GROUP_ANNOTATION), scheduler=SCHEDULER),
)
