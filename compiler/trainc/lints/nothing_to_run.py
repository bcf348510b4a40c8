"""A runtime without jobs: the JobSet that comes of it is valid, runs nothing, and says that it is done."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.diagnostics import Finding
from trainc.ir.entrypoints import JOBS
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob


def nothing_to_run(job: TrainJob, info: Info) -> Iterator[Finding]:
    """An error where there is no replicated job at all."""
    if not info.pod_sets:
        message = "the runtime has no replicated jobs, so the JobSet runs nothing"
        hint = "add a job to spec.template.spec.replicatedJobs"
        yield Finding("NothingToRun", "error", message, hint, JOBS, about="runtime")
