"""A lint for runtimes without a trainer: the TrainJob's trainer settings silently reach no container."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding
from trainc.ir.entrypoints import JOBS
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.kube import names


def missing_trainer_ancestor(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield a warning if no job has the trainer label, or the one with it has no container to configure."""
    trainer = info.trainer
    if not info.pod_sets or info.trainer_container is not None:
        return
    if trainer is None:
        message = "no job has the ancestor label of the trainer: spec.trainer and the framework's variables are not applied to any container"
        hint = f"add the label {names.ANCESTOR_LABEL}: {names.TRAINER} to the metadata of the template of the job that trains"
        yield Finding("MissingTrainerAncestor", "warning", message, hint, JOBS, about="runtime")
        return
    path = (*JOBS, info.pod_sets.index(trainer), "template", "spec", "template", "spec", "containers")
    message = f"the trainer job {trainer.name!r} has no container {trainer.main!r}, so spec.trainer has no effect"
    hint = f"rename its main container to {trainer.main}"
    yield Finding("MissingTrainerAncestor", "warning", message, hint, path, about="runtime")
