"""Lints for launchers: none, one of another framework, and command lines that a launcher refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from trainc.findings import Finding, Severity, suggest
from trainc.findings.text import correct_spelling, near_names
from trainc.ir.commands.programs import SRUN, Launch, Launcher, Option
from trainc.ir.commands.started import CommandLine, Start
from trainc.knowledge.tables import mentions, starts_processes
from trainc.lints.config_files import visible_files
from trainc.lints.training import Training
from trainc.plugins.registry import launching, programs
from trainc.startup.patterns import pattern
from trainc.startup.typing import TypeAlias

# Variables from which a program determines its rank itself.
_OWN_RANK = pattern(r"\b(?:PET_\w+|\w*NODE_RANK|RANK|WORLD_SIZE|MASTER_ADDR|JOB_COMPLETION_INDEX|OMPI_\w+|TF_CONFIG)\b")
_RANKS = frozenset(("RANK", "NODE_RANK", "WORLD_RANK", "MACHINE_RANK", "GROUP_RANK"))
_RENDEZVOUS = frozenset(("rdzv-endpoint",))
# Policies whose script launches the command, whatever it is.
_WRAPPED = ("flux",)


def launchers(training: Training) -> Iterator[Finding]:
    """Yield at most one finding for a container that trains."""
    if training.policy in _WRAPPED or not training.entry.trains:
        return
    launched = training.launches
    if not launched:
        yield from _missing(training)
    fits = any(training.native(launch.launcher) for _, launch in launched)
    for start, launch in launched:
        # Scripts that run on Slurm as well choose their launcher by a condition.
        if not start.sure and fits:
            continue
        if start.name in SRUN.programs:
            message = "srun starts programs through Slurm, which no pod belongs to: it is not there, or exits at once"
            hint = (
                "remove srun and its options"
                if start.program.guessed
                else "write torchrun in the place of srun, its options and python"
            )
            yield training.finding("ForeignLauncher", "warning", message, hint, 0)
        else:
            yield from _foreign(training, launch)


def _foreign(training: Training, launch: Launch) -> Iterator[Finding]:
    launcher = launch.launcher
    if training.nodes < 2 or training.native(launcher) or launch.find_option(launcher.hosts | launcher.own_way):
        return
    refused = launcher.reaches == "hosts" and launcher.options  # By the launcher itself, if it has no list of hosts.
    if _is_configured(training, launch) or (refused and launch.find_option(launcher.nodes) is not None):
        return
    # Never an error: pods that train independently do run, and may be intended.
    yield training.finding("ForeignLauncher", "warning", *_foreign_message(training, launch), launch.index)


def _is_configured(training: Training, launch: Launch) -> bool:
    """Return whether options, or variables that stand for them, say how many nodes there are and where they meet."""
    launcher, all_variables = launch.launcher, {**training.variables, **launch.variables}

    def in_variables(names: frozenset[str]) -> bool:
        variables = (launcher.reads + name.upper().replace("-", "_") for name in names)
        return bool(launcher.reads) and any(variable in all_variables for variable in variables)

    if launch.find_option(launcher.nodes) is None and not in_variables(launcher.nodes):
        return False
    # A rendezvous gives out ranks itself. With an address alone, every node has to know its own.
    has_rank = launch.find_option(launcher.rank) is not None or in_variables(launcher.rank)
    return (
        launch.find_option(launcher.address) is not None
        or in_variables(_RENDEZVOUS)
        or (in_variables(launcher.address) and has_rank)
    )


def _foreign_message(training: Training, launch: Launch) -> tuple[str, str]:
    name, nodes = launch.launcher.name, training.nodes
    policy = f"the {training.policy} policy" if training.policy else "a runtime without mlPolicy"
    starting = training.starting
    if launch.launcher.hosts and starting is not None and starting.hosts:
        message = f"without --hostfile, {name} runs only where it is started: the rest of the {nodes} nodes stay idle"
        hint = f"add --hostfile=/etc/mpi/hostfile, or start the program with {starting.launchers[0].name}"
        return message, hint
    if launch.launcher.reaches == "hosts":
        message = f"{name} needs a list of hosts, which {policy} does not give: each of the {nodes} pods trains alone"
    elif starting is not None and starting.hosts:
        message = f"{policy} runs {name} in one pod only, without the addresses of the others: the rest of the {nodes} nodes stay idle"
    else:
        message = f"{policy} sets no variables that {name} reads: each of the {nodes} pods trains alone"
    on_hosts = launch.launcher.reaches == "hosts"
    homes = [key for key, other in launching() if (other.hosts if on_hosts else launch.launcher in other.launchers)]
    hint = f"use a runtime with mlPolicy {homes[0]}" if homes else "use a runtime for its framework"
    if starting is not None:
        hint = f"start the program with {starting.launchers[0].name}, or {hint}"
    elif training.policy:
        hint = f"run the program without a launcher, with the rank variables of {training.policy}; or {hint}"
    return message, hint


def _missing(training: Training) -> Iterator[Finding]:
    starting, line, nodes, devices = training.starting, training.line, training.nodes, training.devices
    if starting is None or not starting.needed:
        return
    starts = line.starts_of("python") or line.starts_of("code")
    if not starts or line.starts_of("unknown") or line.unclosed or _runs_unread_shell(line) or _reads_rank(training):
        return
    read = [file for file in visible_files(training) if file.name.endswith(".py") and file.name in training.text]
    from trainc.knowledge.words import flat

    text = "\n".join([training.text, *training.variables, *(file.text or "" for file in read)])
    started = [start.argv for start in starts] + [list(flat(file.value)) for file in read if nodes < 2]
    shares = mentions("own work", text) or (nodes < 2 and mentions("all devices", text))
    if shares or any(map(starts_processes, started)):
        return
    start = starts[-1]
    # A loop may start one for each device, or each of them has its own.
    several = line.background and (len(starts) > 1 or not start.sure)
    if several or (nodes < 2 and devices < 2) or (not line.starts_of("python") and nodes > 1 and devices < 1):
        return
    severity: Severity = "info" if nodes < 2 or start.kind == "code" or not start.sure else "warning"
    with_devices = f" with {devices} devices" if devices > 1 else ""
    if starting.hosts:
        alone = f"it runs once, on one of the {nodes} nodes"
    elif nodes < 2:
        alone = f"it is one process{with_devices}"
    else:
        alone = f"each of the {nodes} pods{with_devices} runs one process that trains alone"
    launcher = starting.launchers[0].name
    program = next((word for word in start.argv[1:] if word.endswith(".py")), "train.py")
    hint = f"start it with {f'a launcher: torchrun {program}' if launcher == 'torchrun' else launcher}"
    yield training.finding("NoLauncher", severity, f"this program has no launcher: {alone}", hint, start.program.index)


def _runs_unread_shell(line: CommandLine) -> bool:
    """Return whether a shell runs commands that are not in the script, such as those of a file."""
    from collections import Counter

    on_line = Counter(start.line for start in line.starts)
    return any(on_line[start.line] < 2 or "-c" not in " ".join(start.argv) for start in line.starts_of("shell"))


def _reads_rank(training: Training) -> bool:
    """Return whether the command or the container uses rank variables: then the program does its own rendezvous."""
    given = [v["name"] for v in training.entry.container.env if v.get("valueFrom") is not None]
    return not _RANKS.isdisjoint(given) or any(_OWN_RANK.search(word) for word in training.line.argv)


# The index of a word, what is wrong, and what to write.
Problem: TypeAlias = tuple[int, str, str]

_HELP = frozenset(("help", "h"))
_NODES = pattern(r"(\d{1,18})(?::(\d{1,18}))?")
_NUMBER = pattern(r"[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_INTEGER = pattern(r"[+-]?\d(?:_?\d){0,400}")
_LAST_PORT = 65_535
# Words that torchrun resolves on the node; the last ones are the names of backends that register themselves.
_PROCESSES = frozenset(("auto", "cpu", "gpu", "xpu"))
_BACKENDS = frozenset(("npu", "mlu", "musa", "hpu", "sdaa", "gcu", "maca", "privateuseone", "tpu", "neuron", "xla"))
_BACKENDS_OF_RENDEZVOUS = ("static", "c10d", "etcd", "etcd-v2")
# Backends of process groups, and other words that are written there by mistake.
_NO_RENDEZVOUS = frozenset(("nccl", "gloo", "mpi", "ucc", "tcp", "env", "file", "torch", "c10"))
_ROLES = ("nodes", "per_node", "total", "rank", "address", "port")
# Programs that add arguments which are not in the command.
_ADDING = frozenset(("xargs", "parallel"))


def launcher_usage(training: Training) -> Iterator[Finding]:
    """Yield at most one finding for each launcher that exits at once."""
    for start in training.line.starts_of("tool"):
        yield from _without_command(training, start)
    for start, launch in training.launches:
        if start.program.guessed or start.argv[0] in _ADDING or launch.find_option(_HELP) is not None:
            continue
        if launch.launcher.options and (problem := next(_problems(training, start, launch), None)):
            index, message, hint = problem
            severity: Severity = "error" if start.sure else "warning"
            yield training.finding("InvalidLauncherArguments", severity, message, hint, index)


def _without_command(training: Training, start: Start) -> Iterator[Finding]:
    launcher = programs("").all.by_program.get(start.name)
    word = start.argv[1] if len(start.argv) > 1 else ""
    if launcher is None or not launcher.commands or word in launcher.commands or word.startswith(("-", "$", "`")):
        return
    message = f"{launcher.programs[0]} has no command {word!r}, and exits"
    if not word:
        message = f"{launcher.programs[0]} without a command starts nothing"
    severity: Severity = "error" if start.sure else "warning"
    hint = f"write {launcher.name} {word if word.endswith('.py') else 'train.py'}"
    if launcher.name == "tune run":
        hint = f"write tune run {word or 'RECIPE'} --config NAME"
    yield training.finding("InvalidLauncherArguments", severity, message, hint, 0)


def _problems(training: Training, start: Start, launch: Launch) -> Iterator[Problem]:
    for option in launch.options:
        yield from _of_option(training, launch, option)
    yield from _of_program(training, start, launch)


def _of_option(training: Training, launch: Launch, option: Option) -> Iterator[Problem]:
    launcher = launch.launcher
    takes = launcher.options.get(option.name)
    if takes is None:
        if "$" not in option.spelling and "`" not in option.spelling:
            yield from _unknown(launcher, option)
        return
    if not takes:
        if option.value is not None:
            message = f"{option.spelling} takes no value, so {launcher.name} refuses {option.value!r}"
            yield option.index, message, f"write {option.spelling} alone"
        return
    choices = takes.split()
    of_choices = [f"is not one of {', '.join(choices)}", f"write {{}}={choices[0]}", "VALUE"]
    wrong, hint, example = _KINDS.get(takes, of_choices)
    accepts = _ACCEPTING.get(takes, choices.__contains__)
    if option.value is None:
        message = f"{option.spelling} needs a value, and none follows"
        yield option.index, message, f"write {option.spelling}={example}"
        return
    value = training.value(option.value, None if "$" in option.value else launch)
    if value is None or value in training.variables or "$" in option.value:
        return  # What nothing sets is reported by its own lint.
    if not accepts(value.strip() if takes in _KINDS else value):
        message = f"{option.spelling} {value!r} {wrong}, so {launcher.name} exits"
        yield option.index, message, hint.format(option.spelling)


def _unknown(launcher: Launcher, option: Option) -> Iterator[Problem]:
    several = launcher.matching_options(option.spelling)
    if several:
        candidates = " or ".join(f"--{name}" for name in sorted(several)[:2])
        message = f"{option.spelling} is ambiguous to {launcher.name}"
        yield option.index, message, f"write it in full, as in {candidates}"
        return
    name = option.spelling.lstrip("-").replace("_", "-")
    near = correct_spelling(name, [candidate for candidate in launcher.options if len(candidate) > 1])
    message = f"{launcher.name} has no option {option.spelling}, and exits"
    if near or name in launcher.options:
        meant = (near or name).replace("-", "_") if "_" in option.spelling or not launcher.dashes else near or name
        yield option.index, message, suggest(option.spelling, [f"--{meant}"])
        return
    for other in programs("").all.launchers:
        for role in _ROLES:
            if other is not launcher and name in getattr(other, role):
                counterpart = getattr(launcher, role) or launcher.per_node or launcher.total
                meant = max(counterpart).replace("-", "_")
                hint = suggest(option.spelling, [f"--{meant}"], f"write --{meant}, or remove it")
                yield option.index, f"{message}: it is one of {other.name}", hint
                return
    alike = [f"write --{one.replace('-', '_')}, " for one in near_names(name, launcher.options, 1)]
    yield option.index, message, f"{''.join(alike)}put options of your program after its name, or remove it"


def _integer(value: str) -> int | None:
    return int(value) if _INTEGER.fullmatch(value) else None


def _is_nodes(value: str) -> bool:
    match = _NODES.fullmatch(value)
    return match is not None and 0 < int(match[1]) <= int(match[2] or match[1])


def _is_backend(value: str) -> bool:
    """Return whether torchrun may know a backend of its rendezvous: others than its own may be registered."""
    backends = _BACKENDS_OF_RENDEZVOUS
    return value in backends or not (value.lower() in _NO_RENDEZVOUS or correct_spelling(value, backends))


# For a kind of value: what accepts one, what is wrong with the others, a hint, and an example.
_ACCEPTING: Mapping[str, Callable[[str], object]] = {
    "integer": lambda value: _integer(value) is not None,
    "count": lambda value: (_integer(value) or 0) >= 0 and bool(_INTEGER.fullmatch(value)),
    "number": lambda value: _NUMBER.fullmatch(value),  # noqa: PLW0108 - it is compiled when it is asked
    "port": lambda value: _integer(value) in range(_LAST_PORT + 1),
    "processes": lambda value: value in _PROCESSES | _BACKENDS or (_integer(value) or 0) > 0,
    "nodes": _is_nodes,
    "backend": _is_backend,
    "text": lambda _: True,
}
_SAYING = """is not an integer|write {}=1|1
is not a number of times|write {}=0|0
is not a number|write {}=0.1|0.1
is not a port|write {}=29500, or remove it|29500
is not a number of processes, auto, gpu, cpu or xpu|write {}=auto for one process per device|auto
is not a number of nodes or a range such as 2:4|remove it: the runtime sets the number of nodes|4
is not a rendezvous backend|remove it, or write {}=c10d|c10d
||VALUE""".splitlines()
_KINDS = dict(zip(_ACCEPTING, (line.split("|") for line in _SAYING), strict=True))


def _of_program(training: Training, start: Start, launch: Launch) -> Iterator[Problem]:
    name = launch.launcher.name
    arguments = training.arguments(start)
    if not arguments:
        noun, example = ("recipe", "recipe") if name == "tune run" else ("script", "train.py")
        script, words = training.line.script, training.line.argv
        # The shell takes only the first word for the script, which is an error of its own.
        if script is None or script + 1 == len(words) or any(map(str.isspace, words[script])):
            yield launch.index, f"{name} has no {noun} to run, and exits", f"add it: {name} {example}"
        return
    first = arguments[0]
    index = len(start.argv) - len(launch.program)
    if first.startswith("-") and " " in first:
        option, _, value = first.partition(" ")
        message = f"{first!r} is one word, which {name} takes for the name of the program"
        hint = f'write two words, "{option}", "{value.strip()}", or one with =: "{option}={value.strip()}"'
        yield index, message, hint
