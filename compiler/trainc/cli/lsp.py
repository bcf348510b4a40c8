"""Run as a language server for editors, on the standard streams.

It gives the diagnostics of `trainc check` while you type, fixes for them, what
each field means and what becomes of it, definitions, references, completion,
and above each job what it runs and what the cluster does about the change.
It is configured by trainc.yaml; docs/editors.md says how editors start it.

Example:
  trainc lsp
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from typing import TYPE_CHECKING

from trainc.cli.arguments import add_input, add_limits, add_shaping
from trainc.cli.command import Arguments, Status, Streams

if TYPE_CHECKING:
    from trainc.lsp.snapshot import Workspace


def add_arguments(parser: ArgumentParser) -> None:
    """How to compile, where trainc.yaml does not say; editors may name the standard streams."""
    parser.add_argument("--stdio", action="store_true", help="use standard input and output (the default)")
    add_input(parser, paths=False)
    add_shaping(parser)
    add_limits(parser)


def run(arguments: Arguments, streams: Streams) -> Status:
    """Serve until the editor says that it is done."""
    try:
        import pygls  # noqa: F401 - whether it is there
    except ImportError:
        streams.err.write("trainc lsp: needs the extra `lsp`; run: pip install 'trainc[lsp]'\n")
        return Status.USAGE
    from trainc.lsp.features import make_server

    # A stream of its own: it is closed when the session ends.
    with os.fdopen(os.dup(streams.out.fileno()), "wb") as out:
        make_server(lambda root, alone: _workspace(arguments, root, alone)).start_io(streams.stdin, out)
    return Status.DONE


def _workspace(arguments: Arguments, root: str, alone: str | None) -> Workspace:
    """The folder as a whole, as `trainc check` reads it without PATH, or one file of it."""
    from trainc.cli.workspace import Workspace

    return Workspace(Arguments(**{**vars(arguments), "paths": [] if alone is None else [alone]}), root)
