"""Show the commands and topics, the help of one command, or one topic.

Examples:
  trainc help
  trainc help build
  trainc help sync-options
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence

from trainc.cli.arguments import TOPIC, set_completion
from trainc.cli.command import COMMANDS, Arguments, Status, Streams, UsageError, build_parser
from trainc.cli.topics import TOPICS, topic_text

_HEAD = """\
trainc compiles Kubeflow TrainJobs and training runtimes, offline, into the JobSet, PodGroup and ConfigMap
manifests that run on a cluster. The output is deterministic: commit it, review it, let Argo CD or Flux apply it.

Usage: trainc COMMAND [OPTION ...] [ARGUMENT ...]

Commands:
"""
_TAIL = """
Getting started:
  trainc build train.yaml                   print the manifests of one TrainJob
  trainc build jobs/ -o rendered/           write one file per TrainJob
  trainc build jobs/ -o rendered/ --check   fail if rendered/ is out of date (for CI)
  trainc check jobs/                        report mistakes without writing anything
  trainc rule UnknownField                  explain a diagnostic code

Run `trainc help COMMAND` or `trainc help TOPIC` for details.
"""
# Names from other tools.
_MEANT = {
    "apply": "build",
    "argocd": "cmp",
    "blame": "explain",
    "catalog": "runtimes",
    "codes": "rule",
    "compare": "diff",
    "compile": "build",
    "convert": "migrate",
    "create": "init",
    "dashboard": "report",
    "draw": "graph",
    "exec": "run",
    "generate": "build",
    "html": "report",
    "info": "version",
    "kustomize": "krm",
    "lint": "check",
    "list": "runtimes",
    "local": "run",
    "make": "build",
    "new": "init",
    "plan": "diff",
    "preflight": "check",
    "quota": "fits",
    "render": "build",
    "scaffold": "init",
    "schedule": "fits",
    "show": "explain",
    "simulate": "run",
    "start": "run",
    "template": "build",
    "test": "check",
    "trace": "explain",
    "upgrade": "migrate",
    "validate": "check",
    "verify": "check",
    "vet": "check",
    "visualize": "graph",
    "why": "explain",
}
_FILES = (".yaml", ".yml", ".json")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the argument for a command or topic."""
    set_completion(parser.add_argument("topic", metavar="TOPIC", nargs="?", help="a command or a topic"), TOPIC)


def run(arguments: Arguments, streams: Streams) -> Status:
    """Print the requested page."""
    streams.out.write(_page(arguments.topic).encode("utf-8", "backslashreplace"))
    return Status.DONE


def _page(topic: str | None) -> str:
    if topic is None:
        return overview()
    for command in COMMANDS:
        if command.name == topic:
            return build_parser(command).format_help()
    if topic not in TOPICS:
        from trainc.diagnostics.near_names import did_you_mean

        known = [*(command.name for command in COMMANDS), *TOPICS]
        raise UsageError(f"no help for {topic!r}; {did_you_mean(topic, known) or '`trainc help` lists the topics'}")
    return topic_text(topic)


def overview() -> str:
    """The commands and topics, one per line, and how to get started."""
    return f"{_HEAD}{_table((c.name, c.summary) for c in COMMANDS)}\nTopics:\n{_table(TOPICS.items())}{_TAIL}"


def _table(rows: Iterable[tuple[str, str]]) -> str:
    return "".join(f"  {name:<12}  {summary}\n" for name, summary in rows)


def unknown_command(words: Sequence[str]) -> str:
    """The message for an unknown command, with a suggestion if there is an obvious one."""
    from trainc.diagnostics.near_names import did_you_mean

    first, names = words[0], [command.name for command in COMMANDS]
    if first.startswith("-"):
        command = next((word for word in words if word in names), "build")
        hint = did_you_mean(first, ("--help", "--version"))
        option = first.partition("=")[0]
        return (
            f"unknown option {option!r}; {hint or f'options go after the command, as in `trainc {command} {option}`'}"
        )
    if os.sep in first or first.endswith(_FILES):
        return f"unknown command {first!r}; to compile that path: trainc build {first}"
    meant = _MEANT.get(first.lower())
    hint = f"did you mean {meant}?" if meant in names else did_you_mean(first, names)
    return f"unknown command {first!r}; {hint or '`trainc help` lists the commands'}"
