"""`managedBy` for MultiKueue, moved to the JobSet: the object that is dispatched to another cluster."""

from __future__ import annotations

from trainc.api import names
from trainc.emit.shaping.shape import Manifest, Shape, Shaped, on_jobset, with_spec
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob


def move_managed_by(job: TrainJob, info: Info, manifests: list[Manifest]) -> Shaped:
    """Trainer's own controller is no value for a JobSet, so that only MultiKueue's moves."""
    if job.managed_by != names.MULTIKUEUE_MANAGED_BY:
        return manifests, []
    return on_jobset(manifests, lambda jobset: with_spec(jobset, managedBy=job.managed_by)), []


MANAGED_BY = Shape("managed-by-moves-to-jobset", move_managed_by)
