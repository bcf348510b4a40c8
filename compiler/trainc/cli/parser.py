"""The argument parser of one command."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from textwrap import dedent

from trainc.cli.command import Command


def parser_of(command: Command) -> ArgumentParser:
    """A parser whose help is the docstring of the command's module: its first paragraph, then the rest as examples."""
    module = command.load()
    head, _, examples = dedent(module.__doc__ or "").strip().partition("\n\n")
    parser = ArgumentParser(
        prog=f"trainc {command.name}",
        description=head,
        epilog=examples or None,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.add_arguments(parser)
    return parser
