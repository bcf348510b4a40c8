"""The completion script of bash, from 3.2 on."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from trainc.cli.command import FOLDER
from trainc.cli.shells.words import Value, Words, paths_to_words

_HEAD = """\
# bash completion for trainc. Written by `trainc completion bash`.
_trainc_words() { COMPREPLY=($(compgen -W "$1" -- "$current")); }
_trainc_paths() {
    local IFS=$'\\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen "$1" -- "$current"))
}
_trainc() {
    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" command="${COMP_WORDS[1]}"
    # bash takes --release=2.3 apart at the equals sign.
    if [ "$current" = "=" ]; then current=""; fi
    if [ "$previous" = "=" ]; then previous="${COMP_WORDS[COMP_CWORD-2]}"; fi
    COMPREPLY=()
"""
_TAIL = """\
}
complete -F _trainc trainc
"""


def script(commands: Sequence[Words]) -> str:
    """The whole script."""
    lines = [_HEAD.rstrip("\n")]
    lines += _first_word(" ".join([*(c.name for c in commands), "--help", "--version"]), 1)
    for command in commands:
        if command.actions:
            lines.append(f'    if [ "$command" = {command.name} ]; then')
            lines += ["    " + line for line in _first_word(" ".join(a.name for a in command.actions), 2)]
            lines += ['        command="$command ${COMP_WORDS[2]}"', "    fi"]
    lines += _values_of_options(commands)
    lines += _options_and_positionals(commands)
    return "\n".join(lines) + "\n" + _TAIL


def _first_word(words: str, position: int) -> list[str]:
    return [f'    if [ "$COMP_CWORD" -eq {position} ]; then _trainc_words {quote(words)}; return; fi']


def _values_of_options(commands: Sequence[Words]) -> list[str]:
    lines = ['    case "$command:$previous" in']
    for path, words in paths_to_words(commands):
        for option in words.options:
            if option.value is not None:
                patterns = "|".join(f'"{" ".join(path)}:{flag}"' for flag in option.flags)
                lines.append(f"        {patterns}) {_completing(option.value)}; return ;;")
    return [*lines, "    esac"]


def _options_and_positionals(commands: Sequence[Words]) -> list[str]:
    lines = ['    case "$command" in']
    for path, words in paths_to_words(commands):
        flags = " ".join(flag for option in words.options for flag in option.flags)
        otherwise = _completing(words.positionals[0]) if words.positionals else ":"
        test = f'if [ "${{current:0:1}}" = - ]; then _trainc_words {quote(flags)}; else {otherwise}; fi'
        lines.append(f"        {quote(' '.join(path))}) {test} ;;")
    return [*lines, "    esac"]


def _completing(value: Value) -> str:
    if value.words:
        return f"_trainc_words {quote(' '.join(value.words))}"
    if value.path:
        return f"_trainc_paths {'-d' if value.path == FOLDER else '-f'}"
    return ":"
