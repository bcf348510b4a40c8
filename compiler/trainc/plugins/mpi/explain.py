"""What `explain` says about MPI: nodes, keys, hostfile and slots."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.ir.devices import is_gpu
from trainc.kube import names
from trainc.plugins.mpi.passes import counts_gpus
from trainc.plugins.rows import (
    Ref,
    Row,
    Rows,
    RuntimeField,
    Situation,
    amount,
    fixed_rule,
    host_domain,
    job_name,
    ml_policy,
    namespace,
    nodes,
    pods_of,
    processes,
    trainjob,
)

_ON = ml_policy("mpi")
_CHOSEN = ml_policy("mpi", "mpiImplementation")
_AS_NODE = ml_policy("mpi", "runLauncherAsNode")
_KEYS_AT = ml_policy("mpi", "sshAuthMountPath")


def _launches(s: Situation) -> bool:
    return s.pod_set is not None and s.pod_set.role == names.LAUNCHER


def _pods(s: Situation) -> Iterator[Ref]:
    """Yield the inputs of the number of pods under `gitops`: numNodes includes the launcher if it is a node."""
    if _launches(s) and s.info.gitops:
        yield from fixed_rule("mpirun starts from one launcher")(s)
        return
    yield from nodes(s)
    if s.info.pod_set_in_role(names.LAUNCHER) is not None if s.info.gitops else (s.job.trainer.num_nodes or 0) > 1:
        yield RuntimeField(("spec", "mlPolicy", "mpi", "runLauncherAsNode"))


def _size_deviation(s: Situation) -> str:
    if _launches(s) or s.info.nodes.about == "runtime":
        return "mpi-nodes-size-the-nodes"
    return "mpi-one-node-is-one-host" if s.info.nodes.value == 1 and s.value == 0 else ""


def _successor(s: Situation) -> str:
    return "" if s.info.release.mpi_successors else "mpi-variables-of-open-mpi-5"


def _hosts(s: Situation) -> Iterator[Ref]:
    for pod_set in s.info.pod_sets:
        if pod_set.role == names.NODE:
            parallelism, replicas = pods_of(pod_set)
            yield parallelism
            if pod_set.count > 0 and (s.info.gitops or s.info.release.hostfile_counts_replicas):
                yield replicas
    if s.info.pod_set_in_role(names.LAUNCHER) is not None:
        yield from _AS_NODE(s)


def _mount(s: Situation) -> Iterator[Ref]:
    keys = (s.info.policy("mpi") or {}).get("sshAuthMountPath", "/root/.ssh")
    yield from _KEYS_AT(s) if keys in s.path else _ON(s)


def _slots(s: Situation) -> Iterator[Ref]:
    """Yield the inputs of slots per host: numProcPerNode, or the GPU count if that is 1 in the policy (since 2.1)."""
    yield from processes(s)
    if counts_gpus(s.info):
        yield from amount(s, is_gpu)


_account_name = trainjob("metadata", "name")


def _secret_name(s: Situation) -> Iterator[Ref]:
    """Yield the inputs of the Secret's name, which has no name hash if the keys exist already."""
    yield from job_name(s) if s.job.new_keys else _account_name(s)


_PASS = (
    Row("...template.spec.parallelism", (_pods,), lambda s: _size_deviation(s) if s.info.gitops else ""),
    Row("...template.spec.completions", (_pods,), lambda s: _size_deviation(s) if s.info.gitops else ""),
    Row("...volumes[mpi-ssh-auth].secret.secretName", (job_name,)),
    Row("...volumes[mpi-hostfile].configMap.name", (job_name,)),
    Row("...volumes[mpi-*]", (_ON,)),
    Row("...volumeMounts", (_mount,)),
    Row("...env[OMPI_MCA_orte_set_default_slots].value", (_slots,)),
    Row("...env[PRTE_MCA_prte_set_default_slots].value", (_slots,), _successor),
    Row("...env[I_MPI_PERHOST].value", (_slots,)),
    Row("...env[OMPI_*]", (_ON,)),
    Row("...env[PRTE_*]", (_ON,), _successor),
    Row("...env", (_CHOSEN,)),
    Row("...template.spec.template.spec.dnsConfig", (host_domain, namespace)),
)

_BUILD = (
    Row("metadata.name", (job_name,)),
    Row("metadata.namespace", (namespace,)),
    Row("data", (lambda s: (*host_domain(s), *_slots(s)) if s.value else (), _hosts)),
    Row("...", (_ON,)),
)

# Objects that generate the SSH key pair in the cluster, or contain a sealed one.
_SECRETS = (
    Row("metadata.name", (_secret_name,)),
    Row("metadata.namespace", (namespace,)),
    Row("spec.target.name", (_secret_name,)),
    Row("...generatorRef.name", (_secret_name,)),
    Row("rules.*.resourceNames", (_secret_name,)),
    Row("roleRef.name", (_account_name,)),
    Row("subjects.*.name", (_account_name,)),
    Row("subjects.*.namespace", (namespace,)),
    Row("spec.template.metadata.name", (_secret_name,)),
    Row("spec.template.metadata.namespace", (namespace,)),
    Row("...template.spec.serviceAccountName", (_account_name,)),
    Row("...env[SECRET_NAME].value", (_secret_name,)),
    Row("...containers[keygen].image", (fixed_rule("--keygen-image"), _ON)),
    Row("...", (_ON,)),
)

ROWS: Rows = {"enforce_ml_policy": _PASS, "build": _BUILD, "secrets": _SECRETS}
