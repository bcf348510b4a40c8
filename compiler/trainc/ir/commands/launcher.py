"""A launcher: a program that starts the processes of training, with the options that say how many and where they meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trainc.startup.records import dataclass, field

NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Launcher:
    """What a launcher is called and which of its options mean what, as data.

    `programs` and `modules` (of `python -m`) start it, followed by one of `subcommands` where it has some. Option names
    are without dashes before them and with `-` for `_`. `flags` take no value, `pairs` two. `nodes`, `per_node`,
    `total` (processes of the whole job), `rank` (of a node), `address` (where the nodes meet) and `port` are what a rank
    needs; `alone` keeps each pod to itself, as does the lack of all of `together`; `hosts` bring a list of machines of their own; `own_way` say that the nodes
    meet in a way that cannot be seen here. `reads` begins the names of the variables that stand for options ("PET_").
    `reaches` is where its processes run: on the "node" that it is started on, or on all "hosts" from one of them.
    """

    name: str
    programs: tuple[str, ...]
    modules: tuple[str, ...] = ()
    subcommands: tuple[str, ...] = ()
    flags: frozenset[str] = NONE
    pairs: frozenset[str] = NONE
    nodes: frozenset[str] = NONE
    per_node: frozenset[str] = NONE
    total: frozenset[str] = NONE
    rank: frozenset[str] = NONE
    address: frozenset[str] = NONE
    port: frozenset[str] = NONE
    alone: frozenset[str] = NONE
    together: frozenset[str] = NONE
    hosts: frozenset[str] = NONE
    own_way: frozenset[str] = NONE
    reads: str = ""
    reaches: str = "node"


@dataclass(frozen=True, slots=True)
class Starting:
    """How the processes of a framework start: by which launchers, and whether they need one.

    Where they do, a program that is started alone finds no rank; where not, it reads the framework's variables itself.
    `hosts` is whether the framework lists the job's hosts for a launcher that reaches them.
    """

    launchers: tuple[Launcher, ...]
    needed: bool
    hosts: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """An option as it is `written` ("--nproc_per_node"), its normal name, its value, and the index of its word."""

    written: str
    name: str
    value: str | None
    index: int


@dataclass(frozen=True, slots=True)
class Launch:
    """A launcher that a command starts: its options, and the words of what it launches."""

    launcher: Launcher
    options: tuple[Option, ...]
    program: tuple[str, ...]
    index: int
    variables: Mapping[str, str | None] = field(default_factory=dict)

    def given(self, names: frozenset[str]) -> Option | None:
        """The last option of these names, which is the one that counts."""
        return next((option for option in reversed(self.options) if option.name in names), None)


def launch(launcher: Launcher, words: Sequence[str], start: int) -> Launch:
    """What `words`, whose arguments of `launcher` begin at `start`, launch."""
    options: list[Option] = []
    at = start
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "--"):
        index, word = at, words[at]
        at += 1
        written, equals, value = word.partition("=")
        name = written.lstrip("-").replace("_", "-")
        if equals:
            options.append(Option(written, name, value, index))
        elif name in launcher.flags:
            options.append(Option(written, name, None, index))
        else:
            taken = 2 if name in launcher.pairs else 1
            options.append(Option(written, name, words[at] if at < len(words) else None, index))
            at += taken
    at += at < len(words) and words[at] == "--"
    return Launch(launcher, tuple(options), tuple(words[at:]), start - 1)


# Slurm's, which is of no framework and needs a cluster of its own.
SRUN = Launcher(
    name="srun",
    programs=("srun",),
    nodes=frozenset(("N", "nodes")),
    total=frozenset(("n", "ntasks")),
    per_node=frozenset(("ntasks-per-node",)),
    reaches="hosts",
)
