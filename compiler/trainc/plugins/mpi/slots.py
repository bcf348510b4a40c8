"""Slots: the number of processes that mpirun may start on each host."""

from __future__ import annotations

from trainc.ir.devices import gpus, resources_per_node
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob


def slots_per_node(job: TrainJob, info: Info) -> int:
    """Return numProcPerNode of the TrainJob, else of the policy; since 2.1, the GPU count if the policy's is 1."""
    if counts_gpus(job, info):
        return max(1, gpus(resources_per_node(job, info)))
    return _requested_slots(job, info)


def counts_gpus(job: TrainJob, info: Info) -> bool:
    """Return whether the slots are the node's GPU count."""
    set_by_job = job.trainer is not None and job.trainer.num_proc_per_node is not None
    return info.release.mpi_slots_from_gpus and not set_by_job and _requested_slots(job, info) == 1


def _requested_slots(job: TrainJob, info: Info) -> int:
    requested = job.trainer.num_proc_per_node if job.trainer else None
    slots: int = requested if isinstance(requested, int) else (info.policy("mpi") or {}).get("numProcPerNode", 1)
    return slots
