"""The hostfile: one line per host that mpirun may use, in a ConfigMap mounted into the launcher."""

from __future__ import annotations

from trainc.api import names
from trainc.api.documents import Manifest
from trainc.ir.env import endpoint_count, endpoints
from trainc.ir.info import Info
from trainc.ir.podset import Item, PodSet
from trainc.ir.trainjob import TrainJob
from trainc.plugins.mpi.implementations import HOSTFILE_DIR, HOSTFILE_NAME, implementation

# kubernetes/kubernetes pkg/apis/core/validation: MaxSecretSize, which bounds ConfigMaps too.
CONFIG_MAP_BYTES = 1024 * 1024
VOLUME = "mpi-hostfile"


def config_map_name(job: TrainJob) -> str:
    """Name of the ConfigMap that holds the hostfile."""
    return f"{job.name}-mpi-hostfile"


def is_too_large(job: TrainJob, info: Info) -> bool:
    """Whether the hostfile exceeds what a ConfigMap holds: each of its lines is at least as long as the first of its job."""
    line = implementation(info.policy("mpi") or {}).host_line
    firsts = ((pod_set, next(endpoints(pod_set, job, info), "")) for pod_set in _listed_pod_sets(info))
    return sum(endpoint_count(pod_set, info) * len(line(first, 1)) for pod_set, first in firsts) > CONFIG_MAP_BYTES


def count(info: Info) -> int:
    """How many hosts `config_map` writes."""
    return sum(endpoint_count(pod_set, info) for pod_set in _listed_pod_sets(info))


def volume(job: TrainJob) -> Item:
    """The launcher's volume, readable by everybody."""
    items = [{"key": HOSTFILE_NAME, "path": HOSTFILE_NAME, "mode": 0o444}]
    return {"name": VOLUME, "configMap": {"name": config_map_name(job), "items": items}}


def mount() -> Item:
    """Where the launcher finds it."""
    return {"name": VOLUME, "mountPath": HOSTFILE_DIR}


def config_map(job: TrainJob, info: Info, slots: int) -> Manifest:
    """Hosts in the order of the runtime's jobs, each on a line."""
    line = implementation(info.policy("mpi") or {}).host_line
    hosts = (host for pod_set in _listed_pod_sets(info) for host in endpoints(pod_set, job, info))
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": job.named(config_map_name(job)),
        "data": {HOSTFILE_NAME: "".join(line(host, slots) for host in hosts)},
    }


def _listed_pod_sets(info: Info) -> list[PodSet]:
    """Whose pods are hosts: the launcher's only where it runs training itself, or is alone.

    For an implementation that is '' the controller writes no host (mpi.go, buildHostFileConfigMap, since v2.1.0).
    """
    policy = info.policy("mpi") or {}
    if not (info.gitops or policy.get("mpiImplementation")):
        return []
    alone = info.gitops and info.pod_set_in_role(names.NODE) is None
    roles = (names.NODE, names.LAUNCHER) if policy.get("runLauncherAsNode") or alone else (names.NODE,)
    return [pod_set for pod_set in info.pod_sets if pod_set.role in roles]
