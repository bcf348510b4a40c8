"""The completion script of fish."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.cli.command import FILE, FOLDER
from trainc.cli.shells.words import Option, Value, Words, paths_to_words

_HEAD = """\
# fish completion for trainc. Written by `trainc completion fish`.
complete -c trainc -f
complete -c trainc -n __fish_use_subcommand -l help -d 'what trainc can do'
complete -c trainc -n __fish_use_subcommand -l version -d 'what trainc follows'
"""


def script(commands: Sequence[Words]) -> str:
    """The whole script."""
    return _HEAD + "".join(f"{line}\n" for line in _lines(commands))


def _lines(commands: Sequence[Words]) -> Iterator[str]:
    for command in commands:
        yield f"complete -c trainc -n __fish_use_subcommand -a {command.name} -d {_quoted(command.summary)}"
        names = " ".join(action.name for action in command.actions)
        for action in command.actions:
            where = f"__fish_seen_subcommand_from {command.name}; and not __fish_seen_subcommand_from {names}"
            yield f"complete -c trainc -n {_quoted(where)} -a {action.name} -d {_quoted(action.summary)}"
    for path, words in paths_to_words(commands):
        where = _quoted("; and ".join(f"__fish_seen_subcommand_from {word}" for word in path))
        for option in words.options:
            yield f"complete -c trainc -n {where} {_option(option)}"
        for value in words.positionals[:1]:
            if completing := _completing(value):
                yield f"complete -c trainc -n {where} {completing}"


def _option(option: Option) -> str:
    parts = [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags]
    if option.value is not None:
        # -x: nothing but what follows; -r: files too.
        parts.append(f"{'-r' if option.value.path == FILE else '-x'} {_completing(option.value)}")
    if option.summary:
        parts.append(f"-d {_quoted(option.summary)}")
    return " ".join(part.rstrip() for part in parts)


def _completing(value: Value) -> str:
    if value.words:
        return f"-a {_quoted(' '.join(value.words))}"
    if value.path:
        return "-a '(__fish_complete_directories)'" if value.path == FOLDER else "-F"
    return ""


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
