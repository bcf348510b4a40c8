"""Images that no registry serves: the kubelet says InvalidImageName, and the pods stay scheduled and hold their devices."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.api.image_reference import reference_problem
from trainc.diagnostics import Finding
from trainc.ir.entrypoints import Entrypoint
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.ir.written import in_container


def invalid_image(job: TrainJob, info: Info, entry: Entrypoint) -> Iterator[Finding]:
    """An error where a container's image is no reference."""
    problem = reference_problem(entry.image) if entry.image else None
    if problem is None:
        return
    why, instead = problem
    message = f"no registry serves {entry.image!r}: {why}"
    hint = f"write {instead}" if instead else "write it as registry.example.com/team/train:1.0"
    if entry.trainer is not None and entry.trainer.image:
        yield Finding("InvalidImage", "error", message, hint=hint, path=("spec", "trainer", "image"))
    else:
        path, about = in_container(job, info, entry.pod_set.name, entry.container.name, "image")
        yield Finding("InvalidImage", "error", message, hint=hint, path=path, about=about)
