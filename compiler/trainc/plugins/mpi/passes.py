"""The passes of MPI: hosts, SSH and slots, so that mpirun on the launcher reaches every node.

Source: kubeflow/trainer pkg/runtime/framework/plugins/mpi.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from trainc.api import names
from trainc.api.documents import Json, Manifest
from trainc.diagnostics import Finding
from trainc.ir.devices import ambiguous_gpus
from trainc.ir.info import Info
from trainc.ir.podset import Container, PodSet
from trainc.ir.provided_secret import ProvidedSecret
from trainc.ir.trainjob import TrainJob
from trainc.plugins.mpi import hostfile, ssh
from trainc.plugins.mpi.implementations import implementation
from trainc.plugins.mpi.policy_checks import ignored_fields, unnamed_launcher
from trainc.plugins.mpi.search_domain import missing_namespace, with_search_domain
from trainc.plugins.mpi.slots import counts_gpus, slots_per_node
from trainc.plugins.plugin import Passes


def validate(job: TrainJob, policy: Json, info: Info) -> Iterator[Finding]:
    """Yield findings about the policy, the runtime's launcher and node jobs, the number of hosts, and the slots."""
    if info.gitops and counts_gpus(job, info):
        yield from ambiguous_gpus(job, info)
    yield from ignored_fields(info, policy)
    yield from _too_many_hosts(job, policy, info)
    yield from _missing_part(job, info, policy)
    yield from _no_nodes(job, info, policy)
    if implementation(policy).hydra:
        yield from missing_namespace(job, implementation(policy).name)
    trainer = job.trainer
    if trainer is not None and isinstance(trainer.num_proc_per_node, str):
        yield Finding(
            "InvalidNumProcPerNode",
            "error",
            f"numProcPerNode is {trainer.num_proc_per_node!r}; MPI needs a number of slots per node",
            "write a number without quotes, such as numProcPerNode: 8",
            ("spec", "trainer", "numProcPerNode"),
        )


def reserved(job: TrainJob, policy: Json, info: Info) -> AbstractSet[str]:
    """Return the implementation's variables for mpirun, in releases that reserve them."""
    return implementation(policy).reserved if info.release.mpi_env_reserved or info.gitops else frozenset()


def build_failures(job: TrainJob, policy: Json, info: Info) -> Iterator[Finding]:
    """Yield an error for an empty implementation, which the schema allows since 2.1: the controller fails on it."""
    yield from unnamed_launcher(info, policy)


def _missing_part(job: TrainJob, info: Info, policy: Json) -> Iterator[Finding]:
    """Yield an error for several nodes without a launcher, or for a launcher without nodes.

    Upstream checks this only if the TrainJob sets numNodes and the launcher is a node.
    """
    requested = job.trainer.num_nodes if job.trainer else None
    node = info.pod_set_in_role(names.NODE)
    both = node is not None and info.pod_set_in_role(names.LAUNCHER) is not None
    nodes = requested or 1
    if info.gitops and requested is None:
        nodes = (info.ml_policy or {}).get("numNodes", node.count if node else 1)
    if both or nodes < 2 or not (info.gitops or policy.get("runLauncherAsNode")):
        return
    yield Finding(
        "MissingLauncher",
        "error",
        f"{nodes} nodes need a job 'launcher', which runs mpirun, and a job 'node', where mpirun starts the processes",
        "add the missing job to the runtime, or set numNodes to 1",
        ("spec", "trainer", "numNodes") if requested is not None else ("spec", "runtimeRef"),
    )


def _no_nodes(job: TrainJob, info: Info, policy: Json) -> Iterator[Finding]:
    """Yield an error if numNodes is 0 and the launcher is a node, because it counts as one. `gitops` only."""
    requested = job.trainer.num_nodes if job.trainer else None
    nodes = requested if requested is not None else (info.ml_policy or {}).get("numNodes")
    if not info.gitops or not policy.get("runLauncherAsNode") or nodes is None or nodes > 0:
        return
    yield Finding(
        "NoNodes",
        "error",
        f"numNodes is {nodes}, but the launcher is a node itself and counts as one of them",
        "set numNodes to 1 or more, or set suspend: true to hold the job back",
        ("spec", "trainer", "numNodes") if requested is not None else ("spec", "mlPolicy", "numNodes"),
        about="trainjob" if requested is not None else "runtime",
    )


def _too_many_hosts(job: TrainJob, policy: Json, info: Info) -> Iterator[Finding]:
    requested = job.trainer.num_nodes if job.trainer else None
    # Count hosts, not the requested nodes: the controller does not always size the job that the hostfile lists.
    sized = _set_size(job, info, bool(policy.get("runLauncherAsNode")))
    if hostfile.is_too_large(job, sized):
        yield Finding(
            "HostfileTooLarge",
            "error",
            f"a hostfile with {hostfile.count(sized)} hosts is larger than the 1 MiB that a ConfigMap can hold",
            "use fewer and larger nodes, or split the job",
            ("spec", "trainer", "numNodes") if requested is not None else ("spec", "runtimeRef"),
        )


def enforce_ml_policy(job: TrainJob, policy: Json, info: Info) -> Info:
    """Size the nodes, mount the keys and the hostfile, and set mpirun's variables on the launcher."""
    info = _set_size(job, info, bool(policy.get("runLauncherAsNode")))
    slots = slots_per_node(job, info)
    for pod_set in info.pod_sets:
        if pod_set.role:
            info = info.with_pod_set(_configure(pod_set, job, policy, info, slots))
    return info


def _set_size(job: TrainJob, info: Info, launcher_is_node: bool) -> Info:
    node = info.pod_set_in_role(names.NODE)
    if info.gitops:
        return _sized_by_policy(job, info, launcher_is_node)
    if node is None or job.trainer is None or job.trainer.num_nodes is None:
        return info
    nodes = job.trainer.num_nodes
    return info.with_pod_set(node.with_count(max(nodes - 1, 1) if launcher_is_node else nodes))


def _sized_by_policy(job: TrainJob, info: Info, launcher_is_node: bool) -> Info:
    """Set sizes under `gitops`: numNodes, of the TrainJob or the policy, counts hosts and never multiplies the launcher."""
    node, launcher = info.pod_set_in_role(names.NODE), info.pod_set_in_role(names.LAUNCHER)
    requested = job.trainer.num_nodes if job.trainer else None
    nodes = requested if requested is not None else (info.ml_policy or {}).get("numNodes")
    if launcher is not None:
        info = info.with_pod_set(launcher.with_count(1))
    if node is None or nodes is None:
        return info
    return info.with_pod_set(node.with_count(nodes - 1 if launcher_is_node and launcher is not None else nodes))


def _configure(pod_set: PodSet, job: TrainJob, policy: Json, info: Info, slots: int) -> PodSet:
    chosen = implementation(policy)
    launches = pod_set.role == names.LAUNCHER
    pod_set = pod_set.with_volumes(ssh.volumes(job, info))
    if launches:
        pod_set = pod_set.with_volumes((hostfile.volume(job),))
    if chosen.hydra:
        pod_set = with_search_domain(pod_set, job, info)

    def equip(container: Container) -> Container:
        container = container.with_mounts((ssh.mount(policy),))
        if not launches:
            return container.with_env(chosen.role_env("worker"))
        return container.with_mounts((hostfile.mount(),)).with_env(chosen.launcher_env(slots))

    return pod_set.with_main(equip)


def build(job: TrainJob, policy: Json, info: Info) -> Iterator[Manifest]:
    """Yield the hostfile's ConfigMap. The Secret with the SSH keys is never built: see `secrets`."""
    yield hostfile.config_map(job, info, slots_per_node(job, info))


def secrets(job: TrainJob, policy: Json, info: Info) -> Iterator[ProvidedSecret]:
    """Yield the Secret with the SSH key pair, which all launcher and node pods mount."""
    yield ssh.provided_secret(job)


PASSES = Passes(
    validate=validate,
    reserved=reserved,
    build_failures=build_failures,
    enforce_ml_policy=enforce_ml_policy,
    build=build,
    secrets=secrets,
)
