"""Launchers: programs that start the training processes, with the options for their number and rendezvous."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trainc.startup.records import dataclass, field

NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Launcher:
    """The name of a launcher and the meaning of its options, as data.

    - `programs`, `modules`: what starts it (modules with `python -m`), followed by one of `subcommands` if there are
      any.
    - `flags`, `pairs`: options with no value and with two values. Option names have no leading dashes and use `-` for
      `_`.
    - `nodes`, `per_node`, `total`, `rank`, `address`, `port`: number of nodes, processes per node, processes in the
      job, rank of the node, and where the nodes meet.
    - `alone`: options that keep each pod to itself, as the absence of all `together` options does.
    - `hosts`: options that list the machines explicitly.
    - `own_way`: options for a rendezvous that cannot be analyzed.
    - `reads`: the prefix of environment variables that replace options ("PET_").
    - `reaches`: where its processes run: on the "node" where it is started, or on all "hosts".
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
    """How the processes of a framework are started: by which launchers, and whether one is needed.

    If it is needed, a program without a launcher has no rank; otherwise, it reads the framework's variables itself.
    `hosts` means that the framework provides a list of hosts for a launcher that reaches them.
    """

    launchers: tuple[Launcher, ...]
    needed: bool
    hosts: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """An option as `written` ("--nproc_per_node"), its normalized name, its value, and the index of its word."""

    written: str
    name: str
    value: str | None
    index: int


@dataclass(frozen=True, slots=True)
class Launch:
    """An invocation of a launcher: its options, and the words of the program that it launches."""

    launcher: Launcher
    options: tuple[Option, ...]
    program: tuple[str, ...]
    index: int
    variables: Mapping[str, str | None] = field(default_factory=dict)

    def given(self, names: frozenset[str]) -> Option | None:
        """Return the last option with one of these names, which takes precedence."""
        return next((option for option in reversed(self.options) if option.name in names), None)


def launch(launcher: Launcher, words: Sequence[str], start: int) -> Launch:
    """Parse the arguments of `launcher`, which begin at `words[start]`."""
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


# Slurm's launcher belongs to no framework, and needs a Slurm cluster.
SRUN = Launcher(
    name="srun",
    programs=("srun",),
    nodes=frozenset(("N", "nodes")),
    total=frozenset(("n", "ntasks")),
    per_node=frozenset(("ntasks-per-node",)),
    reaches="hosts",
)
