"""What a job costs at most: its devices, and how long its deadlines let it hold them. A restart begins anew and is not counted."""

from __future__ import annotations

from operator import mul

from trainc.kube import names
from trainc.kube.documents import mapping
from trainc.kube.jobset import JobSet, ReplicatedJob, number, text
from trainc.startup.records import dataclass

_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Bound:
    """The devices of a job, the hours of its longest step with any, and the hours of all devices together.

    The hours are None where a step with devices has no deadline: these are `endless`.
    """

    devices: int
    hours: float | None
    gpu_hours: float | None
    endless: tuple[str, ...] = ()


def bound_of(jobset: JobSet) -> Bound:
    """Return what the steps with devices cost at most, or the main one if none has any."""
    main = main_step(jobset)
    steps = [job for job in jobset.jobs if devices_of(job)] or ([] if main is None else [main])
    devices, hours = [devices_of(job) for job in steps], [hours_of(jobset, job) for job in steps]
    known = [of_one for of_one in hours if of_one is not None]
    if not steps or len(known) < len(steps):
        endless = tuple(job.name for job, of_one in zip(steps, hours, strict=True) if of_one is None)
        return Bound(sum(devices), None, None, endless)
    return Bound(sum(devices), max(known), sum(map(mul, devices, known)))


def main_step(jobset: JobSet) -> ReplicatedJob | None:
    """Return the step with the most devices, otherwise the one that trains."""
    return max(jobset.jobs, key=lambda job: (devices_of(job), job.ancestor == "trainer"), default=None)


def devices_of(job: ReplicatedJob) -> int:
    """Return the compute devices of all pods of a step that run at the same time."""
    return sum(job.devices.values()) * job.pods


def hours_of(jobset: JobSet, job: ReplicatedJob) -> float | None:
    """Return how long a step runs at most: as long as its Jobs may, or as Kueue lets the whole job; None without a deadline."""
    seconds = [number(job.job_spec.get("activeDeadlineSeconds"), 0)]
    labels = mapping(mapping(jobset.document.get("metadata")).get("labels"))
    longest = text(labels.get(names.MAX_SECONDS_LABEL))
    if labels.get(names.QUEUE_LABEL) and longest.isdecimal():
        seconds.append(int(longest))
    return min((of_one / _HOUR for of_one in seconds if of_one > 0), default=None)


def decimal(value: float) -> str:
    """Return hours as people write them: `1,536` or `0.5`."""
    return f"{value:,.2f}".rstrip("0").rstrip(".")
