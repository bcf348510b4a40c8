"""The parsers of commands, by argparse: for their help, and for words that `words.py` does not read."""

from __future__ import annotations

import argparse
import os
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence

from trainc.cli.command import Arguments, Command, HelpText, add_rows, in_common
from trainc.startup.typing import Any

# argparse looks for a translation of each of its texts, in files that trainc does not have, and imports `locale` for it.
argparse._ = str  # type: ignore[attr-defined]


class _Parser(ArgumentParser):
    """A parser with help that fits on one screen: topic options are only listed by name, and -h and the like come last."""

    def format_help(self) -> str:
        """Return the help text of one command."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        groups = [
            group for group in self._action_groups if not hasattr(group, "topic") and group is not self._optionals
        ]
        for group in (*groups, self._optionals):
            formatter.start_section(group.title)
            formatter.add_arguments(group._group_actions)  # noqa: SLF001 - argparse has no other way to ask
            formatter.end_section()
        if topics := [str(group.topic) for group in self._action_groups if hasattr(group, "topic")]:
            formatter.add_text(f"More options: {', '.join(f'trainc help {topic}' for topic in topics)}")
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def print_help(self, file: Any = None) -> None:  # noqa: ARG002 - as argparse calls it
        """Raise HelpText: a full disk or a closed pipe would not be known of here."""
        raise HelpText(self.format_help())


def build_parser(command: Command) -> ArgumentParser:
    """Build a parser with the help of a command: the first paragraph as description, the rest as examples."""
    head, _, examples = command.help_text().partition("\n\n")
    parser = _Parser(
        prog=f"trainc {command.name}",
        description=head,
        epilog=examples or None,
        formatter_class=_formatter,
        allow_abbrev=False,
        add_help=False,
    )
    parser.add_argument("-h", "--help", action="help", help="show this help")
    add_rows(parser, command.rows())
    # The full usage line of most commands takes ten lines; --help lists the options in groups instead.
    parser.usage = " ".join((parser.prog, "[OPTION ...]", *_positionals(parser)))
    return parser


class _NoColors:
    def __getattr__(self, _: str) -> str:
        return ""


class _Formatter(RawDescriptionHelpFormatter):
    """Help without colors: Python 3.14's argparse imports dataclasses and inspect for a theme, in every command."""

    _theme = _NoColors()
    _decolor = staticmethod(str)

    def _set_color(self, *_: object, **__: object) -> None:
        pass


def _formatter(prog: str) -> RawDescriptionHelpFormatter:
    """A formatter as wide as the terminal. argparse would import shutil, and with it every compression module."""
    try:
        columns = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size().columns
    except (ValueError, OSError):
        columns = 80
    return _Formatter(prog, width=columns - 2)


def parse_arguments(parser: ArgumentParser, command_line: Sequence[str]) -> Arguments:
    """Parse options in any position; argparse alone requires all positional arguments to be adjacent."""
    has_actions = parser._subparsers is not None  # noqa: SLF001 - as below
    parse = parser.parse_known_args if has_actions else parser.parse_known_intermixed_args
    arguments, unknown = parse(command_line, Arguments())
    if unknown:
        parser.error(_unknown_argument(parser, unknown))
    assert isinstance(arguments, Arguments)
    return arguments


# Options that are looked for where they are not, and where they are.
_ELSEWHERE = {
    "--cluster": "`trainc fits --cluster DIR` asks a cluster's queues, and `check` does with `cluster: DIR` in trainc.yaml",
    "--live": "`trainc diff --live FILE` compares with a cluster",
    "--policies": "write `policies: [DIR]` in trainc.yaml",
}


def _unknown_argument(parser: ArgumentParser, unknown: Sequence[str]) -> str:
    """Describe the first unrecognized option in `unknown`, or the first unrecognized word if there is no option."""
    option = next((word.partition("=")[0] for word in unknown if word.startswith("-")), None)
    if option is None:
        return f"unexpected argument {' '.join(unknown)}"
    from trainc.findings.text import near_names

    if option in _ELSEWHERE:
        return f"unknown option {option}; {_ELSEWHERE[option]}"
    # Compared without the leading dashes, which would make all options look similar.
    names = (flag[2:] for flag in parser._option_string_actions if flag.startswith("--"))  # noqa: SLF001 - as below
    near = [f"--{name}" for name in near_names(option.lstrip("-"), names, cutoff=0.65)]
    takes_command = "[COMMAND ...]" in (parser.usage or "")
    hint = "write `--` before the command that has it" if takes_command else f"see `{parser.prog} --help`"
    hint = f"did you mean {' or '.join(near)}?" if near else hint
    return f"unknown option {option}; {hint}"


def _positionals(parser: ArgumentParser) -> Iterator[str]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask
        if not action.option_strings:
            name = action.metavar or (f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest)
            yield {"*": f"[{name} ...]", "?": f"[{name}]"}.get(str(action.nargs), str(name))


def topic_options(topic: str, word: str) -> str:
    """The options that a word stands for and that belong to a topic, formatted as in the help."""
    parser = _Parser(formatter_class=_formatter, add_help=False)
    add_rows(parser, in_common(word))
    formatter = parser._get_formatter()  # noqa: SLF001 - argparse has no other way to ask
    for group in parser._action_groups:  # noqa: SLF001 - as above
        if getattr(group, "topic", None) == topic:
            formatter.start_section("options")
            formatter.add_arguments(group._group_actions)  # noqa: SLF001 - as above
            formatter.end_section()
    return formatter.format_help()
