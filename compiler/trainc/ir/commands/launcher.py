"""Launchers: programs that start the training processes, with the options for their number and rendezvous."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trainc.findings import suggest
from trainc.startup.records import dataclass, field

NONE: frozenset[str] = frozenset()


def taking(**options: str) -> dict[str, str]:
    """Return `Launcher.options`: the names of those that take nothing are under `flags`, the others under their kind."""
    return {name: kind if kind != "flags" else "" for kind, names in options.items() for name in names.split()}


@dataclass(frozen=True, slots=True)
class Launcher:
    """The name of a launcher and the meaning of its options, as data.

    - `programs`, `modules`: what starts it: programs, followed by one of `subcommands` if there are any, and modules
      with `python -m`, followed by their own subcommand if they need one ("accelerate.commands.accelerate_cli launch").
    - `commands`: all that its program has, if it refuses other words in their place.
    - `options`: what each option of its parser takes, if it refuses all others: nothing (""), one of several words
      ("no fp16 bf16"), or a kind: "text", "integer", "count", "number", "port", "processes", "nodes" or "backend". `abbreviates`
      means that it accepts the beginning of an option, and `dashes` that it reads `-` in names as `_`.
    - `flags`, `pairs`: options with no value and with two values, of a launcher without `options`. Option names have no leading dashes and use `-` for
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
    together: frozenset[str] = NONE
    hosts: frozenset[str] = NONE
    own_way: frozenset[str] = NONE
    reads: str = ""
    reaches: str = "node"

    def meant(self, written: str) -> list[str]:
        """Return the options that its parser takes `--written` for: none if it knows no such option."""
        name = written.lstrip("-").replace("_", "-")
        if not written.startswith("--"):
            return [name[:1]] if name[:1] in self.options else []
        spellings = {written[2:].replace("_", "-"), written[2:].replace("-", "_")}
        if written[2:] not in spellings or ("-" in written[2:] and not self.dashes):
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
    """An option as `written` ("--nproc_per_node"), its normalized name, its value, and the index of its word.

    The name of an option that the launcher does not know is as written.
    """

    written: str
    name: str
    value: str | None
    index: int

    @property
    def word(self) -> str:
        """The option and its value as one word of the command line."""
        return f"{self.written}={self.value}"

    def instead(self, value: object, text: str = "") -> str:
        """Return the hint to write the option with another value."""
        word = f"{self.written}={value}"
        return suggest(self.word, [word], text or f"write {word}")


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
    """Parse the arguments of `launcher`, which begin at `words[start]`, as argparse would."""
    options: list[Option] = []
    at = start
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "--"):
        index, word = at, words[at]
        written, equals, value = word.partition("=")
        matches = launcher.meant(written) if launcher.options else ()
        if launcher.options and " " in written and not matches:
            break  # A word with a space is no option, so it is the program.
        at += 1
        name = written if launcher.options else written.lstrip("-").replace("_", "-")
        if len(matches) == 1:
            name = matches[0]
        if equals:
            options.append(Option(written, name, value, index))
        elif len(matches) == 1 and not written.startswith("--") and len(written) > len("-m"):
            options.append(Option(written[:2], name, written[2:], index))
        elif (
            name in launcher.flags
            or launcher.options.get(name) == ""
            or (launcher.options and at < len(words) and _is_option(words[at]))
        ):
            options.append(Option(written, name, None, index))
        else:
            consumed = 2 if name in launcher.pairs else 1
            options.append(Option(written, name, words[at] if at < len(words) else None, index))
            at += consumed
    at += at < len(words) and words[at] == "--"
    return Launch(launcher, tuple(options), tuple(words[at:]), start - 1)


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
