"""Lists what a container's command line starts: a single program, or the commands of a shell script, in order.

What a script sets before a command is put into its words, as far as it is known; the rest keeps its `$NAME`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from trainc.ir.commands.programs import Kind, Launch, Program, Programs, launch, program_name, program_of
from trainc.ir.entrypoints import shell_script
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, replace
from trainc.startup.typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re

    from trainc.ir.commands.shell import Assignment, Command, Item

# Builtins that set the variables that they are given.
_READING = frozenset(("read", "mapfile", "readarray", "getopts", "let", "unset"))
_REFERENCE = pattern(r"\$(?:\{([A-Za-z_]\w*|\d|@|\*)\}|([A-Za-z_]\w*|\d|@|\*))")
_ONLY_REFERENCE = pattern(r"\$(?:\{([A-Za-z_]\w*|[@*])(?:\[[@*]\])?\}|([A-Za-z_]\w*|[@*]))")
_SET_BY_DEFAULT = pattern(r"\$\{([A-Za-z_]\w*):?=")
# `bash -c` inside `bash -c`, which nobody reads deeper.
_MOST_SHELLS = 4
# Characters that the variables of a script may add to its commands, beyond its own length.
_MOST_EXPANDED = 20_000


class Variables(Mapping[str, str | None]):
    """The variables that a script has set when one of its commands starts, with None for unknown values.

    All commands of a script share one history, in which each sees what was set before it.
    """

    __slots__ = ("_assigned", "_at", "_history")

    def __init__(
        self, history: Mapping[str, list[tuple[int, str | None]]], at: int, assigned: dict[str, str | None]
    ) -> None:
        self._history = history
        self._at = at
        self._assigned = assigned

    def __getitem__(self, name: str) -> str | None:
        if name in self._assigned:
            return self._assigned[name]
        from bisect import bisect_right

        changes = self._history.get(name, ())
        before = bisect_right(changes, self._at, key=lambda change: change[0])
        if not before:
            raise KeyError(name)
        return changes[before - 1][1]

    def __iter__(self) -> Iterator[str]:
        yield from self._assigned
        yield from (n for n, changes in self._history.items() if n not in self._assigned and changes[0][0] <= self._at)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def assigned(self) -> Iterable[str]:
        """The names that are set for this command alone."""
        return self._assigned

    def __bool__(self) -> bool:
        return bool(self._assigned) or self._at > 0


NOTHING_SET = Variables({}, 0, {})


@dataclass(frozen=True, slots=True)
class Start:
    """A command: its words, the program, and whether it always runs.

    `variables` are those that the script has set so far. `line` is 0-based and relative to the script. `raw_words` are the
    words before the script's variables are put into them.
    """

    argv: tuple[str, ...]
    program: Program
    sure: bool
    line: int = 0
    variables: Variables = NOTHING_SET
    launch: Launch | None = None
    raw_words: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the program that its first word calls, without its path."""
        return program_name(self.argv[0])

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

    argv: tuple[str, ...]
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
        """Return whether the script starts anything in the background."""
        return any(_runs_in_background(item) for item in self.items)

    def starts_of(self, *kinds: Kind) -> tuple[Start, ...]:
        """Return the commands of these kinds."""
        return tuple(start for start in self.starts if start.kind in kinds)


def _runs_in_background(item: Item) -> bool:
    from trainc.ir.commands.shell import Compound

    bodies = (stage.body for stage in item.stages if isinstance(stage, Compound))
    return item.then == "&" or any(_runs_in_background(inner) for body in bodies for inner in body)


@lru_cache(maxsize=512)
def read_command(argv: tuple[str, ...], programs: Programs) -> CommandLine:
    """Return what a command line starts. A script that cannot be parsed has no starts."""
    script = shell_script(argv)
    if script is None:
        # Jobs that differ only in the arguments of a Python script share a cache entry.
        end = next((i for i, word in enumerate(argv) if word.endswith(".py")), len(argv)) + 1
        return CommandLine(argv, (_start_alone(argv[:end], programs),) if argv else ())
    # Only import the shell parser for scripts.
    from trainc.ir.commands.shell import read_script
    from trainc.ir.commands.shell_words import UnreadableScriptError

    at = argv.index(script)
    try:
        items = read_script(script)
        starts = tuple(_Script(len(script), argv[at + 1 :], programs).starts(items))
    except UnreadableScriptError as error:
        return CommandLine(argv, (), at, (), str(error))
    return CommandLine(argv, starts, at, items)


@lru_cache(maxsize=512)
def _start_alone(argv: tuple[str, ...], programs: Programs) -> Start:
    return _start(argv, programs, sure=True)


def _start(argv: tuple[str, ...], programs: Programs, *, sure: bool) -> Start:
    program = program_of(argv, programs)
    invocation = launch(program.launcher, argv, program.start) if program.launcher is not None else None
    return Start(argv, program, sure, launch=invocation)


class _Script:
    """The commands of one script, and what it has set so far. `arguments` are `$0` and those behind it."""

    def __init__(self, length: int, arguments: Sequence[str], programs: Programs, depth: int = 1) -> None:
        self.programs = programs
        self.depth = depth
        self.left = length + _MOST_EXPANDED
        self.count = 0
        self.history: dict[str, list[tuple[int, str | None]]] = {}
        self.arrays: dict[str, tuple[str, ...]] = {"@": tuple(arguments[1:])}
        for index, argument in enumerate((*arguments, *[""] * (10 - len(arguments))) if arguments else ()):
            self._assign(str(index), argument)

    def starts(self, items: tuple[Item, ...]) -> Iterator[Start]:
        """Yield the commands that the script starts, in order, those of nested shells behind the shell."""
        from trainc.ir.commands.shell import DECLARING, commands

        for command, sure in commands(items):
            settings = [self._value(assignment, sure=sure) for assignment in command.assignments]
            if not command.words or command.words[0] in DECLARING:
                for name, value, array in settings:
                    self._assign(name, value, array)
                continue
            argv = self._expand(command, sure=sure)
            argv = argv[argv[0] == "exec" and argv[1:2] != ("-a",) :] if argv[1:] else argv
            if not argv:
                continue  # Nothing is left of `$COMMAND` that is empty.
            variables = Variables(self.history, self.count, {name: value for name, value, _ in settings})
            start = _start(argv, self.programs, sure=sure)
            invocation = replace(start.launch, variables=variables) if start.launch is not None else None
            start = Start(argv, start.program, sure, command.line, variables, invocation, command.words)
            yield start
            yield from self._nested_starts(start)
            self._record_effects(command)

    def _assign(self, name: str, value: str | None, array: tuple[str, ...] | None = None) -> None:
        self.count += 1
        self.history.setdefault(name, []).append((self.count, value))
        self.arrays.pop(name, None)
        if array is not None:
            self.arrays[name] = array

    def _value(self, assignment: Assignment, *, sure: bool) -> tuple[str, str | None, tuple[str, ...] | None]:
        name, array = assignment.name, assignment.array
        before = self.history.get(name, [(0, "")])[-1][1] if assignment.appends else ""
        items = self.arrays.get(name, ()) if assignment.appends else ()
        self.left -= len(before or "") + len(items)
        if not sure or before is None or self.left < 0:
            return name, None, None
        if array is not None:
            words = (*items, *self._expand_words(array, frozenset()))
            return name, words[0] if words else "", words
        return name, before + self._substitute(assignment.value), None

    def _substitute(self, word: str) -> str:
        """Return a word with the values that are known put in."""
        if "$" not in word:
            return word

        def value(match: re.Match[str]) -> str:
            current = self.history.get(match[1] or match[2], [(0, None)])[-1][1]
            if current is None or len(current) > self.left:
                return match[0]
            self.left -= len(current)
            return current

        return _REFERENCE.sub(value, word)

    def _expand(self, command: Command, *, sure: bool) -> tuple[str, ...]:
        if not any("$" in word for word in command.words):
            return command.words
        # In a function or a loop, `$@` and `$1` have other values.
        if not sure and any(word.startswith(("$@", "${@", "$*", "$1", "$2", "${1", "${2")) for word in command.words):
            return command.words
        return tuple(self._expand_words(command.words, command.quoted))

    def _expand_words(self, words: Sequence[str], quoted: frozenset[int]) -> Iterator[str]:
        """Yield words with known values put in: an array as its words, an unquoted text split at its spaces."""
        for index, word in enumerate(words):
            reference = _ONLY_REFERENCE.fullmatch(word) if word.startswith("$") else None
            name = (reference[1] or reference[2]) if reference else ""
            if name == "*":
                name = "@"
            array = self.arrays.get(name)
            if array is not None and (name == "@" or word.endswith(("[@]}", "[*]}"))):
                self.left -= sum(map(len, array))
                yield from array if self.left > 0 else (word,)
                continue
            text = self._substitute(word)
            splits = name and index not in quoted and text != word and not any(c in text for c in "`(")
            yield from text.split() if splits else (text,)

    def _record_effects(self, command: Command) -> None:
        """Record what a command that has run may have set, or may have put in the place of the arguments."""
        name, words = command.words[0], command.words[1:]
        if name in _READING or (name == "printf" and words[:1] == ("-v",)):
            for word in words:
                self._assign(word.partition("=")[0], None)
        elif name in ("set", "shift") and (name == "shift" or "--" in words):
            self.arrays.pop("@", None)
            for number in range(10):
                if str(number) in self.history:
                    self._assign(str(number), None)
        for word in command.words:
            if "=" in word and "${" in word:
                for match in _SET_BY_DEFAULT.finditer(word):
                    self._assign(match[1], None)

    def _nested_starts(self, start: Start) -> Iterator[Start]:
        """Yield what a nested shell runs."""
        script = shell_script(start.argv) if start.kind == "shell" and self.depth < _MOST_SHELLS else None
        if script is None:
            return
        from trainc.ir.commands.shell import read_script
        from trainc.ir.commands.shell_words import plain

        arguments = start.argv[start.argv.index(script) + 1 :]
        inner = _Script(len(script), arguments, self.programs, self.depth + 1)
        for nested in inner.starts(read_script(plain(script))):
            yield replace(nested, sure=nested.sure and start.sure, line=start.line)
