"""Print a shell completion script for trainc.

Examples:
  trainc completion bash > ~/.local/share/bash-completion/completions/trainc
  trainc completion zsh > ~/.zfunc/_trainc          (a folder in $fpath)
  trainc completion fish > ~/.config/fish/completions/trainc.fish
"""

from __future__ import annotations

from argparse import ArgumentParser

from trainc.cli.command import Arguments, Status, Streams
from trainc.cli.shells import bash, fish, zsh
from trainc.cli.shells.words import all_commands

_SCRIPTS = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the shell argument."""
    parser.add_argument("shell", choices=tuple(_SCRIPTS))


def run(arguments: Arguments, streams: Streams) -> Status:
    """Print the script."""
    streams.out.write(_SCRIPTS[arguments.shell](all_commands()).encode("utf-8", "backslashreplace"))
    return Status.DONE
