"""The MPI implementations and their differences: hostfile lines, variables, reserved names, and callback addresses.

Source: kubeflow/trainer pkg/runtime/framework/plugins/mpi for OpenMPI; kubeflow/mpi-operator
pkg/controller/mpi_job_controller.go at caa3c47f for Intel MPI and MPICH, which Trainer does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trainc.ir.env import EnvVar, literal
from trainc.startup.records import dataclass

HOSTFILE_DIR = "/etc/mpi"
HOSTFILE_NAME = "hostfile"
HOSTFILE = f"{HOSTFILE_DIR}/{HOSTFILE_NAME}"
_ROLE = "K_MPI_JOB_ROLE"
# The pods of a job start together, so a node's sshd may not listen yet when the launcher connects.
_SSH_ARGS = "-o ConnectionAttempts=10"


@dataclass(frozen=True, slots=True)
class Implementation:
    """An MPI implementation: the form of its hostfile lines, and the variables that its mpirun needs.

    `hydra` is the process manager of Intel MPI and MPICH. With it, nodes connect back to the launcher by its bare
    hostname, and mpi-operator's images read the role of the pod from a variable.
    """

    name: str
    host_line: Callable[[str, int], str]
    variables: Callable[[int], tuple[EnvVar, ...]]
    hydra: bool = False

    def launcher_env(self, slots: int) -> tuple[EnvVar, ...]:
        """Return the launcher's variables for nodes with this number of slots."""
        return (*self.role_env("launcher"), *self.variables(slots))

    def role_env(self, role: str) -> tuple[EnvVar, ...]:
        """Return the variable with the pod's role, if the implementation's images need one."""
        return (literal(_ROLE, role),) if self.hydra else ()

    @property
    def reserved(self) -> frozenset[str]:
        """The variables that a TrainJob must not set."""
        return frozenset(variable["name"] for variable in self.launcher_env(1))


def implementation(policy: Mapping[str, Any]) -> Implementation:
    """Return the implementation that a policy selects; OpenMPI by default."""
    return _IMPLEMENTATIONS[policy.get("mpiImplementation") or "OpenMPI"]


def _openmpi_env(slots: int) -> tuple[EnvVar, ...]:
    return (
        literal("OMPI_MCA_orte_default_hostfile", HOSTFILE),
        literal("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
        literal("OMPI_MCA_orte_set_default_slots", slots),
        literal("OMPI_MCA_plm_rsh_args", _SSH_ARGS),
    )


def _intel_env(slots: int) -> tuple[EnvVar, ...]:
    return (
        literal("I_MPI_HYDRA_HOST_FILE", HOSTFILE),
        literal("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", _SSH_ARGS),
        literal("I_MPI_PERHOST", slots),
    )


def _mpich_env(slots: int) -> tuple[EnvVar, ...]:
    return literal("HYDRA_HOST_FILE", HOSTFILE), literal("HYDRA_LAUNCH_EXTRA_ARGS", _SSH_ARGS)


def _openmpi_line(host: str, slots: int) -> str:
    return f"{host} slots={slots}\n"


def _hydra_line(host: str, slots: int) -> str:
    return f"{host}:{slots}\n"


_IMPLEMENTATIONS = {
    "OpenMPI": Implementation("OpenMPI", _openmpi_line, _openmpi_env),
    "Intel": Implementation("Intel", _hydra_line, _intel_env, hydra=True),
    "MPICH": Implementation("MPICH", _hydra_line, _mpich_env, hydra=True),
}
