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
        """What the module of a command offers."""

        add_arguments: Callable[[ArgumentParser], None]
        run: Callable[[Arguments, Streams], Status]


class Arguments(SimpleNamespace):
    """The arguments of a command, by name."""


class Status(int):
    """Exit codes: done; input refused, or `--check` differs; wrong usage; a defect in trainc."""

    # No enum: that takes as long to import as ten modules of trainc.
    DONE: Status
    DIAGNOSED: Status
    USAGE: Status
    DEFECT: Status


Status.DONE, Status.DIAGNOSED, Status.USAGE, Status.DEFECT = map(Status, range(4))


@dataclass(frozen=True, slots=True)
class Streams:
    """Where a command reads and writes. Products go to `out` as bytes, what there is to say about them to `err`."""

    stdin: BinaryIO
    out: BinaryIO
    err: TextIO


class UsageError(Exception):
    """Arguments that are fine each and make no sense together; the message is what to tell."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command's name, its line in the overview, and its module in trainc.cli."""

    name: str
    summary: str
    module: str

    def load(self) -> CommandModule:
        """The command's module; its docstring is the text of its --help."""
        from importlib import import_module

        return cast("CommandModule", import_module(f"trainc.cli.{self.module}"))


COMMANDS: tuple[Command, ...] = (
    Command("build", "compile TrainJobs into manifests", "build"),
    Command("check", "validate and lint, and write nothing", "check"),
    Command("fits", "say whether Kueue's queues can ever admit each job", "fits"),
    Command("explain", "say which file, patch or plugin set each field of the output", "explain"),
    Command("graph", "show the steps, pods, addresses and GPUs of a job as a picture", "graph"),
    Command("migrate", "rewrite older releases and dialects in the newest API", "migrate"),
    Command("diff", "what changes between two inputs, and what the cluster does about it", "diff"),
    Command("report", "write a page about all jobs and where each field comes from", "report"),
    Command("rule", "explain a diagnostic code", "rule"),
    Command("runtimes", "list or show the runtimes that trainc ships", "runtimes"),
    Command("schema", "print a JSON Schema of TrainJobs and runtimes for editors", "schema"),
    Command("init", "start a GitOps repository that passes its own checks", "init"),
    Command("krm", "compile inside a kustomization: the function and plugin for kustomize", "krm"),
    Command("cmp", "compile inside Argo CD: its config management plugin", "cmp"),
    Command("completion", "print a completion script for a shell", "completion"),
)


def parser_of(command: Command) -> ArgumentParser:
    """A parser whose help is the docstring of the command's module: its first paragraph, then the rest as examples."""
    module = command.load()
    head, _, examples = (module.__doc__ or "").strip().partition("\n\n")
    parser = _Parser(
        prog=f"trainc {command.name}",
        description=head,
        epilog=examples or None,
        formatter_class=_formatter,
        allow_abbrev=False,
    )
    module.add_arguments(parser)
    # Spelled out, the options of most commands take ten lines; --help has them in groups.
    parser.usage = " ".join((parser.prog, "[OPTION ...]", *_positionals(parser)))
    return parser


class _Parser(ArgumentParser):
    """argparse's own ignores that its help could not be written, to a full disk or a closed pipe."""

    def print_help(self, file: Any = None) -> None:
        """The help, to standard output unless `file` says otherwise. OSError where it takes nothing."""
        stream = file or sys.stdout
        if stream is None:
            raise OSError(errno.EBADF, "it is closed")
        stream.write(self.format_help())
        stream.flush()


def _formatter(prog: str) -> RawDescriptionHelpFormatter:
    """As wide as the terminal, which argparse itself finds by way of shutil: that imports every compression there is."""
    try:
        columns = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(sys.stdout.fileno()).columns
    except (AttributeError, ValueError, OSError):  # The first, where the process has no standard output.
        columns = 80
    return RawDescriptionHelpFormatter(prog, width=columns - 2)


def parsed(parser: ArgumentParser, words: Sequence[str]) -> Arguments:
    """The arguments, with options wherever they stand: argparse itself wants all paths and fields in one place."""
    has_actions = parser._subparsers is not None  # noqa: SLF001 - as below
    parse = parser.parse_known_args if has_actions else parser.parse_known_intermixed_args
    arguments, unknown = parse(words, Arguments())
    if unknown:
        parser.error(_unknown(parser, unknown))
    assert isinstance(arguments, Arguments)
    return arguments


def _unknown(parser: ArgumentParser, words: Sequence[str]) -> str:
    """What is wrong with words that the parser has no place for: the first option among them, if there is one."""
    option = next((word.partition("=")[0] for word in words if word.startswith("-")), None)
    if option is None:
        return f"there is no place for {' '.join(words)}"
    from trainc.diagnostics.near_names import near_names

    # Compared without their dashes, which all of them have in common.
    names = (known[2:] for known in parser._option_string_actions if known.startswith("--"))  # noqa: SLF001 - as below
    near = [f"--{name}" for name in near_names(option.lstrip("-"), names)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"see {parser.prog} --help"
    return f"there is no option {option}; {hint}"


def _positionals(parser: ArgumentParser) -> Iterator[str]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask
        if not action.option_strings:
            name = action.metavar or (f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest)
            yield {"*": f"[{name} ...]", "?": f"[{name}]"}.get(str(action.nargs), str(name))
