"""Counts the processes that a node can run, from the devices and cores in its resources.

Source: kubeflow/trainer pkg/runtime/runtime.go (GetNumGPUPerNode, ExtractResourcePerNodeFromRuntime).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainc.findings import Finding, Path, suggest
from trainc.findings.text import correct_spelling
from trainc.ir.info import Info
from trainc.ir.provenance import derived
from trainc.ir.trainjob import TrainJob
from trainc.kube import names
from trainc.kube.devices import KNOWN
from trainc.kube.quantity import parse_quantity
from trainc.startup.typing import Any

Resources = Mapping[str, Any]


def resources_per_node(job: TrainJob, info: Info) -> Resources:
    """Return the resources of a node, for counting devices and cores.

    The controller uses the TrainJob's resources instead of the runtime's. `gitops` uses those of the resulting
    container.
    """
    if not info.gitops and job.trainer.resources_per_node is not None:
        return job.trainer.resources_per_node
    for pod_set in info.pod_sets:
        if pod_set.role == names.NODE or pod_set.ancestor == names.TRAINER:
            container = pod_set.main_container
            if container is not None:
                return container.resources
    return {}


def gpus(resources: Resources) -> int:
    """Return the devices per node, from requests or else from limits."""
    return _gpus_in(resources.get("requests")) or _gpus_in(resources.get("limits"))


def cpus(resources: Resources) -> int:
    """Return the cores per node, rounded up, from requests or else from limits."""
    return _amount(resources.get("requests"), "cpu") or _amount(resources.get("limits"), "cpu")


def count_deviation(job: TrainJob, info: Info) -> str:
    """Return the deviation that counts the devices of the resulting container, if those of the TrainJob differ."""
    requested = job.trainer.resources_per_node
    merged = info.trainer_container.resources if info.trainer_container else {}
    differs = info.gitops and requested is not None and requested != merged
    return "counts-from-merged-resources" if differs else ""


def ambiguous_gpus(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Report an error if two resources could determine the number of devices.

    The controller picks one at random (kubeflow/trainer pkg/runtime/runtime.go numGPU ranges over a map), so there is
    no right answer: an error with `gitops`, a warning with `controller`.
    """
    resources = resources_per_node(job, info)
    for kind in ("requests", "limits"):
        gpu_resources = sorted(name for name in resources.get(kind) or {} if is_gpu(name))
        if len(gpu_resources) > 1:
            requested = job.trainer.resources_per_node
            path: Path = ("spec", "trainer", "resourcesPerNode", kind) if requested else ("spec", "runtimeRef")
            hint = "keep one kind of GPU, or set spec.trainer.numProcPerNode"
            for name, amount in ((requested or {}).get(kind) or {}).items():
                if is_gpu(name) and (meant := correct_spelling(name, gpu_resources)):
                    path = (*path, name)
                    hint = suggest(name, [meant], f"did you mean {meant}? the runtime has it; write {meant}: {amount}")
                    if name in KNOWN and meant not in KNOWN:
                        hint = f"did you mean {name}? the runtime has {meant}, which no device plugin offers"
            message = f"{kind} list {' and '.join(gpu_resources)}; it is ambiguous which of them counts the processes per node"
            yield Finding("AmbiguousGPU", "error", message, hint, path)
            return


def is_gpu(resource: str) -> bool:
    """Return whether the controller treats a resource as a GPU."""
    return "gpu" in resource.lower()


def _gpus_in(amounts: Mapping[str, Any] | None) -> int:
    # If several names contain "gpu", the controller uses whichever its map yields first.
    return next((_amount(amounts, name) for name in amounts or {} if is_gpu(name)), 0)


def _amount(amounts: Mapping[str, Any] | None, name: str) -> int:
    value = (amounts or {}).get(name)
    return 0 if value is None else derived(parse_quantity(str(value)).units, value)
