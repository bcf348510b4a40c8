"""The completion script of zsh."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.cli.command import FOLDER
from trainc.cli.shells.words import Option, Value, Words

_HEAD = """\
#compdef trainc
# zsh completion for trainc. Written by `trainc completion zsh`.
"""
_TAIL = """\
if [ "$funcstack[1]" = _trainc ]; then
  _trainc "$@"
else
  compdef _trainc trainc
fi
"""


def script(commands: Sequence[Words]) -> str:
    """The whole script: one function for each command, and one that leads to them."""
    top = Words(
        "",
        "",
        (Option(("--help",), "what trainc can do"), Option(("--version",), "what trainc follows")),
        actions=tuple(commands),
    )
    return _HEAD + "".join(_function("_trainc", top)) + _TAIL


def _function(name: str, words: Words) -> Iterator[str]:
    """The function that completes what follows `words`, after those it calls."""
    for action in words.actions:
        yield from _function(_name_of(name, action), action)
    lines = [f"{name}() {{", "  local curcontext=$curcontext state line", "  _arguments -s -S -C \\"]
    specs = [spec for option in words.options for spec in _option(option)]
    if words.actions:
        specs += ["'1: :->first'", "'*:: :->rest'"]
    specs += [_positional(value) for value in words.positionals]
    lines += [f"    {spec} \\" for spec in specs[:-1]] + [f"    {specs[-1]}"]
    if words.actions:
        lines += _dispatch(name, words)
    yield "\n".join([*lines, "}", ""]) + "\n"


def _name_of(parent: str, action: Words) -> str:
    return f"{parent}_{action.name.replace('-', '_')}"


def _dispatch(name: str, words: Words) -> list[str]:
    described = " ".join(_quoted(f"{a.name}:{a.summary}") for a in words.actions)
    cases = [f"        {a.name}) {_name_of(name, a)} ;;" for a in words.actions]
    return [
        "  case $state in",
        f"    first) local -a names; names=({described}); _describe command names ;;",
        "    rest)",
        "      case $words[1] in",
        *cases,
        "      esac ;;",
        "  esac",
    ]


def _option(option: Option) -> Iterator[str]:
    for flag in option.flags:
        others = "" if option.repeatable else f"({' '.join(option.flags)})"
        marker = "*" if option.repeatable else ""
        # After a long option's value an equals sign may stand, or a blank.
        equals = "=" if option.value is not None and flag.startswith("--") else ""
        value = "" if option.value is None else f":{_plain(option.value.name)}:{_completing(option.value)}"
        yield _quoted(f"{others}{marker}{flag}{equals}[{_plain(option.summary)}]{value}")


def _positional(value: Value) -> str:
    return _quoted(f"{'*' if value.repeatable else ''}:{_plain(value.name)}:{_completing(value)}")


def _completing(value: Value) -> str:
    if value.words:
        return f"({' '.join(value.words)})"
    if value.path:
        return "_files -/" if value.path == FOLDER else "_files"
    return " "


def _plain(text: str) -> str:
    """Text that may stand in a specification of _arguments, where brackets and colons mean something."""
    return text.replace("[", "(").replace("]", ")").replace(":", " -")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
