"""What each MPI implementation needs to reach its hosts: options, hostfile and SSH keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trainc.ir.info import Info, Item, PodSet, ProvidedSecret
from trainc.ir.trainjob import EnvVariable, TrainJob, endpoint_count, endpoints, literal
from trainc.kube import names
from trainc.kube.documents import Manifest
from trainc.startup.records import dataclass

# The MPI implementations and their differences: hostfile lines, variables, reserved names, and callback addresses.
#
# Source: kubeflow/trainer pkg/runtime/framework/plugins/mpi for OpenMPI; kubeflow/mpi-operator
# pkg/controller/mpi_job_controller.go at caa3c47f for Intel MPI and MPICH, which Trainer does not have.


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
    variables: Callable[[int], tuple[EnvVariable, ...]]
    hydra: bool = False

    def launcher_env(self, slots: int) -> tuple[EnvVariable, ...]:
        """Return the launcher's variables for nodes with this number of slots."""
        return (*self.role_env("launcher"), *self.variables(slots))

    def role_env(self, role: str) -> tuple[EnvVariable, ...]:
        """Return the variable with the pod's role, if the implementation's images need one."""
        return (literal(_ROLE, role),) if self.hydra else ()

    @property
    def reserved(self) -> frozenset[str]:
        """The variables that a TrainJob must not set."""
        return frozenset(variable["name"] for variable in self.launcher_env(1))


def implementation(policy: Mapping[str, Any]) -> Implementation:
    """Return the implementation that a policy selects; OpenMPI by default."""
    return _IMPLEMENTATIONS[policy.get("mpiImplementation") or "OpenMPI"]


def _openmpi_env(slots: int) -> tuple[EnvVariable, ...]:
    return (
        literal("OMPI_MCA_orte_default_hostfile", HOSTFILE),
        literal("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
        literal("OMPI_MCA_orte_set_default_slots", slots),
        literal("OMPI_MCA_plm_rsh_args", _SSH_ARGS),
    )


def _intel_env(slots: int) -> tuple[EnvVariable, ...]:
    return (
        literal("I_MPI_HYDRA_HOST_FILE", HOSTFILE),
        literal("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", _SSH_ARGS),
        literal("I_MPI_PERHOST", slots),
    )


def _mpich_env(slots: int) -> tuple[EnvVariable, ...]:
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


# kubernetes/kubernetes pkg/apis/core/validation: MaxSecretSize, which bounds ConfigMaps too.
CONFIG_MAP_BYTES = 1024 * 1024
VOLUME = "mpi-hostfile"


def config_map_name(job: TrainJob) -> str:
    """Return the name of the ConfigMap with the hostfile."""
    return f"{job.name}-mpi-hostfile"


def is_too_large(job: TrainJob, info: Info) -> bool:
    """Return whether the hostfile exceeds the 1 MiB of a ConfigMap.

    The size is a lower bound: the first line of each replicated job is its shortest.
    """
    line = implementation(info.policy("mpi") or {}).host_line
    firsts = ((pod_set, next(endpoints(pod_set, job, info), "")) for pod_set in _listed_pod_sets(info))
    return sum(endpoint_count(pod_set, info) * len(line(first, 1)) for pod_set, first in firsts) > CONFIG_MAP_BYTES


def count(info: Info) -> int:
    """Return the number of hosts that `config_map` writes."""
    return sum(endpoint_count(pod_set, info) for pod_set in _listed_pod_sets(info))


def volume(job: TrainJob) -> Item:
    """Return the launcher's volume with the hostfile, which is world-readable."""
    items = [{"key": HOSTFILE_NAME, "path": HOSTFILE_NAME, "mode": 0o444}]
    return {"name": VOLUME, "configMap": {"name": config_map_name(job), "items": items}}


def mount() -> Item:
    """Return the launcher's volume mount."""
    return {"name": VOLUME, "mountPath": HOSTFILE_DIR}


def config_map(job: TrainJob, info: Info, slots: int) -> Manifest:
    """Return the ConfigMap: one host per line, in the order of the runtime's replicated jobs."""
    line = implementation(info.policy("mpi") or {}).host_line
    hosts = (host for pod_set in _listed_pod_sets(info) for host in endpoints(pod_set, job, info))
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": job.named(config_map_name(job)),
        "data": {HOSTFILE_NAME: "".join(line(host, slots) for host in hosts)},
    }


def _listed_pod_sets(info: Info) -> list[PodSet]:
    """Return the pod sets whose pods are hosts. The launcher is one only if it is a node, or if there is no other.

    If the implementation is '', the controller writes no hosts (mpi.go, buildHostFileConfigMap, since v2.1.0).
    """
    policy = info.policy("mpi") or {}
    if not (info.gitops or policy.get("mpiImplementation")):
        return []
    alone = info.gitops and info.pod_set_in_role(names.NODE) is None
    roles = (names.NODE, names.LAUNCHER) if policy.get("runLauncherAsNode") or alone else (names.NODE,)
    return [pod_set for pod_set in info.pod_sets if pod_set.role in roles]


# The SSH key pair with which mpirun logs in, mounted from a Secret that trainc names but never fills.


SSH_VOLUME = "mpi-ssh-auth"
# (key in the Secret, file name, mode). The private key is group-readable for runtimes that run as non-root.
_FILES = (
    ("ssh-privatekey", "id_rsa", 0o640),
    ("ssh-publickey", "id_rsa.pub", 0o644),
    ("ssh-publickey", "authorized_keys", 0o644),
)
_DEFAULT_MODE = 0o400


def secret_name(job: TrainJob) -> str:
    """Return the name of the Secret with the key pair."""
    return f"{job.name if job.new_keys else job.plain_name}-mpi-ssh-auth"


def provided_secret(job: TrainJob) -> ProvidedSecret:
    """Return the Secret that the pods expect. The key type is the one that the controller generates, ECDSA P-521."""
    return ProvidedSecret(
        name=secret_name(job),
        type="kubernetes.io/ssh-auth",
        purpose="the SSH key pair that mpirun uses to reach the nodes",
        files=(("ssh-privatekey", "id_ecdsa"), ("ssh-publickey", "id_ecdsa.pub")),
        make="ssh-keygen -q -t ecdsa -b 521 -m PEM -N '' -f id_ecdsa",
        key_pair=True,
    )


def volumes(job: TrainJob, info: Info) -> tuple[Item, ...]:
    """Return the volume with the key pair; releases since 2.3 set file modes."""
    modes = info.release.mpi_file_modes
    items = [{"key": key, "path": path, **({"mode": mode} if modes else {})} for key, path, mode in _FILES]
    secret = {"secretName": secret_name(job), "items": items, **({"defaultMode": _DEFAULT_MODE} if modes else {})}
    return ({"name": SSH_VOLUME, "secret": secret},)


def ssh_mount(policy: Mapping[str, Any]) -> Item:
    """Return the mount of the keys, at the policy's sshAuthMountPath."""
    return {"name": SSH_VOLUME, "mountPath": policy.get("sshAuthMountPath", "/root/.ssh")}
