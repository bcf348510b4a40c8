"""Gangs whose pods the gang's scheduler never sees."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.diagnostics import Finding
from trainc.ir import gang
from trainc.ir.entrypoints import JOBS
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.plugins.registry import enabled


def scheduler_name_missing(job: TrainJob, info: Info) -> Iterator[Finding]:
    """A warning for the jobs of a gang whose pods name no scheduler: the default one knows no gangs."""
    chosen = [p for p in enabled(info.plugins) if p.gang is not None and info.gang(p.policy) is not None]
    if not chosen:
        return
    scheduler = next((p.gang.scheduler for p in chosen if p.gang is not None and p.gang.scheduler), "")
    unnamed = [p.name for p in gang.members(info) if not info.pod_spec(p.name).get("schedulerName")]
    if not unnamed:
        return
    first = next(i for i, p in enumerate(info.pod_sets) if p.name == unnamed[0])
    which = f"the gang's pods ({', '.join(unnamed)}) have no schedulerName"
    if scheduler and info.gitops:
        message = f"{which}; they get schedulerName: {scheduler}"
        hint = (
            f"set schedulerName: {scheduler} in the runtime's pod templates, so that Trainer's controller does the same"
        )
    else:
        message = f"{which}, so the default scheduler places them one by one"
        own = scheduler or f"the schedulerName of the cluster's {chosen[0].policy} profile"
        hint = f"set schedulerName in the pod templates: {own}"
    path = (*JOBS, first, "template", "spec", "template", "spec")
    yield Finding("SchedulerNameMissing", "warning", message, hint, path, about="runtime")
