"""What a command is, which there are, and how the words of each are read: the table of contents of the command line.

A command is a module of this package with two functions, imported when that command is run.
"""

from __future__ import annotations

import errno
import os
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TextIO, cast

from trainc.startup.records import dataclass

if TYPE_CHECKING:

    class CommandModule(Protocol):
        """The functions that every command module defines."""

        add_arguments: Callable[[ArgumentParser], None]
        run: Callable[[Arguments, Streams], Status]


class Arguments(SimpleNamespace):
    """The parsed arguments of a command, as attributes."""


class Status(int):
    """Exit codes: success; input refused or `--check` found differences; usage error; internal error in trainc."""

    # Not an enum: importing `enum` takes as long as importing ten modules of trainc.
    DONE: Status
    DIAGNOSED: Status
    USAGE: Status
    DEFECT: Status


Status.DONE, Status.DIAGNOSED, Status.USAGE, Status.DEFECT = map(Status, range(4))


@dataclass(frozen=True, slots=True)
class Streams:
    """The streams of a command: products go to `out` as bytes, messages about them to `err`."""

    stdin: BinaryIO
    out: BinaryIO
    err: TextIO


class UsageError(Exception):
    """Arguments that are valid individually but not in combination; the message is shown to the user."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name, its line in the overview, and its module in trainc.cli."""

    name: str
    summary: str
    module: str

    def load(self) -> CommandModule:
        """Import the command's module, whose docstring is the text of its --help."""
        from importlib import import_module

        return cast("CommandModule", import_module(f"trainc.cli.{self.module}"))


COMMANDS: tuple[Command, ...] = (
    Command("build", "compile TrainJobs into manifests", "build"),
    Command("check", "validate and lint without writing anything", "check"),
    Command("diff", "show what changes, and what the cluster will do about it", "diff"),
    Command("fits", "check whether Kueue's queues can ever admit each job", "fits"),
    Command("doctor", "check whether a cluster has what the jobs need", "doctor"),
    Command("explain", "show which file, patch or plugin set each output field", "explain"),
    Command("graph", "draw the steps, pods, addresses and GPUs of a job", "graph"),
    Command("run", "run a job as processes on this machine, to see its ranks meet", "run"),
    Command("sdk", "write the TrainJobs that a Kubeflow SDK script would submit", "sdk"),
    Command("report", "write an HTML page about all jobs", "report"),
    Command("migrate", "rewrite older APIs and dialects in the current one", "migrate"),
    Command("lsp", "run as a language server for editors", "lsp"),
    Command("rule", "explain a diagnostic code", "rule"),
    Command("runtimes", "list or show the built-in runtimes", "runtimes"),
    Command("schema", "print the JSON Schema of TrainJobs and runtimes for editors", "schema"),
    Command("init", "create a GitOps repository", "init"),
    Command("krm", "run as a kustomize function or plugin", "krm"),
    Command("cmp", "run as an Argo CD config management plugin", "cmp"),
    Command("completion", "print a shell completion script", "completion"),
    Command("help", "show help for a command or topic", "help"),
    Command("version", "print the version and the upstream releases it follows", "version"),
)


class _Parser(ArgumentParser):
    """A parser with help that fits on one screen: topic options are only listed by name, and -h and the like come last.

    Unlike argparse, it raises an error when the help cannot be written, e.g. to a full disk or a closed pipe.
    """

    def format_help(self) -> str:
        """Return the help text of one command."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        own = [group for group in self._action_groups if not hasattr(group, "topic") and group is not self._optionals]
        for group in (*own, self._optionals):
            formatter.start_section(group.title)
            formatter.add_arguments(group._group_actions)  # noqa: SLF001 - argparse has no other way to ask
            formatter.end_section()
        if topics := [str(group.topic) for group in self._action_groups if hasattr(group, "topic")]:
            formatter.add_text(f"More options: {', '.join(f'trainc help {topic}' for topic in topics)}")
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def print_help(self, file: Any = None) -> None:
        """Write the help to `file`, standard output by default. Raises OSError if that fails."""
        stream = file or sys.stdout
        if stream is None:
            raise OSError(errno.EBADF, "it is closed")
        stream.write(self.format_help())
        stream.flush()


def build_parser(command: Command) -> ArgumentParser:
    """Build a parser whose help is the module docstring: the first paragraph as description, the rest as examples."""
    module = command.load()
    head, _, examples = (module.__doc__ or "").strip().partition("\n\n")
    parser = _Parser(
        prog=f"trainc {command.name}",
        description=head,
        epilog=examples or None,
        formatter_class=_formatter,
        allow_abbrev=False,
        add_help=False,
    )
    parser.add_argument("-h", "--help", action="help", help="show this help")
    module.add_arguments(parser)
    # The full usage line of most commands takes ten lines; --help lists the options in groups instead.
    parser.usage = " ".join((parser.prog, "[OPTION ...]", *_positionals(parser)))
    return parser


def _formatter(prog: str) -> RawDescriptionHelpFormatter:
    """A formatter as wide as the terminal. argparse would import shutil, and with it every compression module."""
    try:
        columns = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(sys.stdout.fileno()).columns
    except (AttributeError, ValueError, OSError):  # AttributeError if the process has no standard output.
        columns = 80
    return RawDescriptionHelpFormatter(prog, width=columns - 2)


def parse_arguments(parser: ArgumentParser, words: Sequence[str]) -> Arguments:
    """Parse options in any position; argparse alone requires all positional arguments to be adjacent."""
    has_actions = parser._subparsers is not None  # noqa: SLF001 - as below
    parse = parser.parse_known_args if has_actions else parser.parse_known_intermixed_args
    arguments, unknown = parse(words, Arguments())
    if unknown:
        parser.error(_unknown_argument(parser, unknown))
    assert isinstance(arguments, Arguments)
    return arguments


def _unknown_argument(parser: ArgumentParser, words: Sequence[str]) -> str:
    """Describe the first unrecognized option in `words`, or the first unrecognized word if there is no option."""
    option = next((word.partition("=")[0] for word in words if word.startswith("-")), None)
    if option is None:
        return f"unexpected argument {' '.join(words)}"
    from trainc.diagnostics.near_names import near_names

    # Compared without the leading dashes, which would make all options look similar.
    names = (known[2:] for known in parser._option_string_actions if known.startswith("--"))  # noqa: SLF001 - as below
    near = [f"--{name}" for name in near_names(option.lstrip("-"), names)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"see `{parser.prog} --help`"
    return f"unknown option {option}; {hint}"


def _positionals(parser: ArgumentParser) -> Iterator[str]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask
        if not action.option_strings:
            name = action.metavar or (f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest)
            yield {"*": f"[{name} ...]", "?": f"[{name}]"}.get(str(action.nargs), str(name))


def topic_options(topic: str, add: Callable[[ArgumentParser], None]) -> str:
    """The options added by `add` that belong to a topic, formatted as in the help."""
    parser = _Parser(formatter_class=_formatter, add_help=False)
    add(parser)
    formatter = parser._get_formatter()  # noqa: SLF001 - argparse has no other way to ask
    for group in parser._action_groups:  # noqa: SLF001 - as above
        if getattr(group, "topic", None) == topic:
            formatter.start_section("options")
            formatter.add_arguments(group._group_actions)  # noqa: SLF001 - as above
            formatter.end_section()
    return formatter.format_help()
