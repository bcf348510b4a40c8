"""Lints for gangs whose pods the gang's scheduler never handles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.findings import Finding, remove
from trainc.ir import info as gang
from trainc.ir.entrypoints import JOBS
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.plugins.plugin import Plugin
from trainc.plugins.registry import enabled


def foreign_schedulers(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield a warning for pods of a gang that another gang scheduler places, which ignores this gang's PodGroup."""
    gangs = {p.policy: p.gang for p in enabled(info.plugins) if p.gang is not None}
    chosen = {policy: found for policy, found in gangs.items() if info.gang(policy) is not None}
    foreign = {found.scheduler for policy, found in gangs.items() if policy not in chosen and found.scheduler}
    for index, pod_set in enumerate(info.pod_sets if chosen else ()):
        scheduler = info.pod_spec(pod_set.name).get("schedulerName")
        if scheduler not in foreign or pod_set not in gang.members(info):
            continue
        message = (
            f"the pods of {pod_set.name!r} go to {scheduler}, which does not look at the gang of {', '.join(chosen)}"
        )
        by_default = any(found.by_default for found in chosen.values())
        hint = (
            remove("remove schedulerName from the pod template")
            if by_default
            else "name the scheduler of the gang instead"
        )
        path = (*JOBS, index, "template", "spec", "template", "spec", "schedulerName")
        yield Finding("SchedulerIgnoresGang", "warning", message, hint, path, about="runtime")


def gang_in_sequence(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield an error for a gang that waits for pods that are created only after others of it run. Runs on sized jobs.

    `GangNeverComplete` reports the same for the controller's gangs.
    """
    chosen = [p for p in enabled(info.plugins) if p.gang is not None and info.gang(p.policy) is not None]
    later = gang.held_back(info)
    if not info.gitops or not later or any(p.gang is not None and p.gang.by_job for p in chosen):
        return
    if len(set(_schedulers(chosen, info))) > 1:
        return  # Volcano, and coscheduling before scheduler-plugins#708, count pods that another scheduler has placed.
    waited_for = max([(info.gang(p.policy) or {}).get("minMember", gang.min_member(info)) for p in chosen], default=0)
    there = sum(each.count * each.replicas for each in gang.members(info) if each.name not in later)
    if there < waited_for:
        listed = ", ".join(each.name for each in gang.members(info) if each.name in later)
        message = (
            f"the gang waits for {waited_for} pods, and {there} exist until those are ready: {listed} starts later"
        )
        hint = "remove dependsOn or startupPolicy, so that all start together, or compile with --gang workload"
        yield Finding("GangInSequence", "error", message, hint, ("spec", "podGroupPolicy"), about="runtime")


def _schedulers(chosen: Sequence[Plugin], info: Info) -> Iterator[str]:
    """The scheduler of each member's pods; empty for the default one."""
    own = next((p.gang.scheduler for p in chosen if p.gang is not None and p.gang.scheduler), "")
    for pod_set in gang.members(info):
        yield info.pod_spec(pod_set.name).get("schedulerName") or own


def scheduler_name_missing(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield a warning if the pods of a gang have no schedulerName: the default scheduler does not support gangs."""
    chosen = [p for p in enabled(info.plugins) if p.gang is not None and info.gang(p.policy) is not None]
    if not chosen or any(p.gang is not None and p.gang.by_default for p in chosen):
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
