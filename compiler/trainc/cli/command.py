"""What a command is, which there are, and how the words of each are read: the table of contents of the command line.

What its help says and the words that it takes are files; the module with what it does is imported when the words are right.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import SimpleNamespace

from trainc.features import features
from trainc.options import SETTINGS, Limits, Setting
from trainc.startup import import_module
from trainc.startup.records import dataclass, fields
from trainc.startup.shipped import read_data, read_text
from trainc.startup.typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TextIO, TypeVar, cast

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    class CommandModule(Protocol):
        """What a command does."""

        run: Callable[[Arguments, Streams], Status]


class Arguments(SimpleNamespace):
    """The parsed arguments of a command, as attributes."""

    @property
    def environment(self) -> str:
        """The environment of trainc.yaml that they select; empty if none."""
        return self.env[0] if self.env else ""

    def but(self, **changes: Any) -> Arguments:
        """Return them with changes."""
        return Arguments(**{**vars(self), **changes})


class Status(int):
    """Exit codes: success; input refused or `--check` found differences; usage error; internal error in trainc."""

    # Not an enum: importing `enum` takes as long as importing ten modules of trainc.
    DONE: Status
    DIAGNOSED: Status
    USAGE: Status
    DEFECT: Status


Status.DONE, Status.DIAGNOSED, Status.USAGE, Status.DEFECT = map(Status, range(4))


T = TypeVar("T")
_PATIENCE = 1.0
_BETWEEN = 0.1
_BAR = 30


class Progress:
    """Rewrites one line of a terminal in place, without colors, using only a carriage return."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Without a stream, nothing is shown."""
        self._stream = stream or sys.stderr
        self._on = stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
        self._next = time.monotonic() + _PATIENCE if self._on else 0.0
        self._shown = 0

    def step(self, label: str, done: int, total: int | None = None) -> None:
        """Report that `done` of `total` are done; `total` is None if unknown."""
        self.show(lambda: _line(label, done, total))

    def show(self, line: Callable[[], str]) -> None:
        """Show the line if there is a terminal and the last update is long enough ago; it is computed only then."""
        if self._on and (now := time.monotonic()) >= self._next:
            self._next = now + _BETWEEN
            self._write(line()[: _columns(self._stream) - 1])

    def over(self, label: str, items: Sequence[T]) -> Iterator[T]:
        """Yield the items, and report each."""
        for number, item in enumerate(items, start=1):
            self.step(label, number, len(items))
            yield item

    def clear(self) -> None:
        """Clear the line for subsequent output."""
        if self._shown:
            self._write("")
            self._stream.write("\r")
            self._stream.flush()

    def _write(self, line: str) -> None:
        self._stream.write(f"\r{line.ljust(self._shown)}")
        self._stream.flush()
        self._shown = len(line)


def _line(label: str, done: int, total: int | None) -> str:
    if not total:
        return f"{label} {done:,}"
    full = _BAR * done // total
    return f"{label} [{'#' * full}{'.' * (_BAR - full)}] {done:,} of {total:,}"


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


@dataclass(frozen=True, slots=True)
class Streams:
    """The streams of a command: products go to `out` as bytes, messages about them to `err`.

    `progress` says on a terminal how far a command has come; it is cleared before the command writes anything.
    """

    stdin: BinaryIO
    out: BinaryIO
    err: TextIO
    progress: Progress = Progress()

    def write(self, text: str) -> None:
        """Write text to `out` as UTF-8; what that cannot say, such as a stray byte of an argument, is escaped."""
        self.out.write(text.encode("utf-8", "backslashreplace"))


class TerminatedError(KeyboardInterrupt):
    """SIGTERM has ended a command while it had a temporary folder."""


def temporary_folder(prefix: str) -> AbstractContextManager[str]:
    """Yield the path of a new folder that is gone at the end, also if that comes with SIGTERM."""
    import signal
    from contextlib import contextmanager, suppress
    from tempfile import TemporaryDirectory

    def terminate(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # A second one would interrupt the removal.
        raise TerminatedError

    @contextmanager
    def made() -> Iterator[str]:
        before = None
        with suppress(ValueError):  # Only the main thread of a process has signals.
            before = signal.signal(signal.SIGTERM, terminate)
        try:
            with TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as folder:
                yield folder
        finally:
            if before is not None:
                signal.signal(signal.SIGTERM, before)

    return made()


class UsageError(Exception):
    """Arguments that are valid individually but not in combination; the message is shown to the user."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name, its line in the overview and the group in which that stands, and the module of what it does.

    `declared` is the path, but for their ending, of the text of its help and of the rows of what it takes.
    """

    name: str
    summary: str
    group: str
    module: str
    declared: str

    def load(self) -> CommandModule:
        """Import what the command does."""
        return cast("CommandModule", import_module(self.module))

    def help_text(self) -> str:
        """Return what the help says above and below the arguments."""
        return read_text(__file__, f"{self.declared}.txt").strip()

    def rows(self) -> Sequence[Any]:
        """Return what the command takes."""
        return cast("Sequence[Any]", read_data(__file__, f"{self.declared}.json"))


# The groups of the overview, in the order in which people meet them.
GROUPS = {
    "write": "Write and compile",
    "look": "Understand",
    "cluster": "Look at a cluster",
    "move": "Bring jobs along",
    "tools": "For other tools",
}


_CORE_COMMANDS = (
    ("check", "validate and lint without writing anything", "write"),
    ("build", "compile TrainJobs into manifests", "write"),
    ("runtimes", "list or show the built-in runtimes", "write"),
    ("explain", "show which file, patch or plugin set each output field", "look"),
    ("rule", "explain a diagnostic code", "look"),
    ("schema", "print the JSON Schema of TrainJobs and runtimes for editors", "tools"),
    ("completion", "print a shell completion script", "tools"),
    ("help", "show help for a command or topic", "tools"),
    ("version", "print the version and the upstream releases it follows", "tools"),
)
_OWN_COMMANDS = [Command(*row, f"trainc.cli.{row[0]}", f"arguments/{row[0]}") for row in _CORE_COMMANDS]
# As one meets them: a job is written before it is checked. The others keep their order, by group.
_FIRST = ("new", "check", "build", "init")


@cache
def commands() -> tuple[Command, ...]:
    """Return all commands, as the overview lists them."""
    of_features = [
        Command(one.command, one.summary, one.group, f"{one.package}.command", os.path.join(one.folder, "arguments"))
        for one in features()
        if one.command
    ]
    return tuple(
        sorted(
            [*_OWN_COMMANDS, *of_features],
            key=lambda c: (list(GROUPS).index(c.group), _FIRST.index(c.name) if c.name in _FIRST else len(_FIRST)),
        )
    )


def command_named(name: str) -> Command | None:
    """Return a command. The table of features is read only for one that is not among the compiler's own."""
    own = (command for command in _OWN_COMMANDS if command.name == name)
    return next(own, None) or next((command for command in commands() if command.name == name), None)


class HelpText(Exception):
    """The text that --help asks for."""


def arguments_of(name: str, command_line: Sequence[str]) -> Arguments:
    """Parse the words of the command with this name.

    Errors: HelpText if they ask for it; argparse prints what is wrong, and raises SystemExit.
    """
    from trainc.cli.words import plain_arguments

    command = command_named(name)
    assert command is not None
    asks_for_help = "-h" in command_line or "--help" in command_line
    plain = None if asks_for_help else plain_arguments(command, command_line)
    if plain is not None:
        return plain
    from trainc.cli.parser import build_parser, parse_arguments

    return parse_arguments(build_parser(command), command_line)


# The rows of arguments, in JSON beside what a command does. A row has the words of argparse's `add_argument`, or it is a
# group of rows; a word stands for arguments that several commands take: rows of arguments/in_common.json, or what is made
# here of the compile options and limits. A value that begins with `trainc.` names what is meant.
#
# An argument that is not given is None, so that trainc.yaml can speak for it; settings.py puts the two together.


def add_rows(parser: Any, rows: Sequence[Any]) -> None:
    """Add what rows say, in the groups in which help shows them."""
    for row in rows:
        if isinstance(row, str):
            add_rows(parser, in_common(row))
        elif "group" in row:
            add_rows(parser.add_argument_group(row["group"]), row["arguments"])
        elif "topic" in row:  # Options that `trainc help TOPIC` explains and that the command's own help omits.
            group = parser.add_argument_group(f"{row['topic']} options")
            group.topic = row["topic"]
            add_rows(group, row["arguments"])
        elif "exclusive" in row:
            add_rows(parser.add_mutually_exclusive_group(), row["exclusive"])
        elif "actions" in row:
            actions = parser.add_subparsers(dest="action", metavar="ACTION")
            parser.set_defaults(**row["defaults"])
            for name, action in row["actions"].items():
                looks = {"formatter_class": parser.formatter_class, "allow_abbrev": False}
                add_rows(actions.add_parser(name, help=action["help"], **looks), action["arguments"])
        else:
            names, words = argument_of(row)
            parser.add_argument(*names, **words)


def argument_of(row: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Return the names and the words that `add_argument` takes."""
    words = {
        key: _named(value) if key != "type" and isinstance(value, str) and value.startswith(_OWN) else value
        for key, value in row.items()
    }
    if isinstance(target := words.get("type"), str):
        words["type"] = int if target == "int" else _reader(target)
    return words.pop("flags").split(), words


def in_common(word: str) -> Sequence[Any]:
    """Return the rows that a word stands for."""
    return _MADE[word]() if word in _MADE else cast("Sequence[Any]", _in_common()[word])


@cache
def _in_common() -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", read_data(__file__, "arguments/in_common.json"))


_OWN = "trainc."


def _named(target: str) -> Any:
    module, _, name = target.rpartition(".")
    return getattr(import_module(module), name)


def _reader(target: str) -> Callable[[str], Any]:
    """Return what reads a word, which is imported when there is one."""

    def read(text: str) -> Any:
        return _named(target)(text)

    return read


def _settings(topic: str) -> list[dict[str, Any]]:
    """Return the flags of the compile options that belong to a topic of the help."""
    return [_row_of(setting) for setting in SETTINGS if setting.topic == topic]


def _row_of(setting: Setting) -> dict[str, Any]:
    row: dict[str, Any] = {"flags": setting.flag, "dest": setting.name}
    if setting.kind == "truth":
        return {**row, "action": "store_true", "default": None, "help": setting.about}
    more = " (repeatable)" if setting.kind == "list" else f" (default: {setting.default})" if setting.default else ""
    return {
        **row,
        "action": "append" if setting.kind == "list" else "store",
        "type": _setting_type(setting) if setting.check else None,
        "choices": setting.choices or None,
        "metavar": setting.metavar,
        "help": f"{setting.about}{more}",
    }


def _setting_type(setting: Setting) -> Callable[[str], str]:
    def accepted(text: str) -> str:
        try:
            return str(setting.normalize(text))
        except ValueError as error:
            is_pair = setting.name == "release" and ".." in text
            hint = "; `trainc diff --releases OLD..NEW` compares two" if is_pair else ""
            from argparse import ArgumentTypeError

            raise ArgumentTypeError(f"{error}{hint}") from None

    return accepted


# The counted objects, as they appear in a sentence.
_BOUNDED = {
    "file_bytes": "size of a file, in bytes",
    "document_bytes": "size of a YAML document, in bytes",
    "documents": "documents per run",
    "depth": "nesting depth of a document",
    "alias_expansions": "YAML alias expansions per document",
    "values": "keys and values of a YAML document",
    "template_steps": "steps a template may take",
    "template_bytes": "bytes a template may produce",
    "template_seconds": "CPU seconds a template may take",
    "overlays": "overlays that build on each other",
}


def _limits() -> Iterator[dict[str, Any]]:
    """Yield the limits on input."""
    defaults = Limits()
    for limit in fields(Limits):
        if limit.name != "allow_outside":
            words = limit.name.replace("_", " ")
            flag, default = f"--max-{words.replace(' ', '-')}", f"{getattr(defaults, limit.name):,}"
            text = f"{_BOUNDED.get(limit.name, words)} (default: {default})"
            yield {"flags": flag, "dest": limit.name, "type": _positive, "metavar": "N", "help": text}


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        from argparse import ArgumentTypeError

        raise ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(text)


_MADE: Mapping[str, Callable[[], Sequence[Any]]] = {
    "settings": lambda: _settings(""),
    "settings of input": lambda: _settings("input"),
    "settings of delivery": lambda: _settings("delivery"),
    "release": lambda: [_row_of(next(setting for setting in SETTINGS if setting.name == "release"))],
    "each limit": lambda: [*_limits()],
}
