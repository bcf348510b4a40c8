"""What `trainc lsp` does."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from trainc.api.arguments import Arguments, Status, Streams

if TYPE_CHECKING:
    from trainc.features.authoring.lsp.workspace import Workspace


def run(arguments: Arguments, streams: Streams) -> Status:
    """Serve until the editor disconnects."""
    try:
        import pygls  # noqa: F401 - whether it is there
    except ImportError:
        streams.err.write("trainc lsp: needs the extra `lsp`; run: pip install 'pygls>=2.1,<3'\n")
        return Status.USAGE
    import logging

    from trainc.features.authoring.lsp.server import make_server

    # The client is notified of unreadable messages; the log is only useful for work on pygls.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    # A separate stream, because it is closed when the session ends.
    with os.fdopen(os.dup(streams.out.fileno()), "wb") as out:
        make_server(lambda root, alone: _workspace(arguments, root, alone)).start_io(streams.stdin, out)
    return Status.DONE


def _workspace(arguments: Arguments, root: str, alone: str | None) -> Workspace:
    """The whole folder, as `trainc check` without PATH reads it, or a single file of it."""
    from trainc.features.authoring.lsp.workspace import Workspace

    paths = [] if alone is None else [os.path.join(os.curdir, os.path.basename(alone))]
    return Workspace(arguments.but(paths=paths), root)
