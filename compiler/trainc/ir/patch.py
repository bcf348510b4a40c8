"""A TrainJob's patches to its runtime, whichever release's field they were written in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainc.diagnostics import Path
from trainc.startup.records import dataclass, field


@dataclass(frozen=True, slots=True)
class PatchedJob:
    """What one patch does to one replicated job: a partial JobTemplateSpec, written at `path` of the TrainJob.

    `template` is None where the patch names the job and changes nothing. `pod_path` leads to the pod spec patch.
    """

    name: str
    template: Mapping[str, Any] | None
    path: Path
    pod_path: Path

    @property
    def pod_spec(self) -> Mapping[str, Any]:
        """The partial PodSpec, empty where there is none."""
        pod_template = ((self.template or {}).get("spec") or {}).get("template") or {}
        spec: Mapping[str, Any] = pod_template.get("spec") or {}
        return spec


@dataclass(frozen=True, slots=True)
class Patch:
    """One item of runtimePatches, podTemplateOverrides or podSpecOverrides; only the first has a manager."""

    manager: str | None
    jobs: tuple[PatchedJob, ...]
    path: Path
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
