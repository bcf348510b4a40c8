"""A lint for initializers for which nothing waits: training starts before its data has been downloaded."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding
from trainc.ir import info as gang
from trainc.ir.entrypoints import JOBS
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.plugins.initializer import STEPS


def initializer_not_ordered(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield a warning for each initializer without a job that depends on its completion.

    A startup order does not help: it waits only until pods are ready.
    """
    awaited = gang.awaited_pod_sets(info)
    for index, pod_set in enumerate(info.pod_sets):
        if pod_set.ancestor in STEPS and pod_set.name not in awaited and len(info.pod_sets) > 1:
            yield Finding(
                "InitializerNotOrdered",
                "warning",
                f"no job waits for {pod_set.name!r} to complete, so the trainer starts at the same time",
                f"add to the job that comes after it: dependsOn: [{{name: {pod_set.name}, status: Complete}}]",
                (*JOBS, index),
                about="runtime",
            )
