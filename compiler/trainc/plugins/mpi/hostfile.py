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
