"""What a shell can complete: commands, their options and the kind of each value, read from the argument parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from trainc.cli.command import CODE, COMMANDS, FILE, FOLDER, RUNTIME, TOPIC, build_parser
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Value:
    """What fits in a place: one of `words`, else a path if `path` is FILE or FOLDER, else anything."""

    name: str
    words: tuple[str, ...] = ()
    path: str = ""
    repeatable: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """An option under all its names; `value` is None for a switch."""

    flags: tuple[str, ...]
    summary: str
    value: Value | None = None
    repeatable: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """A command, or an action of one: what may follow it."""

    name: str
    summary: str
    options: tuple[Option, ...]
    positionals: tuple[Value, ...] = ()
    actions: tuple[Words, ...] = ()


def all_commands() -> tuple[Words, ...]:
    """Every command, in the order of the overview."""
    return tuple(command_words(command.name, command.summary, build_parser(command)) for command in COMMANDS)


def command_words(name: str, summary: str, parser: argparse.ArgumentParser) -> Words:
    """What may follow one command."""
    options, positionals, actions = [], [], []
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
            actions += [command_words(each, summaries[each], sub) for each, sub in action.choices.items()]
        elif action.option_strings:
            options.append(_option(action))
        else:
            positionals.append(_value(action))
    return Words(name, summary, tuple(options), tuple(positionals), tuple(actions))


def _option(action: argparse.Action) -> Option:
    repeatable = isinstance(action, argparse._AppendAction)  # noqa: SLF001 - as above
    value = None if action.nargs == 0 else _value(action)
    return Option(tuple(action.option_strings), _line(action.help or ""), value, repeatable)


def _value(action: argparse.Action) -> Value:
    name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.choices is not None:
        return Value(name, tuple(map(str, action.choices)))
    kind = getattr(action, "completes", "")
    return Value(name, tuple(_known(kind)), kind if kind in (FILE, FOLDER) else "", action.nargs in ("*", "+"))


def _known(kind: str) -> Sequence[str]:
    """Names that belong to this version of trainc, and so stand in the script itself."""
    if kind == RUNTIME:
        from trainc.reading.catalog import names

        return names()
    if kind == CODE:
        from trainc.findings.codes import codes

        return codes()
    if kind == TOPIC:
        from trainc.cli.help import TOPICS

        return [*(command.name for command in COMMANDS), *TOPICS]
    return ()


def _line(text: str) -> str:
    """A text as far as a line of suggestions has room for it."""
    from textwrap import shorten

    return shorten(text, 90, placeholder=" ...")


def paths_to_words(commands: Sequence[Words]) -> Iterator[tuple[tuple[str, ...], Words]]:
    """Each command that takes no action, and each action, with the words that lead to it."""
    for command in commands:
        if not command.actions:
            yield (command.name,), command
        for action in command.actions:
            yield (command.name, action.name), action
