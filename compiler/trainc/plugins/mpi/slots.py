"""How many processes mpirun may start on a host."""

from __future__ import annotations

from trainc.ir.devices import gpus, resources_per_node
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob


def slots_per_node(job: TrainJob, info: Info) -> int:
    """The TrainJob's numProcPerNode, else the policy's; a policy of 1 rises to the GPU count (since 2.1)."""
    if job.trainer and isinstance(job.trainer.num_proc_per_node, int):
        return job.trainer.num_proc_per_node
    slots: int = (info.policy("mpi") or {}).get("numProcPerNode", 1)
    if slots == 1 and info.release.mpi_slots_from_gpus:
        return max(1, gpus(resources_per_node(job, info)))
    return slots
