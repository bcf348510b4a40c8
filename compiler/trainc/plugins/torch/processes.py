"""PET_NPROC_PER_NODE: the number of processes that torchrun starts on each node.

Source: kubeflow/trainer pkg/runtime/framework/plugins/torch/torch.go at each release's tag.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainc.ir.devices import cpus, gpus, is_gpu, resources_per_node
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.kube.quantity import parse_quantity

AUTO = "auto"


def requested_processes(job: TrainJob, info: Info) -> int | str:
    """Return numProcPerNode of the TrainJob, else of the runtime's torch policy, else "auto"."""
    if job.trainer.num_proc_per_node is not None:
        return job.trainer.num_proc_per_node
    requested: int | str = (info.policy("torch") or {}).get("numProcPerNode", AUTO)
    return requested


def processes_per_node(job: TrainJob, info: Info) -> int | str:
    """Return the value of PET_NPROC_PER_NODE: a number, or a word that torchrun resolves on the node."""
    requested = requested_processes(job, info)
    if info.release.torch_processes == "limits then requests" and not info.gitops:
        return _limits_then_requests(requested, job)
    resources = resources_per_node(job, info)
    if requested == "cpu" or (requested == AUTO and gpus(resources) == 0):
        return max(1, cpus(resources))
    return requested


def _limits_then_requests(requested: int | str, job: TrainJob) -> int | str:
    """Return the value in v2.0.1: from limits if they decide a CPU count, else from requests; without requests it is 1."""
    resources = job.trainer.resources_per_node
    if resources is None:
        return requested
    answer, from_cpu = _from_list(requested, resources.get("limits"))
    return answer if from_cpu else _from_list(requested, resources.get("requests"))[0]


def _from_list(requested: int | str, amounts: Mapping[str, Any] | None) -> tuple[int | str, bool]:
    """Return the number that one resource list gives, and whether it is its CPU count."""
    if amounts is None:
        return 1, False
    if (requested == AUTO and not any(is_gpu(name) for name in amounts)) or (requested == "cpu" and "cpu" in amounts):
        return max(1, parse_quantity(str(amounts.get("cpu", 0))).units), True
    return (1 if requested == "cpu" else requested), False
