"""MPI: nodes, keys, hostfile and slots."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.api import names
from trainc.explain.inputs.row import Row
from trainc.explain.processes import mpi_slots
from trainc.explain.readings import (
    because,
    host_domain,
    job_name,
    ml_policy,
    namespace,
    nodes,
    pods_of,
)
from trainc.explain.situation import InRuntime, Ref, Situation

_ON = ml_policy("mpi")
_CHOSEN = ml_policy("mpi", "mpiImplementation")
_AS_NODE = ml_policy("mpi", "runLauncherAsNode")
_KEYS_AT = ml_policy("mpi", "sshAuthMountPath")


def _launches(s: Situation) -> bool:
    return s.pod_set is not None and s.pod_set.role == names.LAUNCHER


def _pods(s: Situation) -> Iterator[Ref]:
    """`gitops`: one launcher, and hosts that count it where it is one."""
    if _launches(s) and s.info.gitops:
        yield from because("mpirun starts from one launcher")(s)
        return
    yield from nodes(s)
    asked = s.job.trainer.num_nodes if s.job.trainer else None
    if s.info.pod_set_in_role(names.LAUNCHER) is not None if s.info.gitops else (asked or 0) > 1:
        yield InRuntime(("spec", "mlPolicy", "mpi", "runLauncherAsNode"))


def _sized(s: Situation) -> str:
    if _launches(s):
        return "mpi-nodes-size-the-nodes"
    asked = s.job.trainer.num_nodes if s.job.trainer else None
    if asked is None:
        return "mpi-nodes-size-the-nodes"
    return "mpi-one-node-is-one-host" if asked == 1 and s.value == 0 else ""


def _hosts(s: Situation) -> Iterator[Ref]:
    for pod_set in s.info.pod_sets:
        if pod_set.role == names.NODE:
            parallelism, replicas = pods_of(pod_set)
            yield parallelism
            if pod_set.count > 0 and (s.info.gitops or s.info.release.hostfile_counts_replicas):
                yield replicas
    if s.info.pod_set_in_role(names.LAUNCHER) is not None:
        yield from _AS_NODE(s)


def _lines(s: Situation) -> Iterator[Ref]:
    """What every line of the hostfile says, if there is one."""
    if s.value:
        yield from (*host_domain(s), *mpi_slots(s))


def _mount(s: Situation) -> Iterator[Ref]:
    keys = (s.info.policy("mpi") or {}).get("sshAuthMountPath", "/root/.ssh")
    yield from _KEYS_AT(s) if keys in s.path else _ON(s)


PASS = (
    Row("...template.spec.parallelism", (_pods,), lambda s: _sized(s) if s.info.gitops else ""),
    Row("...template.spec.completions", (_pods,), lambda s: _sized(s) if s.info.gitops else ""),
    Row("...volumes[mpi-ssh-auth].secret.secretName", (job_name,)),
    Row("...volumes[mpi-hostfile].configMap.name", (job_name,)),
    Row("...volumes[mpi-*]", (_ON,)),
    Row("...volumeMounts", (_mount,)),
    Row("...env[OMPI_MCA_orte_set_default_slots].value", (mpi_slots,)),
    Row("...env[I_MPI_PERHOST].value", (mpi_slots,)),
    Row("...env[OMPI_*]", (_ON,)),
    Row("...env", (_CHOSEN,)),
    Row("...template.spec.template.spec.dnsConfig", (host_domain, namespace)),
)

BUILD = (
    Row("metadata.name", (job_name,)),
    Row("metadata.namespace", (namespace,)),
    Row("data", (_lines, _hosts)),
    Row("...", (_ON,)),
)
