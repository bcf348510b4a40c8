"""Containers without an image: the API server refuses the pods, and JobSet shows an event at most."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.diagnostics import Finding
from trainc.ir.entrypoints import entrypoints
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob


def missing_image(job: TrainJob, info: Info) -> Iterator[Finding]:
    """An error for each container for which neither the runtime nor the TrainJob names an image."""
    for entrypoint in entrypoints(job, info):
        if entrypoint.image:
            continue
        here = f"container {entrypoint.container.name!r} of job {entrypoint.pod_set.name!r}"
        hint = (
            "set spec.trainer.image in the TrainJob, or the container's image in the runtime"
            if entrypoint.trains
            else "set image"
        )
        yield Finding("MissingImage", "error", f"{here} has no image", hint, entrypoint.path, about="runtime")
