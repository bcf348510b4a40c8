"""Environment variables that plugins inject, variables of TrainJobs as the controller copies them, and rendezvous."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from trainc.api import names
from trainc.diagnostics import Finding
from trainc.ir.info import Info
from trainc.ir.podset import Item, PodSet, controller_port_match, port_match
from trainc.ir.trainjob import Trainer, TrainJob
from trainc.options import Semantics

EnvVar = Mapping[str, Any]


def literal(name: str, value: str | int) -> EnvVar:
    """Return a variable with a fixed value."""
    return {"name": name, "value": str(value)}


def completion_index(name: str) -> EnvVar:
    """Return a variable with the pod's completion index, which is its rank. Requires an Indexed job."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": names.COMPLETION_INDEX}}}


def trainer_env(job: TrainJob, semantics: Semantics) -> tuple[EnvVar, ...]:
    """Return the variables of `spec.trainer.env` as they end up in a container."""
    return carry_over(job.trainer.env, semantics) if job.trainer else ()


def carry_over(variables: Iterable[EnvVar], semantics: Semantics) -> tuple[EnvVar, ...]:
    """Return variables of a TrainJob as they end up in a container.

    The controller copies only the sources that it knows, so `fieldRef.apiVersion` and `fileKeyRef` are lost and
    resource divisors become explicit (kubeflow/trainer pkg/apply/apply.go EnvVar, all releases). `gitops` keeps them.
    """
    return tuple(_carried(v, semantics == "gitops") for v in variables)


_KNOWN_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef")
_ALL_SOURCES = (*_KNOWN_SOURCES, "fileKeyRef")


def _carried(variable: EnvVar, whole: bool) -> EnvVar:
    source = variable.get("valueFrom")
    if source is None:
        return {"name": variable["name"], "value": variable.get("value", "")}
    sources = _ALL_SOURCES if whole else _KNOWN_SOURCES
    kept = {kind: _reference(kind, source[kind], whole) for kind in sources if kind in source}
    return {"name": variable["name"], "valueFrom": kept}


def _reference(kind: str, reference: EnvVar, whole: bool) -> EnvVar:
    if kind == "fieldRef" and not whole:
        return {"fieldPath": reference["fieldPath"]}
    if kind == "resourceFieldRef":
        return {"containerName": "", "divisor": "0", **reference}
    return reference


# Rendezvous: the address and port of rank 0.


PORT: Item = {"containerPort": names.TRAINER_PORT}


def subdomain(job: TrainJob, info: Info) -> str:
    """Return the headless Service in the pods' DNS names: `network.subdomain`, or else the name of the job."""
    network = info.template.get("network") or {}
    return str(network.get("subdomain") or job.name)


def master_host(job: TrainJob, info: Info) -> str:
    """Return the DNS name of rank 0.

    The controller always uses `<job>-node-0-0.<job>`, even if the replicated job or subdomain has another name
    (kubeflow/trainer torch.go, jax.go, xgboost.go). `gitops` uses the name of the actual pod.
    """
    trainer = info.trainer
    if info.gitops and trainer is not None:
        return names.first_host(job.name, trainer.name, subdomain(job, info))
    return names.first_host(job.name, names.NODE, job.name)


def endpoints(pod_set: PodSet, job: TrainJob, info: Info) -> Iterator[str]:
    """Yield the DNS name of every pod of a pod set. Up to 2.2, the controller only knows the first replica."""
    domain = subdomain(job, info)
    for replica in range(_replicas(pod_set, info)):
        for index in range(pod_set.count):
            yield f"{names.pod_host(job.name, pod_set.name, replica, index)}.{domain}"


def endpoint_count(pod_set: PodSet, info: Info) -> int:
    """Return the number of endpoints, without listing them."""
    return _replicas(pod_set, info) * max(pod_set.count, 0)


def _replicas(pod_set: PodSet, info: Info) -> int:
    return pod_set.replicas if info.release.hostfile_counts_replicas or info.gitops else 1


def with_rendezvous(info: Info, env: Iterable[EnvVar]) -> Info:
    """Add the rendezvous variables and port to the trainer container.

    The controller treats any two unnamed ports as the same port, and so overwrites the first one; `gitops` keeps both.
    """
    same = port_match if info.gitops else controller_port_match
    return info.with_trainer_container(lambda container: container.with_env(env).with_ports(({**PORT},), same))


def reserved_env(trainer: Trainer, reserved: AbstractSet[str], purpose: str) -> Iterator[Finding]:
    """Report each variable of `spec.trainer.env` whose name is in `reserved`."""
    for index, variable in enumerate(trainer.env):
        if variable["name"] in reserved:
            yield Finding(
                "ReservedEnv",
                "error",
                f"{variable['name']} is reserved: Trainer sets it for {purpose}",
                hint="remove the variable; its value comes from numNodes, numProcPerNode and the runtime's mlPolicy",
                path=("spec", "trainer", "env", index),
            )
