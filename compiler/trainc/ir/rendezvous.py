"""Where the pods of a job meet: the address and port of rank 0."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trainc.api import names
from trainc.ir.env import EnvVar
from trainc.ir.info import Info
from trainc.ir.keyed import Item, controller_port_match, port_match
from trainc.ir.podset import PodSet
from trainc.ir.trainjob import TrainJob

PORT: Item = {"containerPort": names.TRAINER_PORT}


def subdomain(job: TrainJob, info: Info) -> str:
    """The headless Service that the pods' DNS names end in: `network.subdomain`, else the job's name."""
    network = info.template.get("network") or {}
    return str(network.get("subdomain") or job.name)


def master_host(job: TrainJob, info: Info) -> str:
    """DNS name of rank 0.

    The controller writes `<job>-node-0-0.<job>` whatever the trainer's job and subdomain are called
    (kubeflow/trainer torch.go, jax.go, xgboost.go); `gitops` names the pod that will exist.
    """
    trainer = info.trainer
    if info.gitops and trainer is not None:
        return names.first_host(job.name, trainer.name, subdomain(job, info))
    return names.first_host(job.name, names.NODE, job.name)


def endpoints(pod_set: PodSet, job: TrainJob, info: Info) -> Iterator[str]:
    """The DNS name of every pod of a pod set, replica by replica. Until 2.2 the controller knows the first only."""
    domain = subdomain(job, info)
    replicas = pod_set.replicas if info.release.hostfile_counts_replicas or info.gitops else 1
    for replica in range(replicas):
        for index in range(pod_set.count):
            yield f"{names.pod_host(job.name, pod_set.name, replica, index)}.{domain}"


def with_rendezvous(info: Info, env: Iterable[EnvVar]) -> Info:
    """The trainer container with the variables by which the pods meet, and the rendezvous port open.

    The controller takes any two unnamed ports for one and so overwrites the first unnamed one; `gitops` keeps both.
    """
    same = port_match if info.gitops else controller_port_match
    return info.with_trainer_container(lambda container: container.with_env(env).with_ports(({**PORT},), same))
