"""What a command runs, looking through wrappers: a launcher, Python, a shell, a tool, or something else.

A launcher is a program that starts the training processes, with options for their number and rendezvous.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from trainc.findings import suggest
from trainc.kube.quantity import whole_number
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, field, replace
from trainc.startup.shipped import read_data, read_sections
from trainc.startup.typing import Literal, TypeAlias

NONE: frozenset[str] = frozenset()


def taking(**options: str) -> dict[str, str]:
    """Return `Launcher.options`: the names of those that take nothing are under `flags`, the others under their kind."""
    return {name: kind if kind != "flags" else "" for kind, names in options.items() for name in names.split()}


class OptionsOfFile(Mapping[str, str]):
    """`Launcher.options` in options.json beside a module, read for the first job that has the launcher."""

    def __init__(self, module: str, program: str) -> None:
        self._place = module, program

    @cached_property
    def _taking(self) -> dict[str, str]:
        module, program = self._place
        return taking(**read_data(module, "options.json")[program])

    def __getitem__(self, name: str) -> str:
        return self._taking[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._taking)

    def __len__(self) -> int:
        return len(self._taking)

    def __bool__(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Launcher:
    """The name of a launcher and the meaning of its options, as data.

    - `programs`, `modules`: what starts it: programs, followed by one of `subcommands` if there are any, and modules
      with `python -m`, followed by their own subcommand if they need one ("accelerate.commands.accelerate_cli launch").
    - `commands`: all that its program has, if it refuses other words in their place.
    - `options`: what each option of its parser takes, if it refuses all others: nothing (""), one of several words
      ("no fp16 bf16"), or a kind: "text", "integer", "count", "number", "port", "processes", "nodes" or "backend". `abbreviates`
      means that it accepts the beginning of an option, and `dashes` that it reads `-` in names as `_`.
    - `flags`, `pairs`: options with no value and with two values, of a launcher without `options`. Option names have no
      leading dashes and use `-` for `_`.
    - `nodes`, `per_node`, `total`, `rank`, `address`, `port`: number of nodes, processes per node, processes in the
      job, rank of the node, and where the nodes meet.
    - `alone`: options that keep each pod to itself.
    - `hosts`: options that list the machines explicitly.
    - `own_way`: options for a rendezvous that cannot be analyzed.
    - `reads`: the prefix of environment variables that replace options ("PET_").
    - `reaches`: where its processes run: on the "node" where it is started, or on all "hosts".
    """

    name: str
    programs: tuple[str, ...]
    modules: tuple[str, ...] = ()
    subcommands: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    abbreviates: bool = True
    dashes: bool = True
    flags: frozenset[str] = NONE
    pairs: frozenset[str] = NONE
    nodes: frozenset[str] = NONE
    per_node: frozenset[str] = NONE
    total: frozenset[str] = NONE
    rank: frozenset[str] = NONE
    address: frozenset[str] = NONE
    port: frozenset[str] = NONE
    alone: frozenset[str] = NONE
    hosts: frozenset[str] = NONE
    own_way: frozenset[str] = NONE
    reads: str = ""
    reaches: str = "node"

    def matching_options(self, spelling: str) -> list[str]:
        """Return the options that its parser takes `spelling` for: none if it knows no such option."""
        name = spelling.lstrip("-").replace("_", "-")
        if not spelling.startswith("--"):
            return [name[:1]] if name[:1] in self.options else []
        spellings = {spelling[2:].replace("_", "-"), spelling[2:].replace("-", "_")}
        if spelling[2:] not in spellings or ("-" in spelling[2:] and not self.dashes):
            return []
        if name in self.options and len(name) > 1:
            return [name]
        return [option for option in self.options if option.startswith(name)] if self.abbreviates else []


@dataclass(frozen=True, slots=True)
class Starting:
    """How the processes of a framework are started: by which launchers, and whether one is needed.

    If it is needed, a program without a launcher has no rank; otherwise, it reads the framework's variables itself.
    `hosts` means that the framework provides a list of hosts for a launcher that reaches them.
    """

    launchers: tuple[Launcher, ...]
    needed: bool
    hosts: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """An option: its `spelling` ("--nproc_per_node"), its normalized name, its value, and the index of its word.

    The name of an option that the launcher does not know is as written.
    """

    spelling: str
    name: str
    value: str | None
    index: int

    @property
    def word(self) -> str:
        """The option and its value as one word of the command line."""
        return f"{self.spelling}={self.value}"

    def instead(self, value: object, text: str = "") -> str:
        """Return the hint to write the option with another value."""
        word = f"{self.spelling}={value}"
        return suggest(self.word, [word], text or f"write {word}")


@dataclass(frozen=True, slots=True)
class Launch:
    """An invocation of a launcher: its options, and the words of the program that it launches."""

    launcher: Launcher
    options: tuple[Option, ...]
    program: tuple[str, ...]
    index: int
    variables: Mapping[str, str | None] = field(default_factory=dict)

    def find_option(self, names: frozenset[str]) -> Option | None:
        """Return the last option with one of these names, which takes precedence."""
        return next((option for option in reversed(self.options) if option.name in names), None)


def launch(launcher: Launcher, argv: Sequence[str], start: int) -> Launch:
    """Parse the arguments of `launcher`, which begin at `argv[start]`, as argparse would."""
    options: list[Option] = []
    at = start
    while at < len(argv) and argv[at].startswith("-") and argv[at] not in ("-", "--"):
        index, word = at, argv[at]
        spelling, equals, value = word.partition("=")
        matches = launcher.matching_options(spelling) if launcher.options else ()
        if launcher.options and " " in spelling and not matches:
            break  # A word with a space is no option, so it is the program.
        at += 1
        name = spelling if launcher.options else spelling.lstrip("-").replace("_", "-")
        if len(matches) == 1:
            name = matches[0]
        if equals:
            options.append(Option(spelling, name, value, index))
        elif len(matches) == 1 and not spelling.startswith("--") and len(spelling) > len("-m"):
            options.append(Option(spelling[:2], name, spelling[2:], index))
        elif (
            name in launcher.flags
            or launcher.options.get(name) == ""
            or (launcher.options and at < len(argv) and _is_option(argv[at]))
        ):
            options.append(Option(spelling, name, None, index))
        else:
            consumed = 2 if name in launcher.pairs else 1
            options.append(
                Option(spelling, name, " ".join(argv[at : at + consumed]) if at < len(argv) else None, index)
            )
            at += consumed
    at += at < len(argv) and argv[at] == "--"
    return Launch(launcher, tuple(options), tuple(argv[at:]), start - 1)


def _is_option(word: str) -> bool:
    """Return whether argparse takes a word for an option, and not for the value of the one before it."""
    negative_number = word[1:].replace(".", "", 1).isdecimal()
    return word.startswith("-") and word != "-" and " " not in word and not negative_number


# Slurm's launcher belongs to no framework, and needs a Slurm cluster.
SRUN = Launcher(
    name="srun",
    programs=("srun",),
    nodes=frozenset(("N", "nodes")),
    total=frozenset(("n", "ntasks")),
    per_node=frozenset(("ntasks-per-node",)),
    reaches="hosts",
)


# Which program the words of a command name.


Kind: TypeAlias = Literal["launcher", "python", "code", "shell", "sleep", "tool", "unknown"]

SHELLS = frozenset(("sh", "bash", "dash", "ash", "zsh", "ksh"))
_WORDS = {kind: words.split() for kind, words in read_sections(__file__, "programs.txt")["programs"]}
# Shell builtins, which only work in a shell; programs that run another one behind their own options, some of them only with
# a subcommand (`conda install torchrun` runs nothing); and programs and modules of Python that train nothing.
BUILTINS, _WRAPPERS = frozenset(_WORDS["builtins"]), frozenset(_WORDS["wrappers"])
_WRAPS_WITH = {name: sub for sub in ("run", "profile") for name in _WORDS[f"wrappers with {sub}"]}
_TOOLS, _TOOL_MODULES = BUILTINS | {*_WORDS["tools"]}, frozenset(_WORDS["modules"])
_PYTHON = pattern(r"python(\d(\.\d+)*)?|pypy3?|ipython3?")
_PYTHON_WITH_VALUE = frozenset(("-W", "-X", "--check-hash-based-pycs"))
_LOOKED_UP = pattern(r"\$\((?:which|command -v)\s+(\S+)\)|`which\s+(\S+)`")
_FOREVER = frozenset(("infinity", "inf", "1d", "7d", "24h"))
_LONG_SLEEP = 86_400


LoadLaunchers: TypeAlias = Callable[[], Iterable[Launcher]]


class Programs:
    """The known launchers, by program and Python module.

    `load_more` returns the launchers of other frameworks; it is only called if a command does not start with a known
    program.
    """

    def __init__(self, launchers: Iterable[Launcher], load_more: LoadLaunchers | None = None) -> None:
        self.by_program: dict[str, Launcher] = {}
        self.by_module: dict[str, Launcher] = {}
        for launcher in launchers:
            self.by_program.update(dict.fromkeys(launcher.programs, launcher))
            self.by_module.update(dict.fromkeys(launcher.modules, launcher))
        self._load_more = load_more
        self._all: Programs | None = None

    @property
    def launchers(self) -> Iterable[Launcher]:
        """The known launchers, each once."""
        return {id(launcher): launcher for launcher in self.by_program.values()}.values()

    @property
    def all(self) -> Programs:
        """The known launchers together with those of all other frameworks."""
        if self._load_more is None:
            return self
        if self._all is None:
            self._all = Programs([*self._load_more(), *self.by_program.values()])
        return self._all


@dataclass(frozen=True, slots=True)
class Program:
    """What a command runs: its kind, the index of the word that determined it, and the index of its first argument.

    "python" is a script or module, "code" is `python -c`, and "sleep" a program that waits for at least a day. A launcher
    is `guessed` if a program that is not known comes before it, which may run it or not.
    """

    kind: Kind
    index: int
    start: int
    launcher: Launcher | None = None
    guessed: bool = False


def program_name(word: str) -> str:
    """Return the name of a program without its path; for `$(which NAME)`, this is NAME."""
    match = _LOOKED_UP.fullmatch(word) if "$(" in word or "`" in word else None
    name = (match[1] or match[2]) if match else word
    return name.rpartition("/")[2]


def program_of(argv: Sequence[str], programs: Programs) -> Program:
    """Return the program that a simple command runs."""
    program = _find_program(argv, programs)
    certain = program.index == 0 and program.kind != "unknown" and "-m" not in argv
    if certain or program.kind == "launcher" or programs.all is programs:
        return program
    return _find_program(argv, programs.all)


def _find_program(argv: Sequence[str], programs: Programs) -> Program:
    wrapped = unknown = False
    for index, word in enumerate(argv):
        name = program_name(word)
        program = _recognize(argv, index, name, programs)
        # A launcher that starts nothing is a value, as in `--launcher torchrun`.
        if program is not None and not (unknown and (program.kind != "launcher" or program.start == len(argv))):
            return replace(program, guessed=True) if unknown else program
        if wrapped and name.endswith(".py") and " " not in word:
            return Program("python", index, index)
        if index == 0 or (wrapped and not unknown and not word.startswith("-")):
            if name == "command" and argv[index + 1 : index + 2] in (["-v"], ["-V"], ("-v",), ("-V",)):
                return Program("tool", index, index + 1)
            if name in _WRAPPERS and (name not in _WRAPS_WITH or _WRAPS_WITH[name] in argv[index + 1 : index + 6]):
                wrapped = True
            elif index == 0:
                if _waits(name, argv[1:]):
                    return Program("sleep", 0, 1)
                if name in _TOOLS:
                    return Program("tool", 0, 1)
                unknown = True
    return Program("unknown", 0, 1)


def _recognize(argv: Sequence[str], index: int, name: str, programs: Programs) -> Program | None:
    launcher = programs.by_program.get(name)
    if launcher is not None:
        return _launcher_program(launcher, argv, index)
    if name.startswith(("py", "ipy")) and _PYTHON.fullmatch(name):
        return _python_program(argv, index, programs)
    if name in SHELLS:
        return Program("shell", index, index + 1)
    return None


def _launcher_program(launcher: Launcher, argv: Sequence[str], index: int) -> Program | None:
    """Return a launcher if its subcommand follows; with another subcommand it is a tool."""
    if not launcher.subcommands or launcher.programs.index(program_name(argv[index])) > 0:
        return Program("launcher", index, index + 1, launcher)
    if index + 1 < len(argv) and argv[index + 1] in launcher.subcommands:
        return Program("launcher", index, index + 2, launcher)
    return Program("tool", index, index + 1) if index == 0 else None


def _python_program(argv: Sequence[str], index: int, programs: Programs) -> Program:
    at = index + 1
    while at < len(argv) and argv[at].startswith("-") and argv[at] != "-":
        word = argv[at]
        if word.startswith("-m") or (word.startswith("-") and not word.startswith("--") and word.endswith("m")):
            attached = word.startswith("-m") and len(word) > 2
            module = word[2:] if attached else next(iter(argv[at + 1 : at + 2]), "")
            after = at + 1 + (module != word[2:])
            for name, start in ((module, after), (" ".join((module, *argv[after : after + 1])), after + 1)):
                if (launcher := programs.by_module.get(name)) is not None:
                    return Program("launcher", at, start, launcher)
            return Program("tool" if module.partition(".")[0] in _TOOL_MODULES else "python", index, after)
        if word == "-c" or (not word.startswith("--") and word.endswith("c")):
            return Program("code", index, at + 1)
        at += 2 if word in _PYTHON_WITH_VALUE else 1
    if at >= len(argv):
        return Program("tool", index, at)
    launcher = programs.by_program.get(program_name(argv[at]))
    if launcher is not None and not launcher.subcommands:
        return Program("launcher", at, at + 1, launcher)
    return Program("python", index, at)


def _waits(name: str, arguments: Sequence[str]) -> bool:
    if name == "sleep":
        return any(a in _FOREVER or (whole_number(a.rstrip("s")) or 0) >= _LONG_SLEEP for a in arguments)
    return (
        name == "tail" and "/dev/null" in arguments and any(a.startswith("-") and "f" in a.lower() for a in arguments)
    )
