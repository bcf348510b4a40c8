"""The argument parser of one command."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence

from trainc.cli.command import Arguments, Command


def parser_of(command: Command) -> ArgumentParser:
    """A parser whose help is the docstring of the command's module: its first paragraph, then the rest as examples."""
    module = command.load()
    head, _, examples = (module.__doc__ or "").strip().partition("\n\n")
    parser = ArgumentParser(
        prog=f"trainc {command.name}",
        description=head,
        epilog=examples or None,
        formatter_class=_formatter,
        allow_abbrev=False,
    )
    module.add_arguments(parser)
    # Spelled out, the options of most commands take ten lines; --help has them in groups.
    parser.usage = " ".join((parser.prog, "[OPTION ...]", *_positionals(parser)))
    return parser


def _formatter(prog: str) -> RawDescriptionHelpFormatter:
    """As wide as the terminal, which argparse itself finds by way of shutil: that imports every compression there is."""
    try:
        columns = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(sys.stdout.fileno()).columns
    except (ValueError, OSError):
        columns = 80
    return RawDescriptionHelpFormatter(prog, width=columns - 2)


def parsed(parser: ArgumentParser, words: Sequence[str]) -> Arguments:
    """The arguments, with options wherever they stand: argparse itself wants all paths and fields in one place."""
    has_actions = parser._subparsers is not None  # noqa: SLF001 - as below
    parse = parser.parse_known_args if has_actions else parser.parse_known_intermixed_args
    arguments, unknown = parse(words, Arguments())
    if unknown:
        parser.error(_unknown(parser, unknown))
    assert isinstance(arguments, Arguments)
    return arguments


def _unknown(parser: ArgumentParser, words: Sequence[str]) -> str:
    """What is wrong with words that the parser has no place for: the first option among them, if there is one."""
    option = next((word.partition("=")[0] for word in words if word.startswith("-")), None)
    if option is None:
        return f"there is no place for {' '.join(words)}"
    from trainc.diagnostics.near_names import near_names

    # Compared without their dashes, which all of them have in common.
    names = (known[2:] for known in parser._option_string_actions if known.startswith("--"))  # noqa: SLF001 - as below
    near = [f"--{name}" for name in near_names(option.lstrip("-"), names)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"see {parser.prog} --help"
    return f"there is no option {option}; {hint}"


def _positionals(parser: ArgumentParser) -> Iterator[str]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask
        if not action.option_strings:
            name = action.metavar or (f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest)
            yield {"*": f"[{name} ...]", "?": f"[{name}]"}.get(str(action.nargs), str(name))
