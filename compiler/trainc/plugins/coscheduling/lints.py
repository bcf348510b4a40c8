"""Lints for gangs of coscheduling that cannot have a valid PodGroup."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding
from trainc.ir import info as gang
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob


def gang_without_pods(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield an error if the gang has no pods, because minMember must be at least 1. Runs on sized jobs."""
    if info.gang("coscheduling") is None or gang.min_member(info) > 0:
        return
    message = "the gang has no pods, and a PodGroup of coscheduling needs minMember 1: the API server refuses it"
    if not info.gitops:
        message += ", and the controller then creates nothing for the job"
    hint = "set numNodes to 1 or more, or set suspend: true to hold the job back"
    yield Finding("NoNodes", "error", message, hint, ("spec", "trainer", "numNodes"))
