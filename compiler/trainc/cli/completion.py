"""What `trainc completion` does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO, StringIO

from trainc.cli.command import Arguments, Status, Streams, UsageError, arguments_of, commands
from trainc.findings import CompileError
from trainc.startup.shipped import read_text
from trainc.startup.typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


# The completion scripts, in shells/, are the same for every version: each asks `trainc __complete` for the candidates.


def run(arguments: Arguments, streams: Streams) -> Status:
    """Print the script."""
    streams.write(read_text(__file__, f"shells/completion.{arguments.shell}"))
    return Status.DONE


# The scripts ask `trainc __complete WORD ...`, as kubectl asks the program kubectl_complete-trainc. The last word is the
# unfinished one. The answer is a candidate per line, with its summary after a tab, and then what the shell should do:
# the numbers are those of spf13/cobra completions.go (ShellCompDirective), which kubectl understands (kubernetes/kubectl
# pkg/cmd/plugin/plugin_completion.go).
_FILES, _NOTHING_ELSE, _FOLDERS = 0, 4, 16
_LONGEST_SUMMARY = 90


def complete_for_kubectl() -> None:
    """Entry point of the console script kubectl_complete-trainc."""
    import sys

    from trainc.cli.main import main

    sys.exit(main(["__complete", *sys.argv[1:]]))


def complete(command_line: Sequence[str]) -> str:
    """Return the candidates for the last word of `command_line`, and the directive."""
    import argparse

    from trainc.cli.parser import build_parser

    *before, current = command_line or [""]
    if not before:
        top = (("--help", "show the commands and topics"), ("--version", "show the version"))
        return _answer(((c.name, c.summary) for c in commands()) if not current.startswith("-") else top, current)
    parser = next((build_parser(command) for command in commands() if command.name == before[0]), None)
    if parser is None:
        return _answer((), current)
    actions = parser._actions  # noqa: SLF001 - argparse has no other way to ask
    nested = next((a for a in actions if isinstance(a, argparse._SubParsersAction)), None)  # noqa: SLF001 - as above
    if nested is not None:
        if len(before) == 1:
            summaries = {choice.dest: choice.help or "" for choice in nested._choices_actions}  # noqa: SLF001 - as above
            return _answer(summaries.items(), current)
        actions = nested.choices[before[1]]._actions if before[1] in nested.choices else []  # noqa: SLF001 - as above
    return _of_actions(actions, before[1 if nested is None else 2 :], current)


def _of_actions(actions: Iterable[argparse.Action], before: Sequence[str], current: str) -> str:
    options = {flag: action for action in actions for flag in action.option_strings}
    previous = before[-1] if before else ""
    flag, equals, value = current.partition("=")
    if equals and flag in options and options[flag].nargs != 0:
        return _of_value(options[flag], value, f"{flag}=")
    if previous in options and options[previous].nargs != 0:
        return _of_value(options[previous], current)
    if current.startswith("-"):
        return _answer(((flag, action.help or "") for flag, action in options.items()), current)
    takes = {flag for flag, action in options.items() if action.nargs != 0}
    operands = [
        word for last, word in zip(["", *before], before, strict=False) if word[:1] != "-" and last not in takes
    ]
    positionals = [action for action in actions if not action.option_strings]
    if not positionals:
        return _answer((), current)
    positional = positionals[min(len(operands), len(positionals) - 1)]
    if _kind_of(positional) == "field":
        return _answer(((name, "") for name in _fields(operands[0])), current)
    return _of_value(positional, current)


# What is completed, by what the help calls the value. A job is a TrainJob as PATH[#[NAMESPACE/]NAME], a field one of what
# the TrainJob before it compiles to, and a side one of a diff.
_KINDS = {
    **dict.fromkeys(("FILE", "PATH", "DUMP", "SCRIPT", "CONFIG"), "file"),
    "DIR": "folder",
    "REV": "revision",
    "CODE": "code",
    "TOPIC": "topic",
    "JOB": "job",
    "FIELD": "field",
    "A B": "side",
}
_NAMED = {"env": "environment", "runtime": "runtime"}


def _kind_of(action: argparse.Action) -> str:
    return _NAMED.get(action.dest, "") if action.metavar == "NAME" else _KINDS.get(str(action.metavar), "")


def _of_value(action: argparse.Action, current: str, prefix: str = "") -> str:
    kind = _kind_of(action)
    if action.choices is not None:
        names: Iterable[str] = map(str, action.choices)
    elif kind == "side" and current.startswith("git:"):
        names = (f"git:{name}" for name in _revisions())
    elif kind == "job" and "#" in current:
        names = _jobs(current.partition("#")[0])
    elif kind in ("file", "folder", "job", "side"):
        return f":{_FOLDERS if kind == 'folder' else _FILES}\n"
    else:
        names = _names(kind)
    return _answer(((prefix + name, "") for name in names), prefix + current)


def _names(kind: str) -> Iterable[str]:
    if kind == "runtime":
        from trainc.cli.runtimes import repository_runtimes
        from trainc.kube.documents import identity_of
        from trainc.reading.catalog import names

        try:
            repository_names = [identity_of(document.data)[1] for document, _ in repository_runtimes(BytesIO())]
        except CompileError:
            repository_names = []
        return dict.fromkeys((*repository_names, *names()))
    if kind == "code":
        from trainc.findings.codes import codes, codes_of_plugins

        return [*codes(), *codes_of_plugins()]
    if kind == "topic":
        from trainc.cli.help import TOPICS

        return [*(command.name for command in commands()), *TOPICS]
    if kind == "revision":
        return _revisions()
    if kind == "environment":
        from trainc.project.settings_file import read_configuration

        try:
            return read_configuration([os.curdir], None).environments
        except CompileError:
            return ()
    return ()


def _revisions() -> Iterator[str]:
    from trainc.reading.git import branches_and_tags

    yield from branches_and_tags(os.curdir)


def _fields(job: str) -> Iterator[str]:
    """Yield the fields of the JobSet that a TrainJob compiles to: by their last step, then in full."""
    from trainc.cli.one_job import compiled_job
    from trainc.kube.documents import format_field

    try:
        result = compiled_job(arguments_of("explain", [job]), Streams(BytesIO(), BytesIO(), StringIO()), in_git=True)
    except (UsageError, OSError):
        return
    if result is None or not result[0].compiles:
        return
    objects = result[0].recorder.explanation().objects
    paths = [format_field(field.path) for item in objects if item.name.kind == "JobSet" for field in item.fields]
    last_steps = (path.rpartition(".")[2] for path in paths)
    yield from dict.fromkeys((*(step for step in last_steps if "[" not in step), *paths))


def _jobs(path: str) -> Iterator[str]:
    """Yield `PATH#NAMESPACE/NAME` for each TrainJob below a path."""
    from trainc.kube.documents import identity_of
    from trainc.options import Limits
    from trainc.reading.files import read_paths

    for document in read_paths([path or os.curdir], Limits())[0]:
        namespace, name = identity_of(document.data)
        if document.data.get("kind") == "TrainJob" and name:
            yield f"{path}#{'/'.join(filter(None, (namespace, name)))}"


def _is_plain(text: str) -> bool:
    """Return whether no shell acts on text: bash inserts what a branch or job is called as if the user had typed it."""
    return text.isprintable() and not set(text) & set(" $`;&|<>()\\!")


def _answer(candidates: Iterable[tuple[str, str]], current: str) -> str:
    from textwrap import shorten

    lines = [
        f"{word}\t{shorten(summary, _LONGEST_SUMMARY, placeholder=' ...')}".rstrip()
        for word, summary in candidates
        if word.startswith(current) and _is_plain(word[len(current) :])
    ]
    return "".join(f"{line}\n" for line in (*lines, f":{_NOTHING_ELSE}"))
