"""A lint for GPUs with a request but no limit: devices cannot be overcommitted, so the API server refuses the pods."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding, Path
from trainc.ir.devices import is_gpu
from trainc.ir.entrypoints import Entrypoint
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob


def gpu_without_limit(job: TrainJob, info: Info, entry: Entrypoint) -> Iterator[Finding]:
    """Yield an error for each GPU resource that a container requests without a limit."""
    resources = entry.container.resources
    limits = resources.get("limits") or {}
    for name, amount in (resources.get("requests") or {}).items():
        if "/" in name and is_gpu(name) and name not in limits:
            yield _without_limit(name, str(amount), entry, job)


def _without_limit(name: str, amount: str, entrypoint: Entrypoint, job: TrainJob) -> Finding:
    message = f"{name}: {amount} is requested without a limit, which Kubernetes refuses for devices"
    hint = f"move it to limits: {{{name}: {amount}}}; the request is the same by default"
    requested = (job.trainer.resources_per_node or {}).get("requests") or {}
    if entrypoint.trains and name in requested:
        path: Path = ("spec", "trainer", "resourcesPerNode", "requests", name)
        return Finding("GPUWithoutLimit", "error", message, hint, path)
    path = (*entrypoint.path, "resources", "requests", name)
    return Finding("GPUWithoutLimit", "error", message, hint, path, about="runtime")
