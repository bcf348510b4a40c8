"""Lints for missing launchers and those of another framework: each pod starts processes that never connect."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding, Severity
from trainc.ir.commands.launcher import Launch
from trainc.ir.commands.started import CommandLine
from trainc.lints.training import Training
from trainc.plugins.registry import launching
from trainc.startup.patterns import pattern

# Variables from which a program determines its rank itself.
_OWN_RANK = pattern(r"\b(?:PET_\w+|\w*NODE_RANK|RANK|WORLD_SIZE|MASTER_ADDR|JOB_COMPLETION_INDEX|OMPI_\w+)\b")
_RANKS = frozenset(("RANK", "NODE_RANK", "WORLD_RANK", "MACHINE_RANK", "GROUP_RANK"))
_RENDEZVOUS = frozenset(("rdzv-endpoint",))
# Policies whose script launches the command, whatever it is.
_WRAPPED = ("flux",)


def launchers(training: Training) -> Iterator[Finding]:
    """Yield at most one finding for a container that trains."""
    if training.policy in _WRAPPED or not training.entry.trains:
        return
    launched = [start for start in training.line.starts if start.launch is not None]
    if launched:
        fits = any(start.launch and training.native(start.launch.launcher) for start in launched)
        # Scripts that run on Slurm as well choose their launcher by a condition.
        certain = [start for start in launched if start.sure or not fits]
        yield from (found for start in certain if start.launch for found in _foreign(training, start.launch))
    else:
        yield from _missing(training)


def _foreign(training: Training, launch: Launch) -> Iterator[Finding]:
    launcher = launch.launcher
    if training.nodes < 2 or launch.given(launcher.hosts | launcher.own_way) is not None:
        return
    if training.native(launcher):
        if launcher.name == "accelerate launch":
            yield from _single_process(training, launch)
        return
    refused = launcher.reaches == "hosts" and launcher.options  # By the launcher itself, if it has no list of hosts.
    if _is_configured(training, launch) or (refused and launch.given(launcher.nodes) is not None):
        return
    # Never an error: pods that train independently do run, and may be intended.
    yield training.finding("ForeignLauncher", "warning", *_foreign_words(training, launch), launch.index)


def _is_configured(training: Training, launch: Launch) -> bool:
    """Return whether options, or variables that stand for them, say how many nodes there are and where they meet."""
    launcher, known = launch.launcher, {**training.variables, **launch.variables}

    def in_variables(names: frozenset[str]) -> bool:
        variables = (launcher.reads + name.upper().replace("-", "_") for name in names)
        return bool(launcher.reads) and any(variable in known for variable in variables)

    if launch.given(launcher.nodes) is None and not in_variables(launcher.nodes):
        return False
    # A rendezvous gives out ranks itself. With an address alone, every node has to know its own.
    has_rank = launch.given(launcher.rank) is not None or in_variables(launcher.rank)
    return (
        launch.given(launcher.address) is not None
        or in_variables(_RENDEZVOUS)
        or (in_variables(launcher.address) and has_rank)
    )


def _foreign_words(training: Training, launch: Launch) -> tuple[str, str]:
    name, nodes = launch.launcher.name, training.nodes
    policy = f"the {training.policy} policy" if training.policy else "a runtime without mlPolicy"
    own = training.starting
    if launch.launcher.hosts and own is not None and own.hosts:
        message = f"without --hostfile, {name} runs only where it is started: the rest of the {nodes} nodes stay idle"
        hint = f"add --hostfile=/etc/mpi/hostfile, or start the program with {own.launchers[0].name}"
        return message, hint
    if launch.launcher.reaches == "hosts":
        message = (
            f"{name} needs a list of hosts, which {policy} does not provide: each of the {nodes} pods trains alone"
        )
    elif own is not None and own.hosts:
        message = f"{policy} runs {name} in one pod only, without the addresses of the others: the rest of the {nodes} nodes stay idle"
    else:
        message = f"{policy} sets no variables that {name} reads: each of the {nodes} pods trains alone"
    if own is not None:
        return message, f"start the program with {own.launchers[0].name}, or {_other_runtime(launch)}"
    if training.policy:
        return (
            message,
            f"run the program without a launcher, with the rank variables of {training.policy}; or {_other_runtime(launch)}",
        )
    return message, _other_runtime(launch)


def _other_runtime(launch: Launch) -> str:
    homes = [key for key, each in launching() if launch.launcher in each.launchers]
    if launch.launcher.reaches == "hosts":
        homes = [key for key, each in launching() if each.hosts]
    return f"use a runtime with mlPolicy {homes[0]}" if homes else "use a runtime for its framework"


def _single_process(training: Training, launch: Launch) -> Iterator[Finding]:
    """Yield a finding for accelerate with one device and no option for several machines: it starts a single process."""
    several = launch.given(launch.launcher.nodes | frozenset(("multi-gpu", "use-deepspeed", "use-fsdp", "multi-cpu")))
    if training.devices != 1 or several is not None:
        return
    message = f"with one device per pod, accelerate starts a single process without distributed training: {training.nodes} separate trainings"
    hint = "use torchrun, or add --multi_gpu and --num_machines with the rank and address"
    yield training.finding("NoLauncher", "warning", message, hint, launch.index)


def _missing(training: Training) -> Iterator[Finding]:
    own, line = training.starting, training.line
    if own is None or not own.needed or line.ran("unknown") or line.unclosed:
        return
    if _runs_unread_shell(line):
        return
    found = line.ran("python") or line.ran("code")
    if not found or _reads_rank(training):
        return
    start = found[-1]
    single = training.nodes < 2
    if (single and training.devices < 2) or (not line.ran("python") and not single and training.devices < 1):
        return
    severity: Severity = "info" if single or start.kind == "code" or not start.sure else "warning"
    launcher = own.launchers[0].name
    yield training.finding(
        "NoLauncher",
        severity,
        _missing_words(training),
        f"start it with a launcher: [{launcher}, train.py]" if launcher == "torchrun" else f"start it with {launcher}",
        start.program.index,
    )


def _missing_words(training: Training) -> str:
    nodes, devices = training.nodes, training.devices
    if training.starting is not None and training.starting.hosts:
        return f"this program has no launcher: it runs once, on one of the {nodes} nodes"
    each = f" with {devices} devices" if devices > 1 else ""
    if nodes < 2:
        return f"this program has no launcher: it is one process{each}"
    return f"this program has no launcher: each of the {nodes} pods{each} runs one process that trains alone"


def _runs_unread_shell(line: CommandLine) -> bool:
    """Return whether a shell runs commands that are not in the script, such as those of a file."""
    from collections import Counter

    on_line = Counter(start.line for start in line.starts)
    return any(on_line[start.line] < 2 or "-c" not in " ".join(start.words) for start in line.ran("shell"))


def _reads_rank(training: Training) -> bool:
    """Return whether the command or the container uses rank variables: then the program does its own rendezvous."""
    if any(_OWN_RANK.search(word) for word in training.line.words):
        return True
    return any(v["name"] in _RANKS and v.get("valueFrom") is not None for v in training.entry.container.env)
