"""Lints for pods that never connect: by the options and variables of their launcher, or by names that do not resolve."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding, Severity, remove, write
from trainc.ir.commands.programs import Launch, Option
from trainc.ir.commands.started import Start
from trainc.ir.entrypoints import pod_path, variable_path
from trainc.ir.info import Info, PodSet
from trainc.ir.trainjob import TrainJob
from trainc.kube.documents import JOBS
from trainc.lints.training import Training, policy_of
from trainc.startup.patterns import pattern

_AT_HOME = frozenset(
    ("localhost", "127.0.0.1", "0.0.0.0", "::1", "[::1]", "::", "$HOSTNAME", "${HOSTNAME}", "127.0.1.1")  # noqa: S104
)
_OWN_NAME = pattern(
    r"\$\(hostname[^)]*\)|`hostname[^`]*`|\$\{?(?:HOSTNAME|POD_IP|POD_NAME|HOST_IP)\}?|\$\((?:POD_IP|POD_NAME|HOSTNAME)\)"
)
# What a shell puts in the place of these is another text in each pod.
_OWN_TEXT = pattern(
    r"\$(?:\{(?:RANDOM|SRANDOM|HOSTNAME|BASHPID|EPOCHREALTIME)\}|(?:RANDOM|SRANDOM|HOSTNAME|BASHPID|EPOCHREALTIME)\b|\$)"
    r"|\$\((?:hostname|uuidgen|cat /proc/sys/kernel/random/uuid|date \+[^)]*%N)[^)]{0,80}\)|`(?:hostname|uuidgen)[^`]{0,80}`"
)
_TIME = pattern(r"(?:\$\(|`)date\b[^)`]{0,40}%[sSTXcr]|\$\{?EPOCHSECONDS\b")
_VARIABLES = pattern(r"\$(?:\((\w+)\)|\{(\w+)\}|(\w+))")
# Variables of the pods whose values differ.
_OWN_VALUES = frozenset(("PET_NODE_RANK", "JOB_COMPLETION_INDEX"))
_OWN_FIELDS = frozenset(("status.podIP", "metadata.name", "status.hostIP", "spec.nodeName", "metadata.uid"))
_CASE = pattern(r"\bcase\s+[\"']?\$\{?PET_NNODES")
_INDEX_FIELD = "batch.kubernetes.io/job-completion-index"
# Commands that use the pod's index often run independent trainings: shards, seeds, folds.
_INDEX = "JOB_COMPLETION_INDEX"
_RANGE = pattern(r"(\d{1,18})(?::(\d{1,18}))?")
_ENDPOINT = "PET_RDZV_ENDPOINT"
_V1_HOST = "(master|worker|chief|ps|launcher|evaluator)"
_LOOPBACK = frozenset(("lo", "=lo", "lo0"))
_INTERFACES = frozenset(("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "UCX_NET_DEVICES"))
# Variables from which programs other than torchrun read the address of rank 0.
_ADDRESSES = frozenset(
    ("JAX_COORDINATOR_ADDRESS", "COORDINATOR_ADDRESS", "MASTER_ADDR", "CHIEF_IP", "MAIN_PROCESS_IP", "DMLC_PS_ROOT_URI")
)
_READ = _INTERFACES | _ADDRESSES
_LOCAL = ("localhost", "127.0.0.1", "0.0.0.0", "::1")  # noqa: S104


def rendezvous(training: Training) -> Iterator[Finding]:
    """Yield findings about the rendezvous of each launcher."""
    chosen = _chooses_by_nodes(training)
    for start, launch in training.launches_with_options:
        if start.sure or not chosen:
            yield from _check_launch(training, start, launch)


def _chooses_by_nodes(training: Training) -> bool:
    """Return whether a script tests the number of nodes, and so has commands for one node and for several."""
    if training.line.script is None or "PET_NNODES" not in training.line.argv[training.line.script]:
        return False
    from trainc.ir.commands.shell import commands, is_test

    tests = (command for command, _ in commands(training.line.items) if is_test(command))
    tested = any("PET_NNODES" in " ".join(test.words) for test in tests)
    return tested or _CASE.search(training.line.argv[training.line.script]) is not None


def _check_launch(training: Training, start: Start, launch: Launch) -> Iterator[Finding]:
    roles = launch.launcher
    if training.nodes > 1 and (option := launch.find_option(roles.alone)) is not None:
        waits = (
            roles.reads and launch.find_option(roles.nodes) is None
        )  # With its own address, for as many as PET_NNODES.
        does = "wait for the others at its own address, until it times out" if waits else "train alone"
        message = f"{option.spelling} makes each of the {training.nodes} pods {does}"
        hint = remove("remove it: the runtime sets up the rendezvous", option.word)
        yield _finding(training, (start, option), "error", message, hint)
        return
    if (option := launch.find_option(roles.nodes)) is not None:
        yield from _nodes(training, start, launch, option)
    if training.nodes > 1:
        yield from _of_torchrun(training, start, launch) if roles.reads else _of_others(training, start, launch)
    for option in launch.options:
        if option.name in roles.port:
            yield from _port(training, start, launch, option)
        elif roles.reads and option.name not in _JUDGED | roles.nodes | roles.per_node | roles.total | roles.alone:
            yield from _overridden(training, start, launch, option)


# Options of torchrun that decide about the rendezvous.
_JUDGED = frozenset(("rdzv-backend", "rdzv-endpoint", "rdzv-id", "master-addr", "node-rank", "local-addr"))


def _first_pod(training: Training) -> str:
    return f"{training.reference('PET_MASTER_ADDR')}:{training.reference('PET_MASTER_PORT')}"


def _nodes(training: Training, start: Start, launch: Launch, option: Option) -> Iterator[Finding]:
    value = training.value(option.value or "", launch)
    configured = training.variables.get("PET_NNODES") or str(training.nodes)
    match = _RANGE.fullmatch(value or "")
    if value in (None, "", configured, "PET_NNODES") or match is None:
        return
    least, most = int(match[1]), int(match[2] or match[1])
    # Without agents that come and go, torchrun waits for the larger number.
    is_elastic = bool(launch.launcher.reads) and _backend(training, launch) != "static"
    if least > most or least == most == training.nodes or (least if is_elastic else most) <= training.nodes <= most:
        return
    message = f"{option.spelling} {value} waits for {value} nodes, but the job has {training.nodes}"
    hint = remove("remove the flag, and set numNodes instead", option.word)
    if most < training.nodes:
        message = f"{option.spelling} {value} admits {value} {'node' if value == '1' else 'nodes'}, but the job has {training.nodes}"
    elif least < training.nodes:
        message = f"without --rdzv_backend=c10d, {option.spelling} {value} waits for {most} nodes, but the job has {training.nodes}"
        hint = f"add --rdzv_backend=c10d --rdzv_endpoint={_first_pod(training)}, or remove the flag"
    # Nodes of other jobs may join at an external address. Without a policy there are no variables to override.
    unsure = ":" in configured or not training.policy or _uses_external_rendezvous(training, launch)
    yield _finding(training, (start, option), "warning" if unsure else "error", message, hint)


def _uses_external_rendezvous(training: Training, launch: Launch) -> bool:
    """Return whether the rendezvous is at a host that is neither one of the job's nor the pod itself."""
    option = launch.find_option(launch.launcher.address)
    value = training.value(option.value, launch) if option is not None and option.value else None
    host = _host(value or "")
    return bool(host) and not (host in training.hosts or host in training.variables or host in _AT_HOME)


def _backend(training: Training, launch: Launch) -> str | None:
    """Return torchrun's rendezvous backend: "static" uses the ranks that it is given, all others assign them."""
    backend, _ = training.setting(launch, "rdzv-backend")
    return "static" if backend == "" else backend


def _of_torchrun(training: Training, start: Start, launch: Launch) -> Iterator[Finding]:
    """Yield findings about the address, rank and key of torchrun's rendezvous.

    Only static uses the master's address, if there is no endpoint, and the rank of the node (pytorch
    torch/distributed/run.py, get_rdzv_endpoint and config_from_args).
    """
    backend = _backend(training, launch)
    endpoint, endpoint_option = training.setting(launch, "rdzv-endpoint")
    _, master = training.setting(launch, "master-addr")
    if backend == "c10d" and endpoint == "":
        yield _no_endpoint(training, start, launch, endpoint_option)
    elif endpoint_option is not None and endpoint != "":
        yield from _address(training, start, launch, endpoint_option)
        if backend == "static":
            yield from _no_port(training, start, endpoint_option, endpoint)
    elif backend == "static" and master is not None and endpoint == "":
        yield from _address(training, start, launch, master)
    if backend == "static" and (option := launch.find_option(launch.launcher.rank)) is not None:
        yield from _rank(training, start, launch, option)
    if (option := launch.find_option(frozenset(("rdzv-id",)))) is not None:
        yield from _key(training, start, launch, option)
    _, local = training.setting(launch, "local-addr")
    if backend == "c10d" and local is not None and _host(local.value or "") in _AT_HOME:
        message = f"with {local.spelling} {local.value}, the first pod gives the others an address that is their own"
        yield _finding(training, (start, local), "error", message, remove(word=local.word))


def _no_endpoint(training: Training, start: Start, launch: Launch, endpoint_option: Option | None) -> Finding:
    """Return the finding for c10d without an endpoint, which then is localhost.

    Source: pytorch torch/distributed/elastic/rendezvous/utils.py (parse_rendezvous_endpoint).
    """
    option = endpoint_option or launch.find_option(frozenset(("rdzv-backend",)))
    message = f"with the backend c10d and no --rdzv_endpoint, each of the {training.nodes} pods waits for the others at its own address"
    hint = f"add --rdzv_endpoint={_first_pod(training)}, or remove --rdzv_backend: the runtime sets up the rendezvous"
    if option is not None:
        return _finding(training, (start, option), "error", message, hint)
    hint = f"set PET_RDZV_ENDPOINT to {min(training.hosts, key=len)}:29500 too, or remove PET_RDZV_BACKEND"
    return Finding("RanksDoNotMeet", "error", message, hint, *training.entry.variable_path("PET_RDZV_BACKEND"))


def _no_port(training: Training, start: Start, option: Option, endpoint: str | None) -> Iterator[Finding]:
    if endpoint is None or endpoint in training.variables:
        return
    if ":" not in endpoint and ":" not in (option.value or ""):
        message = f"{option.spelling} {option.value} has no port, without which torchrun exits"
        hint = remove(f"remove it, or write {option.word}:{training.reference('PET_MASTER_PORT')}", option.word)
        yield _finding(training, (start, option), "error", message, hint)


def _key(training: Training, start: Start, launch: Launch, option: Option) -> Iterator[Finding]:
    option_value = option.value or ""
    value = training.value(option_value, launch)
    shell = training.line.script is not None
    differing = _own_variables(training) | {_INDEX}
    differs = value in differing or any(name in differing for name in map("".join, _VARIABLES.findall(option_value)))
    consequence = f"so the {training.nodes} pods wait in separate groups"
    message = f"{option.spelling} {option_value} is different in each pod, {consequence}"
    if not differs and not (shell and _OWN_TEXT.search(option_value) is not None):
        if not shell or _TIME.search(option_value) is None:
            return
        message = f"{option.spelling} {option_value} is the same only in pods started in the same second, {consequence}"
    hint = f"write the same in all pods, such as {option.spelling}={training.job.name}"
    if launch.find_option(launch.launcher.nodes) is None and "PET_NNODES" not in launch.variables and start.sure:
        # By the runtime's variables, it waits for all pods, also if they are told apart by their index.
        yield training.finding("RanksDoNotMeet", "error", message, hint, option.index)
    else:
        yield _finding(training, (start, option), "error", message, hint)


def _of_others(training: Training, start: Start, launch: Launch) -> Iterator[Finding]:
    roles = launch.launcher
    if roles.total and roles.nodes and launch.find_option(roles.nodes | roles.own_way) is None:
        return  # accelerate uses neither for a single machine.
    if (option := launch.find_option(roles.rank)) is not None:
        yield from _rank(training, start, launch, option)
    if (option := launch.find_option(roles.address)) is not None:
        yield from _address(training, start, launch, option)


def _rank(training: Training, start: Start, launch: Launch, option: Option) -> Iterator[Finding]:
    value = training.value(option.value or "", launch)
    if value is not None and (value.isdecimal() or value in ("PET_NNODES", "PET_NPROC_PER_NODE")):
        message = f"{option.spelling} {value} gives each of the {training.nodes} pods the same rank"
        hint = remove("remove it: the runtime sets the rank to the index of the pod", option.word)
        if not launch.launcher.reads:
            hint = option.instead(training.reference("PET_NODE_RANK"))
        yield _finding(training, (start, option), "error", message, hint)


def _address(training: Training, start: Start, launch: Launch, option: Option) -> Iterator[Finding]:
    option_value = option.value or ""
    if not option_value or "\ue024" in option_value:  # A variable in single quotes is said of its word (lints/slips).
        return
    value = training.value(option_value, launch)
    host = _host(value if value is not None else option_value)
    hint = remove("remove it: the runtime sets the address of the first pod", option.word)
    if not launch.launcher.reads:
        hint = option.instead(training.reference("PET_MASTER_ADDR"))
    elif (
        option.name == "rdzv-endpoint" and _backend(training, launch) == "c10d" and _ENDPOINT not in training.variables
    ):
        # Without an endpoint, c10d meets at the pod's own address.
        hint = option.instead(_first_pod(training))
    own_name = _OWN_NAME.fullmatch(_host(option_value)) or _OWN_NAME.match(option_value)
    if host in _AT_HOME or own_name is not None or host in _own_variables(training):
        message = f"with {option.spelling} {option_value}, each of the {training.nodes} pods waits for the others at its own address"
        yield _finding(training, (start, option), "error", message, hint)
        return
    if value is None or host in training.hosts or host in training.variables:
        return
    if _backend(training, launch) not in ("static", "c10d"):
        return  # An external store, such as etcd.
    configured = _host(training.variables.get(_ENDPOINT) or "") or training.variables.get("PET_MASTER_ADDR")
    if host and configured and host != configured:
        message = f"{option.spelling} is {host}, but the rendezvous of this job is {configured}"
        if is_v1_host(host, training.job.name):
            message = f"{option.spelling} is {host}, a host name of Training Operator v1; the first pod is {configured}"
        yield _finding(training, (start, option), "warning", message, hint)


def is_v1_host(host: str, job: str) -> bool:
    """Return whether a host has the name of a replica in Training Operator v1, which no pod of a JobSet has."""
    import re

    return re.match(rf"{re.escape(job)}-{_V1_HOST}-\d+(?:\.|:|$)", host) is not None


def _own_variables(training: Training) -> frozenset[str]:
    """Return the names of the container's variables that have another value in each pod."""
    differing = set(_OWN_VALUES.intersection(training.variables))
    for variable in training.entry.container.env:
        field = ((variable.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath")
        if field in _OWN_FIELDS or _INDEX_FIELD in str(field):
            differing.add(str(variable["name"]))
    return frozenset(differing)


def _host(endpoint: str) -> str:
    """Return the host of `host:port`, with the brackets of an IPv6 address."""
    host, colon, port = endpoint.rpartition(":")
    return (
        host if colon and (port.isdecimal() or port.startswith("$") or not port) and host not in ("", ":") else endpoint
    )


def _overridden(training: Training, start: Start, launch: Launch, option: Option) -> Iterator[Finding]:
    """Yield a finding for any other option that overrides a variable, such as the number of restarts."""
    name = launch.launcher.reads + option.name.upper().replace("-", "_")
    configured = training.variables.get(name)
    value = training.value(option.value, launch) if option.value is not None else None
    if configured is not None and value not in (None, configured, name):
        message = f"{option.spelling} {value} overrides {name}, which is {configured}"
        hint = remove("remove the flag: the variable already has this value", option.word)
        yield _finding(training, (start, option), "warning", message, hint)


def _port(training: Training, start: Start, launch: Launch, option: Option) -> Iterator[Finding]:
    value = training.value(option.value or "", launch)
    configured = training.variables.get("PET_MASTER_PORT")
    if value and configured and value != configured and value.isdecimal():
        message = f"{option.spelling} {value} overrides PET_MASTER_PORT, which is {configured}, in all pods"
        hint = remove("remove it: the runtime sets the port", option.word)
        yield _finding(training, (start, option), "info", message, hint)


def _finding(training: Training, about: tuple[Start, Option], severity: Severity, message: str, hint: str) -> Finding:
    start, option = about
    code = "RanksDoNotMeet" if severity == "error" else "TorchrunArgOverridesPolicy"
    unsure = not start.sure or any(_INDEX in word for word in training.line.argv)
    return training.finding(code, "warning" if unsure else severity, message, hint, option.index)


def network(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield findings for what prevents the pods of a job from connecting. Runs on sized jobs."""
    policy = policy_of(info)
    pods = sum(p.pods for p in info.pod_sets if p.role or p.ancestor == "trainer")
    if pods < 2 or not policy:
        return
    if (info.template.get("network") or {}).get("enableDNSHostnames") is False:
        path = ("spec", "template", "spec", "network", "enableDNSHostnames")
        message = f"the pods get no DNS names, but the rendezvous of {policy} for all {pods} pods is one"
        yield Finding("NoHostnames", "error", message, remove("remove it, or write true"), path, "runtime")
    for index, pod_set in enumerate(info.pod_sets):
        if pod_set.role or pod_set.ancestor == "trainer":
            yield from _host_network(job, info, pod_set)
            yield from _without_index(info, pod_set, index)
            yield from _variables(job, info, pod_set, policy, pods)


def _host_network(job: TrainJob, info: Info, pod_set: PodSet) -> Iterator[Finding]:
    spec = info.pod_spec(pod_set.name)
    if spec.get("hostNetwork") is not True or spec.get("dnsPolicy", "ClusterFirst") not in ("ClusterFirst", "Default"):
        return
    if (spec.get("dnsConfig") or {}).get("nameservers"):
        return  # The pod uses its own name servers.
    message = "pods with hostNetwork use the DNS of the host, which does not know pods: the host name of rank 0 does not resolve"
    hint = write("ClusterFirstWithHostNet", " to the same pod template", field="dnsPolicy", verb="add")
    location = pod_path(job, info, pod_set.name, "hostNetwork")
    yield Finding("HostNetworkWithoutDNS", "error", message, hint, *location)


def _without_index(info: Info, pod_set: PodSet, index: int) -> Iterator[Finding]:
    job_spec = info.template["replicatedJobs"][index]["template"].get("spec") or {}
    if job_spec.get("completionMode") == "NonIndexed" and pod_set.count > 1:
        path = (*JOBS, index, "template", "spec", "completionMode")
        message = "pods without an index have no rank and no host name for the rendezvous"
        yield Finding("PodsWithoutIndex", "error", message, remove("remove it, or write Indexed"), path, "runtime")


def _variables(job: TrainJob, info: Info, pod_set: PodSet, policy: str, pods: int) -> Iterator[Finding]:
    for container in pod_set.containers:
        for variable in [v for v in container.env if v["name"] in _READ]:
            name, value = str(variable["name"]), variable.get("value")
            if isinstance(value, str) and (problem := _unreachable(name, value, policy, job.name)):
                code, severity, why = problem
                message = f"{name} is {value}, {why}: the {pods} pods cannot find each other"
                hint = remove(f"remove {name}: the runtime sets up the rendezvous")
                location = variable_path(job, info, pod_set, container.name, name)
                yield Finding(code, severity, message, hint, *location)


def script_interfaces(training: Training) -> Iterator[Finding]:
    """Yield an error for an interface that a script sets and that reaches no other pod."""
    for start in training.line.starts_of("launcher", "python") if training.nodes > 1 and training.policy else ():
        for name in sorted(_INTERFACES):
            value = start.variables.get(name)
            if value in _LOOPBACK:
                message = f"{name} is {value}, which cannot reach other pods: the {training.nodes} pods cannot find each other"
                severity: Severity = "error" if start.sure else "warning"
                yield training.finding("LoopbackInterface", severity, message, f"remove {name}", start.program.index)


def _unreachable(name: str, value: str, policy: str, job: str) -> tuple[str, Severity, str] | None:
    """Return (code, severity, reason) if pods cannot connect with this value of a variable, or None."""
    if name in _INTERFACES:
        return ("LoopbackInterface", "error", "which cannot reach other pods") if value in _LOOPBACK else None
    if value.startswith(_LOCAL):
        # torchrun overrides MASTER_ADDR for its workers.
        if policy == "torch" and name == "MASTER_ADDR":
            return None
        severity: Severity = "error" if name == "JAX_COORDINATOR_ADDRESS" and policy == "jax" else "warning"
        return "LoopbackInterface", severity, "which is a different address in each pod"
    if is_v1_host(value, job):
        return "FormerHostName", "warning", "a name of Training Operator v1 that no pod has"
    return None
