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

import os
from argparse import ArgumentParser
from typing import TYPE_CHECKING

from trainc.api.command import Arguments, Status, Streams, add_input, add_limits, add_shaping

if TYPE_CHECKING:
    from trainc.features.lsp.snapshot import Workspace


def add_arguments(parser: ArgumentParser) -> None:
    """Add the compile options that override trainc.yaml; editors may also pass --stdio."""
    parser.add_argument("--stdio", action="store_true", help="use standard input and output (the default)")
    add_input(parser, paths=False)
    add_shaping(parser)
    add_limits(parser)


def run(arguments: Arguments, streams: Streams) -> Status:
    """Serve until the editor disconnects."""
    try:
        import pygls  # noqa: F401 - whether it is there
    except ImportError:
        streams.err.write("trainc lsp: needs the extra `lsp`; run: pip install 'pygls>=2.1,<3'\n")
        return Status.USAGE
    import logging

    from trainc.features.lsp.server import make_server

    # The client is notified of unreadable messages; the log is only useful for work on pygls.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    # A separate stream, because it is closed when the session ends.
    with os.fdopen(os.dup(streams.out.fileno()), "wb") as out:
        make_server(lambda root, alone: _workspace(arguments, root, alone)).start_io(streams.stdin, out)
    return Status.DONE


def _workspace(arguments: Arguments, root: str, alone: str | None) -> Workspace:
    """The whole folder, as `trainc check` without PATH reads it, or a single file of it."""
    from trainc.features.lsp.workspace import Workspace

    paths = [] if alone is None else [os.path.join(os.curdir, os.path.basename(alone))]
    return Workspace(Arguments(**{**vars(arguments), "paths": paths}), root)
