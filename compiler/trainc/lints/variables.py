"""Lints for variables: tokens in plain text, names and values that nothing reads, and references to what nothing sets."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from functools import lru_cache

from trainc.findings import Finding, Path, Severity, remove, suggest
from trainc.findings.text import correct_spelling
from trainc.ir.commands.programs import Launch, program_of
from trainc.ir.commands.started import CommandLine, Start, read_command
from trainc.ir.entrypoints import Entrypoint
from trainc.ir.info import About, Info
from trainc.ir.trainjob import TrainJob
from trainc.knowledge import __file__ as tables
from trainc.knowledge.tables import read, variable_names
from trainc.kube.devices import accelerators
from trainc.lints.training import policy_of
from trainc.plugins.registry import enabled, programs
from trainc.startup.patterns import pattern
from trainc.startup.shipped import read_text
from trainc.startup.typing import Any

# Secrets, and what only looks like one: patterns of values and of names. Every token has one of the marks, and every name
# one of the words.
_DATA = dict(line.split(" = ", 1) for line in read_text(tables, "tables/secrets.txt").splitlines() if line[0] != "#")
TOKEN, PASSWORD_IN_URL = pattern(_DATA["token"]), pattern(_DATA["password"])
_SECRET_NAME, _NO_SECRET, _PLACEHOLDER = (pattern(_DATA[kind], 2) for kind in ("name", "no secret", "placeholder"))
_TOKEN_MARKS, _SECRET_WORDS = _DATA["marks"].split(), _DATA["words"].split()

_SHORTEST_TOKEN = 14
# Shorter values are placeholders, or protect nothing.
_SHORTEST_SECRET = 6
_LONG_NAME = 10
# The first two letters of the variables that are checked.
_BEGINNINGS = frozenset(("NC", "TO", "PY", "CU", "GL", "UC", "FI", "OM", "HF", "JA", "XL", "NV"))
_INTEGER = pattern(r"\s*[+-]?(?:0[xX][0-9a-fA-F]+|\d+)\s*")
# Uppercase names only: `$ref` in JSON and `${model.size}` of a configuration tool are not environment variables.
_VARIABLE = pattern(r"(?<![\\$])\$(?:\{([A-Z_][A-Z0-9_]*)\}|([A-Z_][A-Z0-9_]*))")
_COMMAND = pattern(r"(?<!\$)\$\([a-z][\w./-]* [^()]*\)|`[a-z][\w./-]*(?: [^`]*)?`")
_REFERENCE = pattern(r"(?<!\$)\$\(([A-Za-z_]\w*)\)")
# What the kubelet sets for the Services of the namespace (kubernetes pkg/kubelet/envvars).
_OF_SERVICES = pattern(r"\w+_SERVICE_(?:HOST|PORT(?:_\w+)?)|\w+_PORT(?:_\w+)?")
_IN_SHELL = pattern(r"\$(?:\{([A-Z]\w*)\}|([A-Z]\w*)|\(([A-Z]\w*)\))")
_WITH_DEFAULT = pattern(r"\$\{([A-Z]\w*)[^}\w]")
_IN_BRACKETS = pattern(r"<([A-Za-z][\w .-]{0,60})>")
_WORD_ENDS = pattern(r"[-_ .]")
# The first programs of a script, and the last one, are enough to see what it sets for them.
_MOST_STARTS, _MOST_SET = 8, 100
_SAID = ("#", "echo ", "printf ")
_STANDING = frozenset(
    "your insert replace enter todo fixme changeme bucket registry account project username hostname region"
    " org organization namespace claim".split()
)
_YOURS = pattern(r"(?<![\w-])(?:your|YOUR)[-_]\w[\w-]*|/path/to/[\w./-]*")
_TODO = pattern(r"(?:^|=)(?:TODO|FIXME|CHANGE[-_]?ME|REPLACE[-_]?ME)$")
_TRIAL_VALUE = pattern(r"\$\{(?:trialParameters|trialSpec)\.[^}]{0,100}\}")
# The variables of other launchers and schedulers.
_FOREIGN = pattern(
    r"(?:SLURM|OMPI|PMI|PMIX|MV2|SKYPILOT|PBS|LSB)_\w+"
    r"|WORLD_SIZE|RANK|LOCAL_RANK|NODE_RANK|MACHINE_RANK|MASTER_ADDR|MASTER_PORT|NNODES|NUM_NODES"
)
_OF_MPI = ("OMPI_", "PMI_", "PMIX_", "MV2_")
_SUBSTITUTED = pattern(r"\$\(scontrol [^()]*\)")
# Commands after which a script may have variables that are not in it.
_SETTING = frozenset(("source", ".", "eval"))
_TESTS = frozenset(("[", "[[", "test"))
# Kinds of values that a launcher cannot read from a variable's name or from an empty text.
_READ = frozenset(("integer", "number", "port", "processes", "nodes"))


def plain_tokens(entry: Entrypoint) -> Iterator[Finding]:
    """Yield a warning for each token in plain text in a container's variables or command."""
    env = entry.container.env
    if _secret_names(_names(env)) or holds_token("\n".join([str(variable.get("value")) for variable in env])):
        for variable in env:
            if is_secret(variable):
                yield _token(str(variable["name"]), *entry.variable_path(str(variable["name"])))
    for i, word in enumerate(entry.argv if holds_token(entry.text) else ()):
        if holds_token(word):
            yield _token("", *entry.word_path(i))


def dropped_values(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield a warning for each variable of the trainer with a value beside `valueFrom`, which is all that arrives."""
    for index, variable in enumerate(job.trainer.env):
        if variable.get("value") and variable.get("valueFrom") is not None:
            message = f"{variable['name']} has a value and valueFrom: the value is dropped"
            path: Path = ("spec", "trainer", "env", index, "value")
            yield Finding("FieldIgnored", "warning", message, remove("remove one of the two"), path, "trainjob")


def tokens_of_initializers(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield the same warning for the URIs of the TrainJob's initializers."""
    for step, field in ((job.dataset, "dataset"), (job.model, "model")):
        path: Path = ("spec", "initializer", field)
        if step and step.storage_uri and PASSWORD_IN_URL.search(step.storage_uri):
            yield _token("", (*path, "storageUri"), "trainjob")


def is_secret(variable: Mapping[str, Any]) -> bool:
    """Return whether a variable has a secret as its value."""
    value = variable.get("value")
    if not isinstance(value, str) or len(value) < _SHORTEST_SECRET:
        return False
    return holds_token(value) or bool(_secret_names((str(variable["name"]),)) and not _PLACEHOLDER.fullmatch(value))


def _names(env: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the names of variables. A job has mostly those of the job before, so what they need is decided once."""
    return tuple([str(variable["name"]) for variable in env])


@lru_cache(maxsize=1024)
def _secret_names(names: tuple[str, ...]) -> list[str]:
    candidates = [name for name in names if any(word in name.upper() for word in _SECRET_WORDS)]
    return [name for name in candidates if _SECRET_NAME.fullmatch(name) and not _NO_SECRET.fullmatch(name)]


def holds_token(text: str) -> bool:
    """Return whether there is a token or a password in a text."""
    if len(text) < _SHORTEST_TOKEN:
        return False
    if any(map(text.__contains__, _TOKEN_MARKS)) and TOKEN.search(text):
        return True
    return "://" in text and "@" in text and bool(PASSWORD_IN_URL.search(text))


def _token(name: str, path: Path, about: About) -> Finding:
    subject = f"{name} is a secret" if name else "this contains a secret"
    key = name.lower().replace("_", "-") or "token"
    message = f"{subject} in plain text, and the compiled manifests go to git"
    hint = f"take it from a Secret: valueFrom: {{secretKeyRef: {{name: my-tokens, key: {key}}}}}; revoke it if it is in git"
    return Finding("PlainToken", "warning", message, hint, path, about)


def tuning_variables(entry: Entrypoint) -> Iterator[Finding]:
    """Yield findings for names that NCCL, PyTorch and the like do not read, and for values that they do not take.

    A script sets variables, too. The registry calls it for containers with such names.
    """
    env = entry.container.env
    for index in _read_by_programs(_names(env)):
        name, value = str(env[index]["name"]), env[index].get("value")
        for code, severity, message, hint in _problems(name, value):
            yield Finding(code, severity, message, hint, *entry.variable_path(name))
    if entry.shell or "-x" in entry.argv:
        line = read_command(entry.argv, programs(policy_of(entry.info)))
        for name, value in _set_in(line).items():
            for code, severity, message, hint in _problems(name, value):
                yield entry.finding(code, severity, message, hint, line.script or 0)


def _set_in(line: CommandLine) -> dict[str, str | None]:
    """Return the variables that a script sets for a program that it starts, as far as they are checked."""
    variables: dict[str, str | None] = {}
    starts = line.starts_of("launcher", "python")
    for start in (*starts[:_MOST_STARTS], *starts[-1:]):
        names = tuple(start.variables)
        variables |= {names[index]: start.variables[names[index]] for index in _read_by_programs(names)[:_MOST_SET]}
        for option in start.launch.options if start.launch is not None else ():
            if option.name == "x" and option.value and _read_by_programs((option.value.partition("=")[0],)):
                name, _, value = option.value.partition("=")
                variables[name] = value or variables.get(name)
    return variables


@lru_cache(maxsize=1024)
def _read_by_programs(names: tuple[str, ...]) -> list[int]:
    """Return the indexes of the variables whose names and values are checked."""
    return [index for index, name in enumerate(names) if name[:2].upper() in _BEGINNINGS]


def _problems(name: str, value: Any) -> Iterator[tuple[str, Severity, str, str]]:
    """Yield (code, severity, message, hint) for a variable; its value is None if it is known only in the pod."""
    meant = _meant(name)
    if meant:
        yield "MisspeltVariable", "warning", f"nothing reads {name}", suggest(name, [meant])
    elif isinstance(value, str) and value and "$" not in value and (problem := _unread(name, value)):
        yield "InvalidVariableValue", "warning", f"{name} is {value!r}, {problem[0]}", problem[1]


@lru_cache(maxsize=1024)
def _meant(name: str) -> str:
    names = variable_names()
    if not name.upper().startswith(names["prefixes"]) or name in names["known"]:
        return ""
    return correct_spelling(name, names["known"], 2 if len(name) >= _LONG_NAME else 1)


def _unread(name: str, value: str) -> tuple[str, str] | None:
    """Return (what is wrong, hint) for a value that the program which reads the variable does not accept."""
    names = variable_names()
    lists = names["lists"]
    if name in names["integers"] and not _INTEGER.fullmatch(value):
        from trainc.knowledge.words import number_meant

        raised = "which is not a number: torch.distributed raises an error, and the job fails"
        number = _INTEGER.match(value) if name.startswith("NCCL") else None
        unread = f"of which only {number[0]} is read" if number else "which is not read"
        return raised if name.startswith("TORCH") else f"{unread}: it must be a number", number_meant(value)
    if name in names["words"] and value.strip().upper() not in names["words"][name]:
        choices = names["words"][name]
        named = [choice for choice in choices if len(choice) > 1]
        begun = next((choice for choice in named if value.upper().startswith(choice)), "")
        near = correct_spelling(value, named) or begun or names["meant"].get(f"{name}={value.upper()}", "")
        so = names["consequences"].get(name, "")
        message = f"which is not one of {', '.join(choices)}{so and f': {so}'}"
        return message, suggest(value, [near]) if near else "write one of them"
    for word in value.removeprefix("^").split(",") if name in lists else ():
        # Newer releases may know more of them.
        if word.lower() not in map(str.lower, lists[name]) and (near := correct_spelling(word, lists[name])):
            return f"and {word!r} is not one of {', '.join(lists[name])}", suggest(word, [near])
    if name == "XLA_FLAGS":
        return _flags(value)
    for setting in value.split(",") if name in names["allocators"] else ():
        word, known = setting.partition(":")[0].strip(), names["allocator_settings"]
        if word not in known and "=" not in setting and (near := correct_spelling(word, known, 3)):
            return f"which PyTorch refuses: it has no setting {word!r}", suggest(word, [near])
    return None


def _flags(value: str) -> tuple[str, str] | None:
    """Return the first flag that is nearly one of XLA's, which stops at flags that it does not know."""
    known = read("xla_flags")["flags"]
    for flag in value.split():
        name = flag.partition("=")[0].lstrip("-")
        if name not in known and (near := correct_spelling(name, known, 2)):
            return f"and XLA has no flag --{name}, at which it stops", suggest(name, [near])
    return None


def unset_variables(entry: Entrypoint) -> Iterator[Finding]:
    """Yield a finding for each word, or each command of a script, with variables that are not set there."""
    line = read_command(entry.argv, programs(policy_of(entry.info)))
    container = _Container(entry)
    if line.script is None:
        yield from container.in_words(line)
    elif not container.open and not _wrapped(line):
        yield from container.in_script(line)


def placeholders(entry: Entrypoint) -> Iterator[Finding]:
    """Yield a finding for each text of a command or variable that stands for a value, such as `<your-bucket>`.

    Values of a sweep are an error in a job that is compiled by itself.
    """
    of_words = [(word, entry.word_path(index)) for index, word in enumerate(entry.argv)]
    env = [(str(v.get("value", "")), entry.variable_path(str(v["name"]))) for v in entry.container.env]
    for text, location in (*of_words, *env):
        severity: Severity = "warning"
        if match := _TRIAL_VALUE.search(text):
            message = f"only a sweep replaces {match[0]}, and this job is compiled by itself"
            hint, severity = "write a value, or name the job in a Sweep or OptimizationJob of the same input", "error"
        elif placeholder := _placeholder(text):
            message = f"{placeholder!r} is a placeholder, and the program gets it as it is written"
            hint = "write the value in its place"
        else:
            continue
        yield Finding("PlaceholderNotReplaced", severity, message, hint, *location)


def _placeholder(text: str) -> str:
    """Return a placeholder in a text, or an empty string. Special tokens of a model, such as `<pad>`, are none."""
    lines = text.splitlines() if "\n" in text else [text]
    code = "\n".join(line.partition(" #")[0] for line in lines if not line.lstrip().startswith(_SAID))
    for match in _IN_BRACKETS.finditer(code):
        if not _STANDING.isdisjoint(_WORD_ENDS.split(match[1].lower())) and f"</{match[1]}>" not in code:
            return match[0]
    other = _YOURS.search(code) or _TODO.search(code)
    return other[0].lstrip("=") if other else ""


def _wrapped(line: CommandLine) -> bool:
    """Return whether a program comes before the shell that may set variables, such as a launcher."""
    program = program_of(line.argv[: line.script], programs(""))
    return program.kind != "shell" or program.guessed


class _Container:
    """A container with what is known about its variables. It is `open` if it has some that are not in its documents."""

    def __init__(self, entry: Entrypoint) -> None:
        job, info = entry.job, entry.info
        self.entry = entry
        self.policy = policy_of(info)
        self.names = {str(variable["name"]) for variable in entry.container.env}
        self.open = bool(entry.container.fields.get("envFrom"))
        self.instead: dict[str, str] = {}
        for plugin in enabled(info.plugins) if entry.trains else ():
            if plugin.shell_names and plugin.policy_of(job, info) is not None:
                rank = plugin.shell_names.get("NODE_RANK")
                self.instead = {**plugin.shell_names, **({"JOB_COMPLETION_INDEX": rank} if rank else {})}

    def in_words(self, line: CommandLine) -> Iterator[Finding]:
        """Yield findings about a command that no shell runs."""
        needed = _needed(line.starts[0].launch if line.starts else None)
        for index, word in enumerate(line.argv):
            names = _unique(_VARIABLE.findall(word))
            references = [] if self.open else _unique(_REFERENCE.findall(word))
            unset = [name for name in references if name not in self.names and not _OF_SERVICES.fullmatch(name)]
            path, about = self.entry.word_path(index)
            # Other jobs may replace the command of a runtime.
            severity: Severity = "error" if index in needed and about == "trainjob" else "warning"
            if names or (unset and unset[0].islower()) or ("\n" not in word and _COMMAND.search(word)):
                message = f"no shell runs this command, so {word!r} is passed to the program without being expanded"
                hint = (
                    "; ".join(map(self._how_to_expand, names)) or "write the value, or run the command through bash -c"
                )
                yield Finding("UnexpandedShellVariable", severity, message, hint, path, about)
            elif unset:
                message = (
                    f"nothing sets {' or '.join(unset)} in this pod, so the program gets {word!r} as it is written"
                )
                hint = "; ".join(map(self._how_to_set, unset))
                yield Finding("UnsetVariable", severity, message, hint, path, about)

    def _how_to_expand(self, name: str) -> str:
        if name in self.names:
            return f"write $({name}), which Kubernetes expands"
        if name in self.instead:
            return f"write $({self.instead[name]}) for {name}, or remove the flag: the runtime sets the value"
        if _FOREIGN.fullmatch(name):
            return f"remove the flag: nothing sets {name} in this pod"
        return f"write $({name}) and set {name} in env, or run the command through sh -c"

    def _how_to_set(self, name: str) -> str:
        if name in self.instead:
            return f"write $({self.instead[name]}) for {name}, or remove the flag: the runtime sets the value"
        return f"set {name} in env, or remove the flag"

    def in_script(self, line: CommandLine) -> Iterator[Finding]:
        """Yield a finding for each launcher or program of a script with variables of other launchers."""
        guarded = _guarded(line)
        for start in line.starts:
            if start.argv[0] in _SETTING:
                return
            if start.kind not in ("launcher", "python"):
                continue
            needed = _needed(start.launch)
            unset: dict[str, bool] = {}
            for index, word in enumerate(start.argv):
                for name in _foreign(word) if "$" in word else ():
                    of_mpi = self.policy == "mpi" and name.startswith(_OF_MPI)
                    if not (name in start.variables or name in guarded or name in self.names or of_mpi):
                        unset[name] = unset.get(name, False) or index in needed
            if unset:
                yield self._unset(line, start, unset)
            yield from self._without_number(line, start, {*guarded, *self.names, *unset})

    def _without_number(self, line: CommandLine, start: Start, known: Container[str]) -> Iterator[Finding]:
        """Yield an info for each number of a launcher that is a variable of nobody but perhaps the image."""
        launcher = start.launch.launcher if start.launch is not None else None
        counts = launcher.per_node | launcher.total | launcher.nodes if launcher is not None else frozenset[str]()
        for option in start.launch.options if start.launch is not None else ():
            match = _VARIABLE.fullmatch(option.value or "")
            name = (match[1] or match[2]) if match is not None and option.name in counts else ""
            if name and name not in known and name not in start.variables:
                message = f"nothing in the job sets {name}: unless the image does, {option.spelling} gets an empty value, and the job fails"
                devices = sum(accelerators(self.entry.container.resources).values())
                per_node = launcher is not None and option.name in launcher.per_node and devices
                hint = f"write {option.spelling}={devices}" if per_node else f"set {name} in env, or write the number"
                yield self.entry.finding("UnsetVariable", "info", message, hint, line.word(start.program.index))

    def _unset(self, line: CommandLine, start: Start, unset: Mapping[str, bool]) -> Finding:
        program = start.launch.launcher.name if start.launch is not None else "the program"
        names = " and ".join(unset)
        message = f"nothing sets {names} in this pod, so {program} gets an empty value"
        # What takes a host out of a list is to be replaced as a whole.
        whole = {name: text for text in _SUBSTITUTED.findall(" ".join(start.argv)) for name in _foreign(text)}
        hint = "; ".join(
            f"write ${self.instead[name]} for {whole.get(name, name)}" if name in self.instead else f"remove {name}"
            for name in unset
        )
        if start.launch is not None and self.instead:
            hint += f"; or remove the flags: {program} reads what the runtime sets"
        _, about = self.entry.word_path(line.word(start.program.index))
        certain = any(unset.values()) and start.sure and bool(self.entry.command) and about == "trainjob"
        severity: Severity = "error" if certain else "warning"
        return self.entry.finding("UnsetVariable", severity, message, hint, line.word(start.program.index))


def _unique(matches: Sequence[str | tuple[str, ...]]) -> list[str]:
    return list(dict.fromkeys("".join(match) for match in matches))


@lru_cache(maxsize=256)
def _foreign(word: str) -> tuple[str, ...]:
    return tuple(name for name in _unique(_IN_SHELL.findall(word)) if _FOREIGN.fullmatch(name))


def _needed(launch: Launch | None) -> frozenset[int]:
    """Return the indexes of words with values that a launcher needs to read."""
    if launch is None or not launch.launcher.options:
        return frozenset()
    roles = launch.launcher
    options = [o for o in launch.options if roles.options.get(o.name) in _READ or o.name in roles.address]
    return frozenset(index for option in options for index in (option.index, option.index + 1))


def _guarded(line: CommandLine) -> frozenset[str]:
    from trainc.ir.commands.shell import commands

    guarded = set(_WITH_DEFAULT.findall(line.argv[line.script or 0]))
    for command, _ in commands(line.items):
        if command.words and command.words[0] in _TESTS:
            guarded.update(name for word in command.words if "$" in word for name in _foreign(word))
    return frozenset(guarded)
