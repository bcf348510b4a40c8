"""The passes of MPI: hosts, SSH and slots, so that mpirun on the launcher reaches every node.

Source: kubeflow/trainer pkg/runtime/framework/plugins/mpi.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from trainc.findings import Finding, Path, Severity, write
from trainc.ir.devices import ambiguous_gpus, gpus, resources_per_node
from trainc.ir.info import Container, Info, PodSet, ProvidedSecret
from trainc.ir.trainjob import TrainJob, subdomain
from trainc.kube import names
from trainc.kube.documents import Json, Manifest
from trainc.plugins.mpi import hosts
from trainc.plugins.mpi.hosts import implementation
from trainc.plugins.plugin import Passes

# Checks for fields of an MPI policy that have no effect with the runtime in question.
#
# Source: kubeflow/trainer pkg/runtime/framework/plugins/mpi (EnforceMLPolicy), which supports only OpenMPI.


_POLICY: Path = ("spec", "mlPolicy", "mpi")


def ignored_fields(info: Info, policy: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a finding for an empty implementation, and one for runLauncherAsNode without a launcher."""
    launcher = info.pod_set_in_role(names.LAUNCHER)
    if policy.get("mpiImplementation") == "" and (info.gitops or not _fails_at_launcher(info)):
        yield _missing_implementation("error" if info.gitops and launcher is not None else "warning")
    if policy.get("runLauncherAsNode") and launcher is None:
        message = "runLauncherAsNode has no effect: the runtime has no job 'launcher'"
        hint = "add a job called launcher, or remove the field"
        yield Finding("FieldIgnored", "warning", message, hint, (*_POLICY, "runLauncherAsNode"), about="runtime")


def unnamed_launcher(info: Info, policy: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield an error for an empty implementation, if the launcher has the container at which the controller fails."""
    if policy.get("mpiImplementation") == "" and _fails_at_launcher(info):
        yield _missing_implementation("error")


def _fails_at_launcher(info: Info) -> bool:
    launcher = info.pod_set_in_role(names.LAUNCHER)
    return launcher is not None and any(container.name == launcher.main for container in launcher.containers)


def _missing_implementation(severity: Severity) -> Finding:
    message = "mpiImplementation is empty: the controller creates nothing for such a job with a launcher"
    hint = write("OpenMPI", ", or remove the field", field="mpiImplementation")
    return Finding("UnsupportedValue", severity, message, hint, (*_POLICY, "mpiImplementation"), about="runtime")


# The DNS search domain that lets pods resolve each other's bare hostnames, as Intel MPI and MPICH require.


def missing_namespace(job: TrainJob, name: str) -> Iterator[Finding]:
    """Yield an error if the job has no namespace, which is part of the search domain. `name` is the implementation's."""
    if not job.namespace:
        yield Finding(
            "NamespaceMissing",
            "error",
            f"{name} needs the namespace of the job for the pods' DNS search domain, and the TrainJob has none",
            "set metadata.namespace, or compile with --namespace",
            ("metadata", "namespace"),
        )


def with_search_domain(pod_set: PodSet, job: TrainJob, info: Info) -> PodSet:
    """Return the pod set with the job's domain after the template's own search domains."""
    config = info.pod_spec(pod_set.name).get("dnsConfig") or {}
    domain = f"{subdomain(job, info)}.{job.namespace}.svc.{info.cluster_domain}"
    searches = [*config.get("searches", ()), domain]
    return pod_set.with_pod_fields(dnsConfig={**config, "searches": list(dict.fromkeys(searches))})


# Slots: the number of processes that mpirun may start on each host.


def slots_per_node(job: TrainJob, info: Info) -> int:
    """Return numProcPerNode of the TrainJob, else of the policy; since 2.1, the GPU count if the policy's is 1."""
    if counts_gpus(job, info):
        return max(1, gpus(resources_per_node(job, info)))
    return _requested_slots(job, info)


def counts_gpus(job: TrainJob, info: Info) -> bool:
    """Return whether the slots are the node's GPU count."""
    set_by_job = job.trainer.num_proc_per_node is not None
    return info.release.mpi_slots_from_gpus and not set_by_job and _requested_slots(job, info) == 1


def _requested_slots(job: TrainJob, info: Info) -> int:
    requested = job.trainer.num_proc_per_node
    slots: int = requested if isinstance(requested, int) else (info.policy("mpi") or {}).get("numProcPerNode", 1)
    return slots


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
    if isinstance(job.trainer.num_proc_per_node, str):
        yield Finding(
            "InvalidNumProcPerNode",
            "error",
            f"numProcPerNode is {job.trainer.num_proc_per_node!r}; MPI needs a number of slots per node",
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
    requested = job.trainer.num_nodes
    node = info.pod_set_in_role(names.NODE)
    both = node is not None and info.pod_set_in_role(names.LAUNCHER) is not None
    nodes = requested or 1
    if info.gitops and requested is None:
        nodes = info.nodes if info.nodes is not None else node.count if node else 1
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
    requested, nodes = job.trainer.num_nodes, info.nodes
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
    requested = job.trainer.num_nodes
    # Count hosts, not the requested nodes: the controller does not always size the job that the hostfile lists.
    sized = _set_size(job, info, bool(policy.get("runLauncherAsNode")))
    if hosts.is_too_large(job, sized):
        yield Finding(
            "HostfileTooLarge",
            "error",
            f"a hostfile with {hosts.count(sized)} hosts is larger than the 1 MiB that a ConfigMap can hold",
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
        return _sized_by_policy(info, launcher_is_node)
    if node is None or job.trainer.num_nodes is None:
        return info
    nodes = job.trainer.num_nodes
    return info.with_pod_set(node.with_count(max(nodes - 1, 1) if launcher_is_node else nodes))


def _sized_by_policy(info: Info, launcher_is_node: bool) -> Info:
    """Set sizes under `gitops`: numNodes, of the TrainJob or the policy, counts hosts and never multiplies the launcher."""
    node, launcher = info.pod_set_in_role(names.NODE), info.pod_set_in_role(names.LAUNCHER)
    if launcher is not None:
        info = info.with_pod_set(launcher.with_count(1))
    if node is None or info.nodes is None:
        return info
    starts_here = launcher_is_node and launcher is not None
    return info.with_pod_set(node.with_count(info.nodes - 1 if starts_here else info.nodes))


def _configure(pod_set: PodSet, job: TrainJob, policy: Json, info: Info, slots: int) -> PodSet:
    chosen = implementation(policy)
    launches = pod_set.role == names.LAUNCHER
    pod_set = pod_set.with_volumes(hosts.volumes(job, info))
    if launches:
        pod_set = pod_set.with_volumes((hosts.volume(job),))
    if chosen.hydra:
        pod_set = with_search_domain(pod_set, job, info)

    def equip(container: Container) -> Container:
        container = container.with_mounts((hosts.ssh_mount(policy),))
        if not launches:
            return container.with_env(chosen.role_env("worker"))
        return container.with_mounts((hosts.mount(),)).with_env(chosen.launcher_env(slots))

    return pod_set.with_main(equip)


def build(job: TrainJob, policy: Json, info: Info) -> Iterator[Manifest]:
    """Yield the hostfile's ConfigMap. The Secret with the SSH keys is never built: see `secrets`."""
    yield hosts.config_map(job, info, slots_per_node(job, info))


def secrets(job: TrainJob, policy: Json, info: Info) -> Iterator[ProvidedSecret]:
    """Yield the Secret with the SSH key pair, which all launcher and node pods mount."""
    yield hosts.provided_secret(job)


PASSES = Passes(
    validate=validate,
    reserved=reserved,
    build_failures=build_failures,
    enforce_ml_policy=enforce_ml_policy,
    build=build,
    secrets=secrets,
)
