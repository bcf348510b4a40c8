"""What distinguishes one MPI from another: hostfile line, launcher environment, reserved names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from trainc.ir.env import EnvVar, literal

HOSTFILE_DIR = "/etc/mpi"
HOSTFILE_NAME = "hostfile"
HOSTFILE = f"{HOSTFILE_DIR}/{HOSTFILE_NAME}"
# Pods of one job start together; a node's sshd may need a few tries until it listens.
_SSH_ARGS = "-o ConnectionAttempts=10"


@dataclass(frozen=True, slots=True)
class Implementation:
    """One MPI: how it reads a host and its slots, and what its mpirun must be told."""

    name: str
    host_line: Callable[[str, int], str]
    launcher_env: Callable[[int], tuple[EnvVar, ...]]

    @property
    def reserved(self) -> frozenset[str]:
        """Names that a TrainJob must not set."""
        return frozenset(variable["name"] for variable in self.launcher_env(1))


def implementation(policy: Mapping[str, Any]) -> Implementation:
    """The MPI that a policy names; OpenMPI where it names none."""
    return _IMPLEMENTATIONS[policy.get("mpiImplementation") or "OpenMPI"]


def _openmpi_env(slots: int) -> tuple[EnvVar, ...]:
    return (
        literal("OMPI_MCA_orte_default_hostfile", HOSTFILE),
        literal("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
        literal("OMPI_MCA_orte_set_default_slots", slots),
        literal("OMPI_MCA_plm_rsh_args", _SSH_ARGS),
    )


_IMPLEMENTATIONS = {
    "OpenMPI": Implementation("OpenMPI", lambda host, slots: f"{host} slots={slots}\n", _openmpi_env),
}
