"""MPI: a hostfile, SSH keys and slots, so that mpirun on the launcher reaches every node."""

from __future__ import annotations

from trainc.kube.releases import Span
from trainc.plugins.plugin import Lint, Plugin, RendezvousFile, Started

PLUGIN = Plugin(
    name="MPI",
    passes="trainc.plugins.mpi.passes",
    policy="mpi",
    launchers="trainc.plugins.mpi.launchers",
    lints=(
        Lint("lowered", "trainc.plugins.mpi.lints", "mpi_nodes_awaited"),
        Lint("lowered", "trainc.plugins.mpi.lints", "mpi_nodes_without_ssh"),
        Lint("lowered", "trainc.plugins.mpi.lints", "mpi_images_differ"),
    ),
    detectors="trainc.plugins.mpi.lints",
    defects=frozenset({"counts-from-merged-resources"}),
    files=(RendezvousFile("-mpi-hostfile", "hostfile"),),
    started=Started("OMPI_MCA_orte_set_default_slots"),
    # The reserved names depend on the implementation: see `passes.reserved`.
    reserved_for="mpirun",
    reads_processes=True,
    carries_env=Span("2.0"),
)
