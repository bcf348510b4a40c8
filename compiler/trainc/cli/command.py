"""What a command is, and which there are: the table of contents of the command line.

A command is a module of this package with two functions, imported when somebody asks for that command only.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, BinaryIO, Protocol, TextIO, cast

from trainc.startup.records import dataclass


class Arguments(SimpleNamespace):
    """The arguments of a command, by name."""


class Parser(Protocol):
    """What a command declares its arguments to: the parser of argparse, or that of plain_words."""

    def add_argument(self, *names: Any, **choices: Any) -> Any:
        """An option or a positional argument."""

    def add_argument_group(self, *shown: Any, **choices: Any) -> Any:
        """A part of --help."""

    def add_mutually_exclusive_group(self, *shown: Any, **choices: Any) -> Any:
        """Arguments of which one may be given."""

    def add_subparsers(self, *shown: Any, **choices: Any) -> Any:
        """The actions of a command that has several."""


class CommandModule(Protocol):
    """What the module of a command offers."""

    add_arguments: Callable[[Parser], None]
    run: Callable[[Arguments, Streams], Status]


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
