"""Lints for Volcano gangs that can never be complete."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding
from trainc.ir import info as gang
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob


def gang_too_large(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield an error if Volcano would wait for more pods than the job has, or for none. Runs on sized jobs."""
    requested = (info.gang("volcano") or {}).get("minMember")
    if requested is None:
        return
    pods = sum(pod_set.pods for pod_set in gang.members(info))
    if 1 <= requested <= pods:
        return
    message = f"minMember is {requested}, but the gang has {pods} pods"
    hint = f"set minMember to a number from 1 to {pods}, or remove it to wait for all pods"
    path = ("spec", "podGroupPolicy", "volcano", "minMember")
    yield Finding("GangMinMemberTooLarge", "error", message, hint, path, "runtime")
