"""Torch: rendezvous for torchrun through PET_ variables, and torchtune."""

from __future__ import annotations

from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.kube.releases import Span
from trainc.plugins.plugin import RANK_DEFECTS, Address, Lint, Plugin, Started

RESERVED = frozenset({"PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"})


# The command of torchtune's runtimes, to which the plugin adds the recipe and its configuration.
TORCHTUNE = ("tune", "run")


def calls_torchtune(job: TrainJob) -> bool:
    """Return whether the TrainJob's command is exactly torchtune's entrypoint."""
    return job.trainer.command == TORCHTUNE


def _tunes(job: TrainJob, info: Info) -> bool:
    """Return whether the trainer's command, from the TrainJob or else the runtime, begins with `tune`."""
    requested = job.trainer.command
    container = info.trainer_container
    words = requested if requested is not None else container.command if container is not None else ()
    return info.policy("torch") is not None and tuple(words[:1]) == ("tune",)


PLUGIN = Plugin(
    name="Torch",
    passes="trainc.plugins.torch.passes",
    policy="torch",
    launchers="trainc.plugins.torch.launchers",
    lints=(Lint("sized", "trainc.plugins.torch.lints", "torchtune_words", _tunes, per="container"),),
    detectors="trainc.plugins.torch.elastic",
    defects=RANK_DEFECTS,
    addresses=(Address("PET_RDZV_ENDPOINT"), Address("PET_MASTER_ADDR", "PET_MASTER_PORT")),
    started=Started("PET_NNODES", per_pod="PET_NPROC_PER_NODE"),
    # torchtune takes the address as an argument.
    address_arguments=("--rdzv_endpoint=",),
    # Of Training Operator v1, Slurm, MPI and SkyPilot: PyTorchJob's WORLD_SIZE and RANK are those of pods.
    shell_names={
        **dict.fromkeys(("MASTER_ADDR", "SLURM_LAUNCH_NODE_IPADDR", "SKYPILOT_NODE_IPS"), "PET_MASTER_ADDR"),
        **dict.fromkeys(("SLURM_JOB_NODELIST", "SLURM_NODELIST"), "PET_MASTER_ADDR"),
        "MASTER_PORT": "PET_MASTER_PORT",
        **dict.fromkeys(("NNODES", "NUM_NODES", "WORLD_SIZE", "SLURM_NNODES"), "PET_NNODES"),
        **dict.fromkeys(("SLURM_JOB_NUM_NODES", "SLURM_NTASKS", "SKYPILOT_NUM_NODES"), "PET_NNODES"),
        **dict.fromkeys(("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"), "PET_NNODES"),
        **dict.fromkeys(("NODE_RANK", "RANK", "MACHINE_RANK", "SLURM_PROCID", "SLURM_NODEID"), "PET_NODE_RANK"),
        **dict.fromkeys(("SKYPILOT_NODE_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"), "PET_NODE_RANK"),
        **dict.fromkeys(("PMIX_RANK", "MV2_COMM_WORLD_RANK"), "PET_NODE_RANK"),
        **dict.fromkeys(("NPROC_PER_NODE", "SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"), "PET_NPROC_PER_NODE"),
        **dict.fromkeys(("SLURM_NTASKS_PER_NODE", "SKYPILOT_NUM_GPUS_PER_NODE"), "PET_NPROC_PER_NODE"),
    },
    reserved=RESERVED,
    reserved_for="torchrun's rendezvous",
    reads_processes=True,
    carries_env=Span("2.0"),
)
