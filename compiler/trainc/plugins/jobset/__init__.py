"""JobSet: builds the object that runs the job."""

from __future__ import annotations

from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.plugins.plugin import Lint, Plugin, always

DEADLINE = "activeDeadlineSeconds"
# Seconds below which a deadline may end a job before it trains.
FEW = 300


def _has_few_seconds(job: TrainJob, info: Info) -> bool:
    specs = (replicated["template"].get("spec") or {} for replicated in info.template.get("replicatedJobs") or ())
    seconds = (job.active_deadline_seconds, *(spec.get(DEADLINE) for spec in specs))
    return any(isinstance(each, int) and each < FEW for each in seconds)


PLUGIN = Plugin(
    name="JobSet",
    passes="trainc.plugins.jobset.passes",
    applies_to=always,
    lints=(
        Lint("lowered", "trainc.plugins.jobset.lints", "few_seconds", _has_few_seconds),
        Lint("rendered", "trainc.plugins.jobset.lints", "idle_parallelism"),
    ),
)
