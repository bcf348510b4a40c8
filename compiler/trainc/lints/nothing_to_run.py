"""A lint for runtimes without replicated jobs: their JobSet is valid, runs nothing, and completes."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding
from trainc.ir.entrypoints import JOBS
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob


def nothing_to_run(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield an error if there are no replicated jobs."""
    if not info.pod_sets:
        message = "the runtime has no replicated jobs, so the JobSet runs nothing"
        hint = "add a job to spec.template.spec.replicatedJobs"
        yield Finding("NothingToRun", "error", message, hint, JOBS, about="runtime")
