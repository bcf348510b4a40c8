"""`activeDeadlineSeconds`, moved to the trainer's Job: Trainer's controller enforces it, and will not be there.

Source: kubeflow/trainer pkg/controller/trainjob_controller.go v2.3.0 (the TrainJob's deadline).
"""

from __future__ import annotations

from trainc.diagnostics import Finding
from trainc.emit.shaping.shape import Manifest, Shape, Shaped, on_jobset, with_spec
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob

_PATH = ("spec", "activeDeadlineSeconds")


def move_deadline(job: TrainJob, info: Info, manifests: list[Manifest]) -> Shaped:
    """The trainer's Job gets the deadline, whatever the runtime's template had."""
    seconds = job.active_deadline_seconds
    if not seconds:
        return manifests, []
    if info.trainer is None:
        return manifests, [_DROPPED]
    name = info.trainer.name
    return on_jobset(manifests, lambda jobset: _with_deadline(jobset, name, seconds)), [_moved(name)]


def _with_deadline(jobset: Manifest, trainer: str, seconds: int) -> Manifest:
    jobs = [_limited(j, seconds) if j["name"] == trainer else j for j in jobset["spec"]["replicatedJobs"]]
    return with_spec(jobset, replicatedJobs=jobs)


def _limited(replicated_job: Manifest, seconds: int) -> Manifest:
    template = replicated_job["template"]
    spec = {**template["spec"], "activeDeadlineSeconds": seconds}
    return {**replicated_job, "template": {**template, "spec": spec}}


def _moved(trainer: str) -> Finding:
    return Finding(
        "DeadlineMoved",
        "info",
        f"the deadline is now that of the Job {trainer!r}: initializers do not count, and a restart begins it anew",
        "allow for the difference, or set activeDeadlineSeconds in the runtime's jobs yourself",
        _PATH,
    )


_DROPPED = Finding(
    "DeadlineDropped",
    "warning",
    "no job is the trainer, so that nothing can carry the deadline",
    "label the job that trains, or set activeDeadlineSeconds in the runtime's job",
    _PATH,
)

DEADLINE = Shape("deadline-moves-to-trainer", move_deadline)
