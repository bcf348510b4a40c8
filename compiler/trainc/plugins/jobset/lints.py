"""Lints for what a JobSet counts: seconds that are too few, and pods that never run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trainc.findings import Finding, Path, Severity, write
from trainc.ir.info import About, Info
from trainc.ir.trainjob import TrainJob
from trainc.kube.documents import JOBS, Foreign, Json, value_at
from trainc.kube.jobset import JobSet
from trainc.plugins.jobset import DEADLINE, FEW
from trainc.plugins.plugin import Plugin

# Below five minutes, few pods have pulled their image; below one minute, none has. Of minutes, nobody writes these numbers.
_FEWEST, _DAY = 60, 24
_MINUTES = (60, 120, 180, 240)


def few_seconds(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield a finding for each deadline that ends a job before it trains: seconds that are most likely meant as hours."""
    deadlines: list[tuple[object, Path, About]] = [(job.active_deadline_seconds, ("spec", DEADLINE), "trainjob")]
    for index, replicated in enumerate(info.template.get("replicatedJobs") or ()):
        path = (*JOBS, index, "template", "spec", DEADLINE)
        deadlines.append((value_at(replicated, path[-3:]), path, "runtime"))
    for seconds, path, about in deadlines:
        if isinstance(seconds, int) and 0 < seconds < FEW:
            is_day = seconds % _DAY == 0 and seconds not in _MINUTES
            severity: Severity = "warning" if is_day or seconds < _FEWEST else "info"
            message = f"the job ends after {seconds} s, each time, finished or not: pulling its image may take as long"
            hint = write(seconds * 3600, f" if {seconds} hours are meant", field=DEADLINE)
            yield Finding("UnlikelyAmount", severity, message, hint, path, about)


def idle_parallelism(jobset: Json, objects: Iterable[Foreign], plugins: Sequence[Plugin]) -> Iterator[Finding]:
    """Yield a warning for a Job with more pods at a time than completions, of which it never has more.

    Source: kubernetes pkg/controller/job/job_controller.go (manageJob): wantActive is at most what is left to complete.
    """
    for job in JobSet.read(jobset).jobs:
        if job.completions and job.parallelism > job.completions:
            message = f"parallelism is {job.parallelism}, and the Job never runs more pods than its completions, {job.completions}"
            hint = f"write completions: {job.parallelism} for {job.parallelism} pods at the same time, or parallelism: {job.completions}"
            yield Finding("UnlikelyAmount", "warning", message, hint, (*job.job_path, "parallelism"))
