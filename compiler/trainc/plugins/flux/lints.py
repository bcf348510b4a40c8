"""Detectors of the controller's defects for Flux jobs."""

from __future__ import annotations

from collections.abc import Mapping

from trainc.findings import Path
from trainc.ir.entrypoints import gpus, resources_per_node
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.plugins.plugin import Detect

_TRAINER: Path = ("spec", "trainer")


def _flux_gpus(job: TrainJob, info: Info) -> Path | None:
    if not job.has_trainer:
        return None
    several = info.processes.value != 1 and gpus(resources_per_node(job, info)) > 0
    return (*_TRAINER, "numProcPerNode") if several else None


def _flux_flattened(job: TrainJob, info: Info) -> Path | None:
    words = (*(job.trainer.command or ()), *(job.trainer.args or ()))
    return (*_TRAINER, "command") if any(len(word.split()) != 1 for word in words) else None


DETECTORS: Mapping[str, Detect] = {"flux-gpus-per-task": _flux_gpus, "flux-command-words": _flux_flattened}
