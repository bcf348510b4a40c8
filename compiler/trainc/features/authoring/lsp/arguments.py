"""Run as a language server for editors, on standard input and output.

It reports what `trainc check` reports while you type, and offers quick fixes,
completion, definitions and references. Hovering explains a field and its effect
on the output; a line above each job shows its size and what the cluster does
about the change. Settings come from trainc.yaml. docs/editors.md explains how to
set up an editor.

Examples:
  trainc lsp
  trainc lsp --release 2.3
"""

from __future__ import annotations

from argparse import ArgumentParser

from trainc.api.arguments import command


def add_arguments(parser: ArgumentParser) -> None:
    """Add the compile options that override trainc.yaml; editors may also pass --stdio."""
    parser.add_argument("--stdio", action="store_true", help="use standard input and output (the default)")
    command.add_input(parser, paths=False)
    command.add_shaping(parser)
    command.add_limits(parser)
