"""Gangs: pods that the gang's scheduler never sees, and gangs that can never be complete."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.diagnostics import Finding
from trainc.ir import gang
from trainc.ir.entrypoints import JOBS
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob


def scheduler_name_missing(job: TrainJob, info: Info) -> Iterator[Finding]:
    """A warning for the jobs of a gang whose pods name no scheduler: the default one knows no gangs."""
    if info.gang("coscheduling") is None and info.gang("volcano") is None:
        return
    unnamed = [p.name for p in gang.members(info) if not info.pod_spec(p.name).get("schedulerName")]
    if not unnamed:
        return
    first = next(i for i, p in enumerate(info.pod_sets) if p.name == unnamed[0])
    which = f"the gang's pods ({', '.join(unnamed)}) name no scheduler"
    if info.gang("volcano") is not None and info.gitops:
        message = f"{which}; they get schedulerName: volcano"
        hint = "write schedulerName: volcano into the pod templates, so that a cluster's controller agrees"
    else:
        message = f"{which}, and Kubernetes' default one schedules them one by one"
        own = "volcano" if info.gang("volcano") is not None else "the name that the cluster's coscheduling profile has"
        hint = f"set schedulerName in the pod templates: {own}"
    path = (*JOBS, first, "template", "spec", "template", "spec")
    yield Finding("SchedulerNameMissing", "warning", message, hint, path, about="runtime")


def gang_too_large(job: TrainJob, info: Info) -> Iterator[Finding]:
    """An error where Volcano is to wait for more pods than there will be, or for none. Looks at sized pod sets."""
    asked = (info.gang("volcano") or {}).get("minMember")
    if asked is None:
        return
    pods = sum(pod_set.count * pod_set.replicas for pod_set in gang.members(info))
    if 1 <= asked <= pods:
        return
    message = f"minMember is {asked}, and the gang has {pods} pods"
    hint = f"use a number from 1 to {pods}, or drop minMember to wait for all of them"
    path = ("spec", "podGroupPolicy", "volcano", "minMember")
    yield Finding("GangMinMemberTooLarge", "error", message, hint, path, about="runtime")
