"""Completion of `kubectl trainc`: kubectl runs the program kubectl_complete-trainc and offers what it prints.

The program is given the words after `kubectl trainc`, the last one unfinished, and prints a candidate on each line and
then what kubectl is to do, as cobra's own completion does.

Source: kubernetes/kubectl pkg/cmd/plugin/plugin_completion.go; spf13/cobra completions.go (ShellCompDirective).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from trainc.cli.command import COMMANDS, FOLDER, build_parser
from trainc.cli.shells.words import Option, Value, Words, command_words

_FILES, _NOTHING_ELSE, _FOLDERS = 0, 4, 16


def run() -> None:
    """The console script kubectl_complete-trainc."""
    sys.stdout.write(complete(sys.argv[1:]))


def complete(words: Sequence[str]) -> str:
    """The candidates for the last of `words`, and the directive."""
    *before, current = words or [""]
    if not before:
        return _answer(((c.name, c.summary) for c in COMMANDS), current)
    command = next((command for command in COMMANDS if command.name == before[0]), None)
    if command is None:
        return _answer((), current)
    return _of_command(command_words(command.name, command.summary, build_parser(command)), before[1:], current)


def _of_command(known: Words, before: Sequence[str], current: str) -> str:
    if known.actions:
        if not before:
            return _answer(((action.name, action.summary) for action in known.actions), current)
        known = next((action for action in known.actions if action.name == before[0]), known)
    flag, equals, value = current.partition("=")
    if equals and (option := _option(known, flag)) and option.value:
        return _of_value(option.value, value, prefix=f"{flag}=")
    if before and (option := _option(known, before[-1])) and option.value:
        return _of_value(option.value, current)
    if current.startswith("-"):
        return _answer(((flag, option.summary) for option in known.options for flag in option.flags), current)
    return _of_value(known.positionals[0], current) if known.positionals else _answer((), current)


def _option(known: Words, flag: str) -> Option | None:
    return next((option for option in known.options if flag in option.flags), None)


def _of_value(value: Value, current: str, prefix: str = "") -> str:
    if value.path:
        return f":{_FOLDERS if value.path == FOLDER else _FILES}\n"
    return _answer(((prefix + word, "") for word in value.words), prefix + current)


def _answer(candidates: Iterable[tuple[str, str]], current: str) -> str:
    lines = [f"{word}\t{summary}".rstrip() for word, summary in candidates if word.startswith(current)]
    return "".join(f"{line}\n" for line in (*lines, f":{_NOTHING_ELSE}"))
