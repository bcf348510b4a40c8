"""Detectors for fields of the TrainJob that the controller does not carry over to the JobSet."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trainc.findings import Path
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob, carried
from trainc.kube import names


def _metadata(job: TrainJob, info: Info) -> Path | None:
    for field, own, built in (("labels", job.labels, info.labels), ("annotations", job.annotations, info.annotations)):
        if any(built.get(key) != value for key, value in carried(own).items()):
            return ("metadata", field)
    return None


def _suspend(job: TrainJob, info: Info) -> Path | None:
    return ("spec", "suspend") if names.QUEUE_LABEL in info.labels else None


def _managed_by(job: TrainJob, info: Info) -> Path | None:
    return ("spec", "managedBy") if job.managed_by == names.MULTIKUEUE_MANAGED_BY else None


def _deadline(job: TrainJob, info: Info) -> Path | None:
    return ("spec", "activeDeadlineSeconds") if job.active_deadline_seconds else None


CARRIED_FIELDS: Mapping[str, Callable[[TrainJob, Info], Path | None]] = {
    "metadata-moves-to-jobset": _metadata,
    "no-suspend-beside-queue": _suspend,
    "managed-by-moves-to-jobset": _managed_by,
    "deadline-moves-to-trainer": _deadline,
}
