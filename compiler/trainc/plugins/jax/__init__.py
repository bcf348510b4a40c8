"""JAX: the coordinator, number of processes and rank for jax.distributed."""

from __future__ import annotations

from trainc.kube.releases import Span
from trainc.plugins.plugin import RANK_DEFECTS, Address, Plugin, Started

PLUGIN = Plugin(
    name="JAX",
    passes="trainc.plugins.jax.passes",
    policy="jax",
    defects=RANK_DEFECTS,
    addresses=(Address("JAX_COORDINATOR_ADDRESS"),),
    started=Started("JAX_NUM_PROCESSES", per_pod=1),
    shell_names={
        "COORDINATOR_ADDRESS": "JAX_COORDINATOR_ADDRESS",
        "NUM_PROCESSES": "JAX_NUM_PROCESSES",
        "PROCESS_ID": "JAX_PROCESS_ID",
    },
    carries_env=Span("2.2"),
)
