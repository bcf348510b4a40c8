"""The slow but thorough reader, which parses to a tree with positions and reports all problems."""

from __future__ import annotations

from typing import Any

from yaml.error import YAMLError

from trainc.diagnostics import Diagnostic
from trainc.options import Limits
from trainc.reading.chunk import Chunk
from trainc.reading.construct import construct
from trainc.reading.nodes import RefusedError, compose
from trainc.reading.syntax_errors import syntax_error


def read_strictly(chunk: Chunk, limits: Limits) -> tuple[Any, list[Diagnostic]]:
    """Return the value of the document in `chunk` (None if it is empty) and its problems."""
    try:
        root = compose(chunk, limits)
    except YAMLError as error:
        return None, [syntax_error(error, chunk)]
    except RefusedError as refused:
        return None, [refused.diagnostic]
    return (None, []) if root is None else construct(root, chunk)
