"""Lists what a container's command line starts: a single program, or the commands of a shell script, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from trainc.ir.commands.launcher import Launch, launch
from trainc.ir.commands.programs import Kind, Program, Programs, program_of
from trainc.ir.entrypoints import shell_script
from trainc.startup.records import dataclass, field, replace

if TYPE_CHECKING:
    from trainc.ir.commands.shell import Item

_DECLARING = frozenset(("export", "declare", "readonly", "local", "typeset"))


@dataclass(frozen=True, slots=True)
class Start:
    """A command: its words, the program, and whether it always runs.

    `variables` are those that the script has set so far, with None for unknown values. `line` is 0-based and relative to
    the script.
    """

    words: tuple[str, ...]
    program: Program
    sure: bool
    line: int = 0
    variables: Mapping[str, str | None] = field(default_factory=dict)
    launch: Launch | None = None

    @property
    def kind(self) -> Kind:
        """The kind of program that it runs."""
        return self.program.kind


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A parsed command line.

    `script` is the index of the word with the shell script, or None if there is no shell. `items` is the structure of
    the script. `unclosed` is the opening character if the script cannot be parsed.
    """

    words: tuple[str, ...]
    starts: tuple[Start, ...]
    script: int | None = None
    items: tuple[Item, ...] = ()
    unclosed: str = ""

    def word(self, index: int) -> int:
        """Return the index in the container's words for the word of a start."""
        return index if self.script is None else self.script

    @property
    def launches(self) -> tuple[Launch, ...]:
        """All launchers that are started, in order."""
        return tuple(start.launch for start in self.starts if start.launch is not None)

    @property
    def background(self) -> bool:
        """Whether the script starts anything in the background."""
        return any(_goes_on(item) for item in self.items)

    def ran(self, *kinds: Kind) -> tuple[Start, ...]:
        """Return the commands of these kinds."""
        return tuple(start for start in self.starts if start.kind in kinds)


def _goes_on(item: Item) -> bool:
    from trainc.ir.commands.shell import Compound

    bodies = (stage.body for stage in item.stages if isinstance(stage, Compound))
    return item.then == "&" or any(_goes_on(inner) for body in bodies for inner in body)


@lru_cache(maxsize=512)
def read_command(words: tuple[str, ...], programs: Programs) -> CommandLine:
    """Return what a command line starts. A script that cannot be parsed has no starts."""
    script = shell_script(words)
    if script is None:
        return CommandLine(words, (_start_alone(_before_arguments(words), programs),) if words else ())
    # Only import the shell parser for scripts.
    from trainc.ir.commands.shell import read_script
    from trainc.ir.commands.shell_words import UnclosedError

    at = words.index(script)
    try:
        items = read_script(script)
        starts = tuple(_of_script(items, programs))
    except UnclosedError as error:
        return CommandLine(words, (), at, (), str(error))
    except RecursionError:
        return CommandLine(words, (), at)
    return CommandLine(words, starts, at, items)


def _before_arguments(words: tuple[str, ...]) -> tuple[str, ...]:
    """Drop the arguments of a Python script, so that jobs that differ only in these share a cache entry."""
    return words[: next((i for i, word in enumerate(words) if word.endswith(".py")), len(words)) + 1]


@lru_cache(maxsize=512)
def _start_alone(words: tuple[str, ...], programs: Programs) -> Start:
    return _start(words, programs, sure=True)


def _start(words: tuple[str, ...], programs: Programs, *, sure: bool) -> Start:
    program = program_of(words, programs)
    found = launch(program.launcher, words, program.start) if program.launcher is not None else None
    return Start(words, program, sure, launch=found)


def _of_script(items: tuple[Item, ...], programs: Programs) -> Iterator[Start]:
    from trainc.ir.commands.shell import commands

    known: dict[str, str | None] = {}
    for command, sure in commands(items):
        words = command.words
        set_here = dict(command.assignments)
        if words and words[0] in _DECLARING:
            set_here |= {name: value for name, equals, value in (w.partition("=") for w in words[1:]) if equals}
        settings = {name: value if sure else None for name, value in set_here.items()}
        if not words or words[0] in _DECLARING:
            known |= settings
            continue
        variables = {**known, **settings}
        start = replace(_start(words, programs, sure=sure), line=command.line, variables=variables)
        if start.launch is not None:
            start = replace(start, launch=replace(start.launch, variables=variables))
        yield start
        yield from _nested(start, programs)


def _nested(start: Start, programs: Programs) -> Iterator[Start]:
    """Yield what a nested shell runs."""
    if start.kind == "shell" and (script := shell_script(start.words)) is not None:
        from trainc.ir.commands.shell import read_script
        from trainc.ir.commands.shell_words import plain

        for inner in _of_script(read_script(plain(script)), programs):
            yield replace(inner, sure=inner.sure and start.sure, line=start.line)
