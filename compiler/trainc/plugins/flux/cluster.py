"""The Flux cluster of a job: its hosts, lead broker and size, and the settings that it reads from variables."""

from __future__ import annotations

from trainc.api import names
from trainc.ir.devices import gpus, resources_per_node
from trainc.ir.env import subdomain
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.startup.records import dataclass

_DEFAULTS = {
    "FLUX_VIEW_IMAGE": "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy",
    "FLUX_NETWORK_DEVICE": "eth0",
    "FLUX_QUEUE_POLICY": "fcfs",
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """The input of the scripts. `gpus` is the number of devices per node, `domain` the DNS suffix of the hosts."""

    host_prefix: str
    domain: str
    nodes: int
    processes: int
    gpus: int
    image: str
    network_device: str
    queue_policy: str
    words_kept: bool
    shares_gpus: bool

    @property
    def hosts(self) -> str:
        """All hosts as a Flux host list: `job-node-0-[0-3]`."""
        return f"{self.host_prefix}-[{_span(self.nodes)}]"

    @property
    def lead(self) -> str:
        """The hostname of the lead broker."""
        return f"{self.host_prefix}-0"

    @property
    def resources(self) -> str:
        """Cores and devices per host, as options of `flux R encode`."""
        cores = f"--cores={_span(self.processes)}"
        return f"{cores} --gpu={_span(self.gpus)}" if self.gpus else cores

    @property
    def run_flags(self) -> str:
        """Nodes, tasks and devices per task, as options of `flux run`."""
        flags = f"-N {self.nodes} -n {self.processes * self.nodes}"
        return f"{flags} -g {self.gpus_per_task}" if self.gpus else flags

    @property
    def gpus_per_task(self) -> int:
        """Devices per task. The controller gives each task all devices of the node, so that only one task fits."""
        return max(1, self.gpus // max(1, self.processes)) if self.shares_gpus else self.gpus


def cluster(job: TrainJob, info: Info) -> Cluster:
    """Return the cluster of a TrainJob.

    The controller assumes that the replicated job is `node` and that the subdomain is the job's name; `gitops` uses the
    real ones.
    """
    settings = _settings(job, info)
    node = info.pod_set_in_role(names.NODE)
    requested_nodes = job.trainer.num_nodes if job.trainer else None
    requested_processes = job.trainer.num_proc_per_node if job.trainer else None
    domain = subdomain(job, info) if info.gitops else job.name
    return Cluster(
        host_prefix=f"{job.name}-{node.name if node and info.gitops else names.NODE}-0",
        domain=f"{domain}.{job.namespace}.svc.{info.cluster_domain}" if job.namespace else domain,
        nodes=requested_nodes if requested_nodes is not None else (node.count if node else 1),
        processes=requested_processes
        if isinstance(requested_processes, int)
        else (info.policy("flux") or {}).get("numProcPerNode", 1),
        gpus=gpus(resources_per_node(job, info)),
        image=settings["FLUX_VIEW_IMAGE"],
        network_device=settings["FLUX_NETWORK_DEVICE"],
        queue_policy=settings["FLUX_QUEUE_POLICY"],
        words_kept=info.gitops,
        shares_gpus=info.gitops,
    )


def _settings(job: TrainJob, info: Info) -> dict[str, str]:
    """Return the settings: defaults, then the runtime's variables, then the TrainJob's.

    A variable with `valueFrom` is ignored in the runtime, and counts as empty in the TrainJob.
    """
    settings = dict(_DEFAULTS)
    container = info.trainer_container
    for variable in container.env if container else ():
        if variable["name"] in settings and "valueFrom" not in variable:
            settings[variable["name"]] = variable.get("value", settings[variable["name"]])
    for variable in job.trainer.env if job.trainer else ():
        if variable["name"] in settings:
            settings[variable["name"]] = variable.get("value", "")
    return settings


def _span(size: int) -> str:
    return "0" if size == 1 else f"0-{size - 1}"
