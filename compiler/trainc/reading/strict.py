"""The careful way from text to value: by way of a tree that keeps every place, with everything that is wrong reported."""

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
    """The value of the one document in `chunk`, None where there is none, and what is wrong with it."""
    try:
        root = compose(chunk, limits)
    except YAMLError as error:
        return None, [syntax_error(error, chunk)]
    except RefusedError as refused:
        return None, [refused.diagnostic]
    return (None, []) if root is None else construct(root, chunk)
