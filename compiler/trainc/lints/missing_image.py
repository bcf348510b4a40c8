"""Lints for images: a container without one, and tags whose image may be another one after a restart."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding
from trainc.ir.entrypoints import Entrypoint, container_path
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.kube.names import reference_problem

_MOVING = frozenset(
    (
        *("latest", "main", "master", "trunk", "head", "dev", "devel", "develop", "development", "edge", "nightly"),
        *("canary", "snapshot", "rolling", "stable", "unstable"),
    )
)


def missing_image(job: TrainJob, info: Info, entry: Entrypoint) -> Iterator[Finding]:
    """Yield an error for a container that has no image in the runtime or the TrainJob.

    The API server refuses its pods, and JobSet shows at most an event.
    """
    if not entry.image:
        here = f"container {entry.container.name!r} of job {entry.pod_set.name!r}"
        hint = "set image"
        if entry.trains:
            hint = "set spec.trainer.image in the TrainJob, or the container's image in the runtime"
        yield Finding("MissingImage", "error", f"{here} has no image", hint, entry.path, about="runtime")


def has_moving_tag(entry: Entrypoint) -> bool:
    """Return whether an image has no tag or digest, or a tag that by convention moves from image to image."""
    if not entry.image or "@" in entry.image:
        return False
    tag = _tag(entry.image).lower()
    parts = tag.split("-")  # `latest-gpu`, but not `2.13.0-devel` or `nightly-20261101`.
    return not tag or tag in _MOVING or "latest" in parts or parts[-1] == "nightly"


def _tag(image: str) -> str:
    return image.rpartition("/")[2].partition(":")[2]


def moving_tag(job: TrainJob, info: Info, entry: Entrypoint) -> Iterator[Finding]:
    """Yield a warning for an image with a moving tag in a job that says that its pods are created again when they fail."""
    if not _restarts(info, entry) or reference_problem(entry.image):
        return
    tag = _tag(entry.image)
    what = f"the tag {tag!r} moves" if tag else f"{entry.image!r} has no tag, so it is 'latest', which moves"
    message = f"{what} from image to image: pods that are created again may run another one than the rest of the job"
    name = entry.image.removesuffix(f":{tag}")
    hint = f"write a tag that stays, such as {name}:1.0, or a digest: {name}@sha256:..."
    if entry.trainer.image:
        yield Finding("MovingImageTag", "warning", message, hint=hint, path=("spec", "trainer", "image"))
    else:
        path, about = container_path(job, info, entry.pod_set.name, entry.container.name, "image")
        yield Finding("MovingImageTag", "warning", message, hint=hint, path=path, about=about)


def _restarts(info: Info, entry: Entrypoint) -> bool:
    """Return whether the job says that JobSet or the Job starts the pods of a container again when they fail.

    A Job without a backoffLimit retries, too; but nobody asked it to.
    """
    if (info.template.get("failurePolicy") or {}).get("maxRestarts"):
        return True
    for replicated in info.template.get("replicatedJobs", ()):
        if replicated["name"] == entry.pod_set.name:
            return bool((replicated["template"].get("spec") or {}).get("backoffLimit"))
    return False
