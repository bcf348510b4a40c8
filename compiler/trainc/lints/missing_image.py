"""A lint for containers without an image: the API server refuses the pods, and JobSet shows at most an event."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding
from trainc.ir.entrypoints import Entrypoint
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob


def missing_image(job: TrainJob, info: Info, entry: Entrypoint) -> Iterator[Finding]:
    """Yield an error for a container that has no image in the runtime or the TrainJob."""
    if not entry.image:
        here = f"container {entry.container.name!r} of job {entry.pod_set.name!r}"
        hint = "set image"
        if entry.trains:
            hint = "set spec.trainer.image in the TrainJob, or the container's image in the runtime"
        yield Finding("MissingImage", "error", f"{here} has no image", hint, entry.path, about="runtime")
