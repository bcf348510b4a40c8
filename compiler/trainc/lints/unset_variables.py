"""Lints for variables in commands that nothing sets in the pod, or that nothing expands.

Kubernetes expands only `$(NAME)`, from the variables of the container, and passes `$NAME` unchanged. A shell expands
both, and what Slurm, MPI, SkyPilot and Training Operator v1 set elsewhere is empty there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from trainc.findings import Finding, Path, Severity
from trainc.ir.commands.launcher import Launch
from trainc.ir.commands.started import CommandLine, Start, read_command
from trainc.ir.entrypoints import About, Entrypoint, variable_path
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.lints.training import policy_of
from trainc.plugins.registry import enabled, programs
from trainc.startup.patterns import pattern

# Uppercase names only: `$ref` in JSON and `${model.size}` of a configuration tool are not environment variables.
_VARIABLE = pattern(r"(?<![\\$])\$(?:\{([A-Z_][A-Z0-9_]*)\}|([A-Z_][A-Z0-9_]*))")
_REFERENCE = pattern(r"(?<!\$)\$\(([A-Za-z_]\w*)\)")
# What the kubelet sets for the Services of the namespace (kubernetes pkg/kubelet/envvars).
_OF_SERVICES = pattern(r"\w+_SERVICE_(?:HOST|PORT(?:_\w+)?)|\w+_PORT(?:_\w+)?")
_IN_SHELL = pattern(r"\$(?:\{([A-Z]\w*)\}|([A-Z]\w*)|\(([A-Z]\w*)\))")
_WITH_DEFAULT = pattern(r"\$\{([A-Z]\w*)[^}\w]")
_PLACEHOLDER = pattern(r"\$\{(?:trialParameters|trialSpec)\.[^}]{0,100}\}")
# The variables of other launchers and schedulers.
_FOREIGN = pattern(
    r"(?:SLURM|OMPI|PMI|PMIX|MV2|SKYPILOT|PBS|LSB)_\w+"
    r"|WORLD_SIZE|RANK|LOCAL_RANK|NODE_RANK|MACHINE_RANK|MASTER_ADDR|MASTER_PORT|NNODES|NUM_NODES"
)
_OF_MPI = ("OMPI_", "PMI_", "PMIX_", "MV2_")
# Commands after which a script may have variables that are not in it.
_SETTING = frozenset(("source", ".", "eval"))
_TESTS = frozenset(("[", "[[", "test"))
# Kinds of values that a launcher cannot read from a variable's name or from an empty text.
_READ = frozenset(("integer", "number", "port", "processes", "nodes"))


def unset_variables(job: TrainJob, info: Info, entry: Entrypoint) -> Iterator[Finding]:
    """Yield a finding for each word, or each command of a script, with variables that are not set there."""
    line = read_command(tuple(map(str, entry.words)), programs(policy_of(info)))
    container = _Container(job, info, entry)
    if line.script is None:
        yield from container.in_words(line)
    elif not container.open and not _wrapped(line):
        yield from container.in_script(line)


def placeholders(job: TrainJob, info: Info, entry: Entrypoint) -> Iterator[Finding]:
    """Yield an error for each reference to a value of a sweep in a job that is compiled by itself."""
    for index, word in enumerate(map(str, entry.words)):
        if found := _PLACEHOLDER.search(word):
            yield _unreplaced(found[0], *entry.place(index))
    for variable in entry.container.env:
        if found := _PLACEHOLDER.search(str(variable.get("value", ""))):
            name = str(variable["name"])
            yield _unreplaced(found[0], *variable_path(job, info, entry.pod_set, entry.container.name, name))


def _unreplaced(text: str, path: Path, about: About) -> Finding:
    message = f"only a sweep replaces {text}, and this job is compiled by itself"
    hint = "write a value, or name the job in a Sweep or OptimizationJob of the same input"
    return Finding("PlaceholderNotReplaced", "error", message, hint, path, about=about)


def _wrapped(line: CommandLine) -> bool:
    """Return whether a program comes before the shell that may set variables, such as a launcher."""
    from trainc.ir.commands.programs import program_of

    found = program_of(line.words[: line.script], programs(""))
    return found.kind != "shell" or found.guessed


class _Container:
    """A container with what is known about its variables. It is `open` if it has some that are not in its documents."""

    def __init__(self, job: TrainJob, info: Info, entry: Entrypoint) -> None:
        self.entry = entry
        self.policy = policy_of(info)
        self.names = {str(variable["name"]) for variable in entry.container.env}
        self.open = bool(entry.container.fields.get("envFrom"))
        self.instead: dict[str, str] = {}
        for plugin in enabled(info.plugins) if entry.trains else ():
            if plugin.shell_names and plugin.policy_of(job, info) is not None:
                self.instead = {**plugin.shell_names}

    def in_words(self, line: CommandLine) -> Iterator[Finding]:
        """Yield findings about a command that no shell runs."""
        needed = _needed(line.starts[0].launch if line.starts else None)
        for index, word in enumerate(line.words):
            names = _names(_VARIABLE.findall(word))
            unset = [name for name in _names(_REFERENCE.findall(word)) if self._is_unset(name)]
            path, about = self.entry.place(index)
            # Other jobs may replace the command of a runtime.
            severity: Severity = "error" if index in needed and about == "trainjob" else "warning"
            if names:
                message = f"no shell runs this command, so {word!r} is passed to the program without being expanded"
                hint = "; ".join(map(self._expanded, names))
                yield Finding("UnexpandedShellVariable", severity, message, hint, path, about=about)
            elif unset and unset[0].islower():
                message = f"no shell runs this command, so {word!r} is passed to the program without being expanded"
                hint = "write the value, or run the command through bash -c"
                yield Finding("UnexpandedShellVariable", severity, message, hint, path, about=about)
            elif unset:
                message = (
                    f"nothing sets {' or '.join(unset)} in this pod, so the program gets {word!r} as it is written"
                )
                hint = "; ".join(map(self._set, unset))
                yield Finding("UnsetVariable", severity, message, hint, path, about=about)

    def _is_unset(self, name: str) -> bool:
        return name not in self.names and not self.open and _OF_SERVICES.fullmatch(name) is None

    def _expanded(self, name: str) -> str:
        if name in self.names:
            return f"write $({name}), which Kubernetes expands"
        if name in self.instead:
            return f"write $({self.instead[name]}) for {name}, or remove the flag: the runtime sets the value"
        if _FOREIGN.fullmatch(name):
            return f"remove the flag: nothing sets {name} in this pod"
        return f"write $({name}) and set {name} in env, or run the command through sh -c"

    def _set(self, name: str) -> str:
        if name in self.instead:
            return f"write $({self.instead[name]}) for {name}, or remove the flag: the runtime sets the value"
        return f"set {name} in env, or remove the flag"

    def in_script(self, line: CommandLine) -> Iterator[Finding]:
        """Yield a finding for each launcher or program of a script with variables of other launchers."""
        guarded = _guarded(line)
        for start in line.starts:
            if start.words[0] in _SETTING:
                return
            if start.kind not in ("launcher", "python"):
                continue
            needed = _needed(start.launch)
            found: dict[str, bool] = {}
            for index, word in enumerate(start.words):
                for name in _foreign(word) if "$" in word else ():
                    if not (name in start.variables or name in guarded or self._may_be_set(name)):
                        found[name] = found.get(name, False) or index in needed
            if found:
                yield self._unset(line, start, found)

    def _may_be_set(self, name: str) -> bool:
        return name in self.names or (self.policy == "mpi" and name.startswith(_OF_MPI))

    def _unset(self, line: CommandLine, start: Start, found: Mapping[str, bool]) -> Finding:
        program = start.launch.launcher.name if start.launch is not None else "the program"
        names = " and ".join(found)
        message = f"nothing sets {names} in this pod, so {program} gets an empty value"
        hint = "; ".join(
            f"write ${self.instead[name]} for {name}" if name in self.instead else f"remove {name}" for name in found
        )
        if start.launch is not None and self.instead:
            hint += f"; or remove the flags: {program} reads what the runtime sets"
        path, about = self.entry.place(line.word(start.program.index))
        certain = any(found.values()) and start.sure and bool(self.entry.command) and about == "trainjob"
        return Finding("UnsetVariable", "error" if certain else "warning", message, hint, path, about=about)


def _names(found: Sequence[str | tuple[str, ...]]) -> list[str]:
    return list(dict.fromkeys("".join(each) for each in found))


@lru_cache(maxsize=256)
def _foreign(word: str) -> tuple[str, ...]:
    return tuple(name for name in _names(_IN_SHELL.findall(word)) if _FOREIGN.fullmatch(name))


def _needed(launch: Launch | None) -> frozenset[int]:
    """Return the indexes of words with values that a launcher needs to read."""
    if launch is None or not launch.launcher.options:
        return frozenset()
    roles = launch.launcher
    read = [o for o in launch.options if roles.options.get(o.name) in _READ or o.name in roles.address]
    return frozenset(index for option in read for index in (option.index, option.index + 1))


def _guarded(line: CommandLine) -> frozenset[str]:
    """Return the variables that a script tests or has a default for."""
    from trainc.ir.commands.shell import commands

    found = set(_WITH_DEFAULT.findall(line.words[line.script or 0]))
    for command, _ in commands(line.items):
        if command.words and command.words[0] in _TESTS:
            found.update(name for word in command.words if "$" in word for name in _foreign(word))
    return frozenset(found)
