"""The manual page: what `trainc help` says of every command and topic, as roff for `man`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from trainc import __version__
from trainc.cli.command import GROUPS, Command, commands
from trainc.cli.help import TOPICS, summary_of, topic_text
from trainc.cli.parser import build_parser


def manual() -> str:
    """The page trainc(1)."""
    lines = [
        f'.TH TRAINC 1 "" "trainc {__version__}"',
        ".SH NAME",
        _text("trainc - offline compiler for Kubeflow Trainer"),
        ".SH SYNOPSIS",
        r".B trainc",
        r"\fICOMMAND\fR [\fIOPTION\fR ...] [\fIARGUMENT\fR ...]",
        ".SH DESCRIPTION",
        _text("Compiles TrainJobs and training runtimes, offline, into the JobSet, PodGroup and ConfigMap manifests"),
        _text("that run on a cluster, and checks them. The same input gives the same output."),
    ]
    for group, title in GROUPS.items():
        lines.append(f".SH {title.upper()}")
        for command in commands():
            if command.group == group:
                lines += _command(command)
    lines.append(".SH TOPICS")
    for topic in TOPICS:
        if topic not in ("commands", "exit-codes"):
            lines += [f".SS {topic}", _text(summary_of(topic).capitalize() + "."), ".PP", *_as_it_is(topic_text(topic))]
    lines += [".SH EXIT STATUS", *_as_it_is(topic_text("exit-codes"))]
    return "\n".join((*lines, ""))


def _command(command: Command) -> Iterator[str]:
    parser = build_parser(command)
    yield f".SS trainc {command.name}"
    about, _, examples = (parser.description or "").partition("Examples:\n")
    yield _text(" ".join(about.split()) or command.summary)
    yield from _options(parser)
    if examples.strip():
        yield from (".PP", "Examples:", *_as_it_is(examples))


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            for name, nested in action.choices.items():
                yield from (".TP", rf"\fB{_text(name)}\fR", _text(nested.description or ""))
                yield from _options(nested)
        elif action.help != argparse.SUPPRESS:
            takes = "" if action.nargs == 0 else parser._get_formatter()._format_args(action, action.dest.upper())  # noqa: SLF001 - as above
            flags = ", ".join(rf"\fB{_text(flag)}\fR" for flag in action.option_strings)
            yield ".TP"
            yield " ".join(filter(None, (flags, rf"\fI{_text(takes)}\fR" if takes else "")))
            yield _text(action.help or action.dest)


def _as_it_is(text: str) -> Iterator[str]:
    yield from (".nf", *map(_text, text.strip("\n").split("\n")), ".fi")


def _text(text: str) -> str:
    """Escape what roff would read as its own: backslashes, hyphens, and signs at the beginning of a line."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("\n", " ")
    return rf"\&{escaped}" if escaped[:1] in (".", "'") else escaped
