"""Lints for launcher options that contradict the job: nodes, ranks and addresses with which the pods never connect."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding, Severity
from trainc.ir.commands.launcher import Launch, Option
from trainc.ir.commands.started import Start
from trainc.lints.training import Training
from trainc.startup.patterns import pattern

_AT_HOME = frozenset(
    ("localhost", "127.0.0.1", "0.0.0.0", "::1", "[::1]", "::", "$HOSTNAME", "${HOSTNAME}", "127.0.1.1")  # noqa: S104
)
_OWN_NAME = pattern(
    r"\$\(hostname[^)]*\)|`hostname[^`]*`|\$\{?(?:HOSTNAME|POD_IP|POD_NAME|HOST_IP)\}?|\$\((?:POD_IP|POD_NAME|HOSTNAME)\)"
)
# Commands that use the pod's index often run independent trainings: shards, seeds, folds.
_INDEX = "JOB_COMPLETION_INDEX"
_RANGE = pattern(r"(\d+)(?::(\d+))?")
_ENDPOINT = "PET_RDZV_ENDPOINT"
_V1_HOST = "(master|worker|chief|ps|launcher|evaluator)"


def launch_options(training: Training) -> Iterator[Finding]:
    """Yield findings about the options of each launcher."""
    for start, launch in training.launches_with_options:
        yield from _judged(training, start, launch)


def _judged(training: Training, start: Start, launch: Launch) -> Iterator[Finding]:
    roles = launch.launcher
    if training.nodes > 1 and (option := launch.given(roles.alone)) is not None:
        message = f"{option.written} makes each of the {training.nodes} pods train alone"
        yield _finding(training, (start, option), "error", message, "remove it: the runtime sets up the rendezvous")
        return
    if training.nodes > 1 and roles.together and not _meets(training, launch):
        yield _apart(training, launch)
        return
    if (option := launch.given(roles.nodes)) is not None:
        yield from _nodes(training, start, launch, option)
    if (option := launch.given(roles.rank)) is not None and training.nodes > 1:
        yield from _rank(training, start, launch, option)
    for option in launch.options:
        if option.name in roles.address:
            yield from _address(training, start, launch, option)
        elif option.name in roles.port:
            yield from _port(training, start, launch, option)
        elif roles.reads and option.name not in roles.nodes | roles.rank | roles.per_node | roles.total | roles.alone:
            yield from _overridden(training, start, launch, option)


def _meets(training: Training, launch: Launch) -> bool:
    """Whether a launcher that ignores the runtime's address is told another, by an option or its own variable.

    torchtune takes a run for distributed only if it has options, and their defaults from the environment like torchrun
    (pytorch/torchtune torchtune/_cli/run.py).
    """
    if launch.given(launch.launcher.together) is not None:
        return True
    return bool(launch.options) and {**training.variables, **launch.variables}.get(_ENDPOINT, "") != ""


def _apart(training: Training, launch: Launch) -> Finding:
    """Return the finding for a launcher that ignores the runtime's variables and has no option with an address."""
    name = min(launch.launcher.together)
    message = f"without --{name}, {launch.launcher.name} makes each of the {training.nodes} pods train alone"
    hint = f"add --{name.replace('-', '_')}=$(PET_MASTER_ADDR):$(PET_MASTER_PORT) before the recipe"
    # With options, each pod waits for the others at its own address. Without any, it starts a single process.
    severity: Severity = "error" if launch.options else "warning"
    return training.finding("RanksDoNotMeet", severity, message, hint, launch.index)


def _nodes(training: Training, start: Start, launch: Launch, option: Option) -> Iterator[Finding]:
    value = training.value(option.value or "", launch)
    configured = training.variables.get("PET_NNODES") or str(training.nodes)
    found = _RANGE.fullmatch(value or "")
    if value in (None, "", configured, "PET_NNODES") or found is None:
        return
    least, most = int(found[1]), int(found[2] or found[1])
    if least == most == training.nodes:
        return
    elastic = ":" in configured
    message = f"{option.written} {value} waits for {value} nodes, but the job has {training.nodes}"
    if most < training.nodes:
        message = f"{option.written} {value} admits {value} nodes, but the job has {training.nodes}"
    inside = least <= training.nodes <= most
    # Nodes of other jobs may join at an external address. Without a policy there are no variables to override.
    unsure = inside or elastic or not training.policy or _uses_external_rendezvous(training, launch)
    severity: Severity = "warning" if unsure else "error"
    yield _finding(training, (start, option), severity, message, _removal_hint("numNodes"))


def _uses_external_rendezvous(training: Training, launch: Launch) -> bool:
    """Return whether the rendezvous is at a host that is neither one of the job's nor the pod itself."""
    option = launch.given(launch.launcher.address)
    value = training.value(option.value, launch) if option is not None and option.value else None
    host = _host(value or "")
    return bool(host) and not (host in training.hosts or host in training.variables or host in _AT_HOME)


def _rank(training: Training, start: Start, launch: Launch, option: Option) -> Iterator[Finding]:
    value = training.value(option.value or "", launch)
    if value is not None and (value.isdecimal() or value in ("PET_NNODES", "PET_NPROC_PER_NODE")):
        message = f"{option.written} {value} gives all {training.nodes} pods the same rank"
        severity: Severity = "error" if _backend(launch) == "static" else "warning"
        hint = "remove it: the runtime sets the rank to the index of the pod"
        yield _finding(training, (start, option), severity, message, hint)


def _backend(launch: Launch) -> str:
    """Return the rendezvous backend: "static" uses the ranks of the options, all others assign them."""
    return next((option.value or "" for option in launch.options if option.name == "rdzv-backend"), "static")


def _address(training: Training, start: Start, launch: Launch, option: Option) -> Iterator[Finding]:
    written = option.value or ""
    if training.nodes < 2 or not written:
        return
    value = training.value(written, launch)
    host = _host(value if value is not None else written)
    own = _OWN_NAME.fullmatch(_host(written)) or _OWN_NAME.match(written)
    if host in _AT_HOME or own is not None or host == _pod_ip(training):
        message = f"with {option.written} {written}, each of the {training.nodes} pods waits for the others at its own address"
        hint = "remove it: the runtime sets the address of the first pod"
        yield _finding(training, (start, option), "error", message, hint)
        return
    if value is None or host in training.hosts or host in training.variables:
        return
    if _backend(launch) not in ("static", "c10d"):
        return  # An external store, such as etcd.
    if (
        host
        and (configured := _configured_endpoint(training) or training.variables.get("PET_MASTER_ADDR"))
        and host != configured
    ):
        message = f"{option.written} is {host}, but the rendezvous of this job is {configured}"
        if is_v1_host(host, training.job.name):
            message = f"{option.written} is {host}, a host name of Training Operator v1; the first pod is {configured}"
        yield _finding(training, (start, option), "warning", message, "remove it: the runtime sets the address")


def is_v1_host(host: str, job: str) -> bool:
    """Return whether a host has the name of a replica in Training Operator v1, which no pod of a JobSet has."""
    import re

    return re.match(rf"{re.escape(job)}-{_V1_HOST}-\d+(?:\.|:|$)", host) is not None


def _configured_endpoint(training: Training) -> str:
    return _host(training.variables.get(_ENDPOINT) or "")


def _pod_ip(training: Training) -> str | None:
    """Return the name of a variable with the pod's own IP address, or None."""
    for variable in training.entry.container.env:
        field = ((variable.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath")
        if field in ("status.podIP", "metadata.name", "status.hostIP"):
            return str(variable["name"])
    return None


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
        hint = "remove the flag: the variable already has this value"
        yield _finding(
            training,
            (start, option),
            "warning",
            f"{option.written} {value} overrides {name}, which is {configured}",
            hint,
        )


def _port(training: Training, start: Start, launch: Launch, option: Option) -> Iterator[Finding]:
    value = training.value(option.value or "", launch)
    configured = training.variables.get("PET_MASTER_PORT")
    if value and configured and value != configured and value.isdecimal():
        message = f"{option.written} {value} overrides PET_MASTER_PORT, which is {configured}, in all pods"
        yield _finding(training, (start, option), "info", message, "remove it: the runtime sets the port")


def _removal_hint(decided: str) -> str:
    return f"remove the flag, and set {decided} instead"


def _finding(training: Training, about: tuple[Start, Option], severity: Severity, message: str, hint: str) -> Finding:
    start, option = about
    code = "RanksDoNotMeet" if severity == "error" else "TorchrunArgOverridesPolicy"
    unsure = not start.sure or any(_INDEX in word for word in training.line.words)
    return training.finding(code, "warning" if unsure else severity, message, hint, option.index)
