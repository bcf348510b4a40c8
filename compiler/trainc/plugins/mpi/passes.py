"""The passes of MPI: hosts, SSH and slots, so that mpirun on the launcher reaches every node.

Source: kubeflow/trainer pkg/runtime/framework/plugins/mpi.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set as AbstractSet
from types import MappingProxyType

from trainc.findings import Finding, Path, Severity, write
from trainc.ir.entrypoints import ambiguous_gpus, gpus, resources_per_node
from trainc.ir.info import Container, Info, Item, PodSet, ProvidedSecret, launcher_is_node
from trainc.ir.provenance import derived, with_deviation
from trainc.ir.trainjob import EnvVariable, TrainJob, endpoint_count, endpoints, literal, subdomain
from trainc.kube import names
from trainc.kube.documents import Json, Manifest
from trainc.plugins.plugin import Passes
from trainc.startup.records import dataclass
from trainc.startup.typing import Any

# The MPI implementations and their differences: hostfile lines, variables, reserved names, and callback addresses.
#
# Source: kubeflow/trainer pkg/runtime/framework/plugins/mpi for OpenMPI; kubeflow/mpi-operator
# pkg/controller/mpi_job_controller.go at caa3c47f for Intel MPI and MPICH, which Trainer does not have.


HOSTFILE_DIR = "/etc/mpi"
HOSTFILE_NAME = "hostfile"
HOSTFILE = f"{HOSTFILE_DIR}/{HOSTFILE_NAME}"
_ROLE = "K_MPI_JOB_ROLE"
# The pods of a job start together, so a node's sshd may not listen yet when the launcher connects.
_SSH_ARGS = "-o ConnectionAttempts=10"


@dataclass(frozen=True, slots=True)
class Implementation:
    """An MPI implementation: the form of its hostfile lines, and the variables that its mpirun needs.

    The variable `{}` is the number of slots. `successors` are what newer versions read instead of `variables`, and older
    ones ignore. `hydra` is the process manager of Intel MPI and MPICH. With it, nodes connect back to the launcher by its
    bare hostname, and mpi-operator's images read the role of the pod from a variable.
    """

    name: str
    line: str
    variables: Mapping[str, str]
    successors: Mapping[str, str] = MappingProxyType({})
    hydra: bool = False

    def host_line(self, host: str, slots: int) -> str:
        """Return the line of the hostfile for a host."""
        return self.line.format(host, slots)

    def launcher_env(
        self, slots: int, own: Iterable[Item], info: Info, chosen: str | None = None
    ) -> tuple[EnvVariable, ...]:
        """Return the launcher's variables for nodes with this number of slots; `chosen` is the field that chose this one.

        Where only `gitops` adds the successors, the launcher's `own` variables take precedence over them.
        """
        taken = set() if info.release.mpi_successors else {variable.get("name") for variable in own}
        added = {name: value for name, value in self.successors_in(info).items() if name not in taken}
        successors = self._literals(added, slots, chosen)
        if info.traced and not info.release.mpi_successors:
            successors = with_deviation(successors, "mpi-variables-of-open-mpi-5")
        return (*self.role_env("launcher", chosen), *self._literals(self.variables, slots, chosen), *successors)

    def _literals(self, values: Mapping[str, str], slots: int, chosen: str | None) -> list[EnvVariable]:
        chosen = chosen if self.hydra else None
        return [
            literal(derived(name, chosen), slots if value == "{}" else derived(value, chosen))
            for name, value in values.items()
        ]

    def successors_in(self, info: Info) -> Mapping[str, str]:
        """Return the variables for newer versions: those of the release's controller, and always under `gitops`."""
        return self.successors if info.release.mpi_successors or info.gitops else {}

    def role_env(self, role: str, chosen: str | None = None) -> list[EnvVariable]:
        """Return the variable with the pod's role, if the implementation's images need one."""
        return self._literals({_ROLE: role}, 1, chosen) if self.hydra else []

    def reserved(self, info: Info) -> frozenset[str]:
        """Return the variables that a TrainJob must not set."""
        role = [variable["name"] for variable in self.role_env("")]
        return frozenset((*role, *self.variables, *(self.successors if info.release.mpi_successors else ())))


def implementation(policy: Mapping[str, Any]) -> Implementation:
    """Return the implementation that a policy selects; OpenMPI by default."""
    return _IMPLEMENTATIONS[policy.get("mpiImplementation") or "OpenMPI"]


_IMPLEMENTATIONS = {
    mpi.name: mpi
    for mpi in (
        Implementation(
            "OpenMPI",
            "{} slots={}\n",
            {
                "OMPI_MCA_orte_default_hostfile": HOSTFILE,
                "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
                "OMPI_MCA_orte_set_default_slots": "{}",
                "OMPI_MCA_plm_rsh_args": _SSH_ARGS,
            },
            # Open MPI 5 replaced ORTE with PRTE. To PRTE, a host with its full name is not the one it runs on
            # (kubeflow/trainer#4028), so the names are cut to compare them; ssh gets them whole.
            {
                "PRTE_MCA_prte_default_hostfile": HOSTFILE,
                "PRTE_MCA_prte_keep_fqdn_hostnames": "false",
                "PRTE_MCA_prte_set_default_slots": "{}",
                "PRTE_MCA_plm_ssh_args": _SSH_ARGS,
            },
        ),
        Implementation(
            "Intel",
            "{}:{}\n",
            {
                "I_MPI_HYDRA_HOST_FILE": HOSTFILE,
                "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": _SSH_ARGS,
                "I_MPI_PERHOST": "{}",
            },
            hydra=True,
        ),
        Implementation(
            "MPICH", "{}:{}\n", {"HYDRA_HOST_FILE": HOSTFILE, "HYDRA_LAUNCH_EXTRA_ARGS": _SSH_ARGS}, hydra=True
        ),
    )
}


# The hostfile, in a ConfigMap that the launcher mounts.

# kubernetes/kubernetes pkg/apis/core/validation: MaxSecretSize, which bounds ConfigMaps too.
CONFIG_MAP_BYTES = 1024 * 1024
_HOSTFILE_VOLUME = "mpi-hostfile"


def _config_map_name(job: TrainJob) -> str:
    return derived(f"{job.name}-mpi-hostfile", job.name)


def _host_pod_sets(info: Info) -> list[PodSet]:
    """Return the pod sets whose pods the hostfile lists.

    The controller lists none if the implementation is '' (mpi.go, buildHostFileConfigMap, since v2.1.0), and no launcher that
    is alone without being a node.
    """
    listed = launcher_is_node(info.ml_policy) or info.pod_set_in_role(names.NODE) is not None
    return info.mpi_hosts if info.gitops or (listed and (info.policy("mpi") or {}).get("mpiImplementation")) else []


# The SSH key pair with which mpirun logs in, mounted from a Secret that trainc names but never fills.

_SSH_VOLUME = "mpi-ssh-auth"
# (key in the Secret, file name, mode). The private key is group-readable for runtimes that run as non-root.
_FILES = (
    ("ssh-privatekey", "id_rsa", 0o640),
    ("ssh-publickey", "id_rsa.pub", 0o644),
    ("ssh-publickey", "authorized_keys", 0o644),
)
_DEFAULT_MODE = 0o400


def _secret_name(job: TrainJob) -> str:
    name = job.name if job.new_keys else job.plain_name
    return derived(f"{name}-mpi-ssh-auth", name)


def _ssh_volume(job: TrainJob, info: Info) -> Item:
    """Return the volume with the key pair; releases since 2.3 set file modes."""
    modes = info.release.mpi_file_modes
    items = [{"key": key, "path": path, **({"mode": mode} if modes else {})} for key, path, mode in _FILES]
    secret = {"secretName": _secret_name(job), "items": items, **({"defaultMode": _DEFAULT_MODE} if modes else {})}
    return {"name": _SSH_VOLUME, "secret": secret}


# Slots: the number of processes that mpirun may start on each host.


def slots_per_node(job: TrainJob, info: Info) -> int:
    """Return numProcPerNode of the TrainJob, else of the policy; since 2.1, the GPU count if the policy's is 1."""
    if counts_gpus(info):
        devices = gpus(resources_per_node(job, info))
        rule = "" if info.processes.path else _UNSET
        return info.made(max(1, devices), info.processes.value, devices, rule=rule)
    slots = info.processes.value
    return slots if isinstance(slots, int) else info.made(1, rule=_UNSET)  # Validation has refused words.


_UNSET = "numProcPerNode is not set: 1"


def counts_gpus(info: Info) -> bool:
    """Return whether the slots are the node's GPU count."""
    processes = info.processes
    return info.release.mpi_slots_from_gpus and processes.about == "runtime" and processes.value in (None, 1)


# Validation.


_POLICY: Path = ("spec", "mlPolicy", "mpi")


def validate(job: TrainJob, policy: Json, info: Info) -> Iterator[Finding]:
    """Yield findings about the policy, the runtime's launcher and node jobs, the number of hosts, and the slots."""
    launcher = info.pod_set_in_role(names.LAUNCHER)
    if info.gitops and counts_gpus(info):
        yield from ambiguous_gpus(job, info)
    if policy.get("mpiImplementation") == "" and (info.gitops or not _fails_at_launcher(info)):
        yield _missing_implementation("error" if info.gitops and launcher is not None else "warning")
    if policy.get("runLauncherAsNode") and launcher is None:
        message = "runLauncherAsNode has no effect: the runtime has no job 'launcher'"
        hint = "add a job called launcher, or remove the field"
        yield Finding("FieldIgnored", "warning", message, hint, (*_POLICY, "runLauncherAsNode"), "runtime")
    yield from _hosts(job, policy, info)
    mpi, processes = implementation(policy), info.processes.requested
    if mpi.hydra and not job.namespace:
        message = (
            f"{mpi.name} needs the namespace of the job for the pods' DNS search domain, and the TrainJob has none"
        )
        hint = "set metadata.namespace, or compile with --namespace"
        yield Finding("NamespaceMissing", "error", message, hint, ("metadata", "namespace"))
    if isinstance(processes, str):
        message = f"numProcPerNode is {processes!r}; MPI needs a number of slots per node"
        hint = "write a number without quotes, such as numProcPerNode: 8"
        yield Finding("InvalidNumProcPerNode", "error", message, hint, ("spec", "trainer", "numProcPerNode"))


def reserved(job: TrainJob, policy: Json, info: Info) -> AbstractSet[str]:
    """Return the implementation's variables for mpirun, in releases that reserve them."""
    return implementation(policy).reserved(info) if info.release.mpi_env_reserved or info.gitops else frozenset()


def build_failures(job: TrainJob, policy: Json, info: Info) -> Iterator[Finding]:
    """Yield an error for an empty implementation, which the schema allows since 2.1, if the launcher has its container.

    Source: kubeflow/trainer pkg/runtime/framework/plugins/mpi (EnforceMLPolicy), which supports only OpenMPI.
    """
    if policy.get("mpiImplementation") == "" and _fails_at_launcher(info):
        yield _missing_implementation("error")


def _fails_at_launcher(info: Info) -> bool:
    launcher = info.pod_set_in_role(names.LAUNCHER)
    return launcher is not None and launcher.main_container is not None


def _missing_implementation(severity: Severity) -> Finding:
    message = "mpiImplementation is empty: the controller creates nothing for such a job with a launcher"
    hint = write("OpenMPI", ", or remove the field", field="mpiImplementation")
    return Finding("UnsupportedValue", severity, message, hint, (*_POLICY, "mpiImplementation"), "runtime")


def _hosts(job: TrainJob, policy: Json, info: Info) -> Iterator[Finding]:
    """Yield errors for too many hosts, several nodes without a launcher or a node job, and no host at all.

    Upstream checks the second only if the TrainJob sets numNodes and the launcher is a node.
    """
    requested, node = info.nodes.requested, info.pod_set_in_role(names.NODE)
    as_node = launcher_is_node(info.ml_policy)
    path: Path = ("spec", "runtimeRef") if requested is None else ("spec", "trainer", "numNodes")
    # Count hosts, not the requested nodes: the controller does not always size the job that the hostfile lists.
    after = _set_size(policy, info)
    hosts = _host_pod_sets(after)
    line = implementation(policy).host_line
    # A lower bound: the first line of each replicated job is its shortest.
    sizes = (
        endpoint_count(pod_set, after) * len(line(next(endpoints(pod_set, job, after), ""), 1)) for pod_set in hosts
    )
    if sum(sizes) > CONFIG_MAP_BYTES:
        count = sum(endpoint_count(pod_set, after) for pod_set in hosts)
        message = f"a hostfile with {count} hosts is larger than the 1 MiB that a ConfigMap can hold"
        yield Finding("HostfileTooLarge", "error", message, "use fewer and larger nodes, or split the job", path)
    nodes = requested or 1
    if info.gitops and requested is None:
        nodes = info.nodes.value if info.nodes.path else node.count if node else 1
    both = node is not None and info.pod_set_in_role(names.LAUNCHER) is not None
    if not both and nodes >= 2 and (info.gitops or as_node):
        message = f"{nodes} nodes need a job 'launcher', which runs mpirun, and a job 'node', where mpirun starts the processes"
        hint = "add the missing job to the runtime, or set numNodes to 1"
        yield Finding("MissingLauncher", "error", message, hint, path)
    if info.gitops and as_node and info.nodes.path and info.nodes.value <= 0:
        message = f"numNodes is {info.nodes.value}, but the launcher is a node itself and counts as one of them"
        hint = "set numNodes to 1 or more, or set suspend: true to hold the job back"
        yield Finding("NoNodes", "error", message, hint, info.nodes.path, info.nodes.about)


def enforce_ml_policy(job: TrainJob, policy: Json, info: Info) -> Info:
    """Size the nodes, mount the keys and the hostfile, and set mpirun's variables on the launcher."""
    info = _set_size(policy, info)
    slots = slots_per_node(job, info)
    for pod_set in info.pod_sets:
        if pod_set.role:
            info = info.with_pod_set(_configure(pod_set, job, policy, info, slots))
    return info


def _set_size(policy: Json, info: Info) -> Info:
    """Size the pods. Under `gitops`, numNodes counts hosts and never multiplies the launcher.

    The controller sizes only the nodes, and only by the TrainJob; lowering has set the policy's numNodes.
    """
    node, launcher, nodes = info.pod_set_in_role(names.NODE), info.pod_set_in_role(names.LAUNCHER), info.nodes.value
    as_node, of_runtime = policy.get("runLauncherAsNode"), info.nodes.about == "runtime"
    if not info.gitops:
        if node is None or of_runtime:
            return info
        read = (nodes, as_node) if nodes > 1 else (nodes,)
        count = info.made(max(nodes - 1, 1) if as_node else nodes, *read)
        return info.with_pod_set(node.with_count(count))
    deviation = "mpi-nodes-size-the-nodes"
    if launcher is not None:
        one = info.made(1, rule="mpirun starts from one launcher", deviation=deviation)
        info = info.with_pod_set(launcher.with_count(one))
    if node is None or nodes is None:
        return info
    count = nodes - 1 if as_node and launcher is not None else nodes
    deviation = deviation if of_runtime else "mpi-one-node-is-one-host" if nodes == 1 and count == 0 else ""
    read = (nodes,) if launcher is None else (nodes, as_node)
    return info.with_pod_set(node.with_count(info.made(count, *read, deviation=deviation)))


def _configure(pod_set: PodSet, job: TrainJob, policy: Json, info: Info, slots: int) -> PodSet:
    mpi, chosen = implementation(policy), policy.get("mpiImplementation")
    launches = pod_set.role == names.LAUNCHER
    pod_set = pod_set.with_volumes((_ssh_volume(job, info),))
    if launches:
        # The hostfile is readable for all users.
        items = [{"key": HOSTFILE_NAME, "path": HOSTFILE_NAME, "mode": 0o444}]
        hostfile = {"name": _HOSTFILE_VOLUME, "configMap": {"name": _config_map_name(job), "items": items}}
        pod_set = pod_set.with_volumes((hostfile,))
    if mpi.hydra:
        # Intel MPI and MPICH need the DNS search domain with which pods resolve each other's bare hostnames.
        config = info.pod_spec(pod_set.name).get("dnsConfig") or {}
        host_domain = subdomain(job, info)
        domain = f"{host_domain}.{job.namespace}.svc.{info.cluster_domain}"
        domain = derived(domain, job.name, host_domain, job.namespace)
        searches = list(dict.fromkeys([*config.get("searches", ()), domain]))
        pod_set = pod_set.with_pod_fields(dnsConfig={**config, "searches": searches})
    keys = {"name": _SSH_VOLUME, "mountPath": policy.get("sshAuthMountPath", "/root/.ssh")}

    def equip(container: Container) -> Container:
        container = container.with_mounts((keys,))
        if not launches:
            return container.with_env(mpi.role_env("worker", chosen))
        hostfile = {"name": _HOSTFILE_VOLUME, "mountPath": HOSTFILE_DIR}
        return container.with_mounts((hostfile,)).with_env(mpi.launcher_env(slots, container.env, info, chosen))

    return pod_set.with_main(equip)


def build(job: TrainJob, policy: Json, info: Info) -> Iterator[Manifest]:
    """Yield the ConfigMap of the hostfile: one host per line, in the order of the runtime's replicated jobs."""
    line, slots = implementation(policy).host_line, slots_per_node(job, info)
    hosts = [host for pod_set in _host_pod_sets(info) for host in endpoints(pod_set, job, info)]
    content = "".join(line(host, slots) for host in hosts)
    if info.traced:
        content = _hostfile_made(content, job, policy, info, slots)
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": job.metadata_for(_config_map_name(job)),
        "data": {HOSTFILE_NAME: content},
    }


def _hostfile_made(content: str, job: TrainJob, policy: Json, info: Info, slots: int) -> str:
    """Return the hostfile with all that decides which hosts it lists."""
    read: list[object] = [job.name, subdomain(job, info), slots] if content else []
    counts_replicas = info.gitops or info.release.hostfile_counts_replicas
    for pod_set in info.pod_sets:
        if pod_set.role == names.NODE:
            read += (pod_set.name, pod_set.count) if pod_set.count else (pod_set.count,)
            read += (pod_set.replicas,) if pod_set.count and counts_replicas else ()
    if info.pod_set_in_role(names.LAUNCHER) is not None:
        read.append(policy.get("runLauncherAsNode"))
    return info.made(content, *read, policy.get("mpiImplementation") if implementation(policy).hydra else None)


def secrets(job: TrainJob, policy: Json, info: Info) -> Iterator[ProvidedSecret]:
    """Yield the Secret with the SSH key pair, which all launcher and node pods mount and trainc never builds.

    The key type is the one that the controller generates, ECDSA P-521.
    """
    yield ProvidedSecret(
        name=_secret_name(job),
        type="kubernetes.io/ssh-auth",
        purpose="the SSH key pair that mpirun uses to reach the nodes",
        files=(("ssh-privatekey", "id_ecdsa"), ("ssh-publickey", "id_ecdsa.pub")),
        make="ssh-keygen -q -t ecdsa -b 521 -m PEM -N '' -f id_ecdsa",
        key_pair=True,
    )


PASSES = Passes(
    validate=validate,
    reserved=reserved,
    build_failures=build_failures,
    enforce_ml_policy=enforce_ml_policy,
    build=build,
    secrets=secrets,
)
