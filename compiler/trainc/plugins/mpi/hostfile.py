"""The hostfile: one line per host that mpirun may use, in a ConfigMap mounted into the launcher."""

from __future__ import annotations

from trainc.api import names
from trainc.api.documents import Manifest
from trainc.ir.env import endpoints
from trainc.ir.info import Info
from trainc.ir.podset import Item
from trainc.ir.trainjob import TrainJob
from trainc.plugins.mpi.implementations import HOSTFILE_DIR, HOSTFILE_NAME, implementation

# kubernetes/kubernetes pkg/apis/core/validation: MaxSecretSize, which bounds ConfigMaps too.
CONFIG_MAP_BYTES = 1024 * 1024
VOLUME = "mpi-hostfile"


def config_map_name(job: TrainJob) -> str:
    """Name of the ConfigMap that holds the hostfile."""
    return f"{job.name}-mpi-hostfile"


def is_too_large(job: TrainJob, hosts: int) -> bool:
    """Whether a hostfile of so many hosts exceeds what a ConfigMap holds; each line has the job's name in it twice."""
    return hosts * 2 * len(job.name) > CONFIG_MAP_BYTES


def volume(job: TrainJob) -> Item:
    """The launcher's volume, readable by everybody."""
    items = [{"key": HOSTFILE_NAME, "path": HOSTFILE_NAME, "mode": 0o444}]
    return {"name": VOLUME, "configMap": {"name": config_map_name(job), "items": items}}


def mount() -> Item:
    """Where the launcher finds it."""
    return {"name": VOLUME, "mountPath": HOSTFILE_DIR}


def config_map(job: TrainJob, info: Info, slots: int) -> Manifest:
    """Hosts in the order of the runtime's jobs; the launcher's only where it runs training itself, or is alone.

    For an implementation that is '' the controller writes no host (mpi.go, buildHostFileConfigMap, since v2.1.0).
    """
    policy = info.policy("mpi") or {}
    named = info.gitops or bool(policy.get("mpiImplementation"))
    alone = info.gitops and info.pod_set_in_role(names.NODE) is None
    roles = (names.NODE, names.LAUNCHER) if policy.get("runLauncherAsNode") or alone else (names.NODE,)
    line = implementation(policy).host_line
    hosts = (
        host for pod_set in info.pod_sets if named and pod_set.role in roles for host in endpoints(pod_set, job, info)
    )
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": job.named(config_map_name(job)),
        "data": {HOSTFILE_NAME: "".join(line(host, slots) for host in hosts)},
    }
