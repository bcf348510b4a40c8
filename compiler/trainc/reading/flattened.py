"""Detects lost indentation, for example after copying from a web page, to report one clear error instead of many.

Such text still looks like YAML and may even parse, but `spec:` is empty and its fields are next to it.
"""

from __future__ import annotations

from itertools import pairwise

from trainc.diagnostics import Diagnostic
from trainc.reading.chunk import Chunk
from trainc.startup.patterns import pattern

_CONTENT = pattern(r"(?m)^([ \t]*)([^\s#].*)$")
_EMPTY_KEY = pattern(r"[\w./-]+:\s*(?:#.*)?")
_KEY = pattern(r"[\w./-]+(?=:(?:\s|$))")
# Fields that are siblings in any manifest, so one of them after an empty one is no evidence.
_ROOT_KEYS = frozenset(("apiVersion", "kind", "metadata", "spec", "status", "data"))


def find_lost_indentation(chunk: Chunk) -> Diagnostic | None:
    """Return the error `FlattenedYAML` if all lines start in the same column although some keys are empty."""
    lines = list(_CONTENT.finditer(chunk.text))
    if len({len(line[1]) for line in lines}) != 1:
        return None
    for parent, child in pairwise(lines):
        key = _KEY.match(child[2])
        if _EMPTY_KEY.fullmatch(parent[2]) and key and key[0] not in _ROOT_KEYS:
            return chunk.error(
                "FlattenedYAML",
                parent.start(2),
                f"the indentation is lost: `{parent[2].partition(':')[0]}:` is empty and `{key[0]}:` is in the same column",
                "copy the document again with its indentation: trainc cannot tell which field is under which",
            )
    return None
