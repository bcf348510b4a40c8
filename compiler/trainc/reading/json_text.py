"""Reads JSON. A document that starts with `{` is read as a sequence of JSON objects, and as YAML only if that fails.

This matches kubectl (k8s.io/apimachinery pkg/util/yaml YAMLOrJSONDecoder). It matters for strings: JSON combines
surrogate pairs, which YAML rejects, and does not treat any non-ASCII characters as line breaks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from trainc.kube.documents import is_deeper
from trainc.reading.block_lines import number
from trainc.reading.document import Chunk
from trainc.startup.patterns import pattern
from trainc.startup.records import replace

_SPACE = pattern(r"\s*")
_SURROGATE_PAIR = pattern(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_SURROGATE = pattern(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_MOST_LEVELS = 200
_TWO_ESCAPES = r"\\u0020\\u0020"


def read_objects(chunk: Chunk, depth: int) -> Iterator[tuple[Any, Chunk]]:
    """Yield each leading object with its text, and finally None with the remaining text, to be read as YAML.

    The remaining text includes JSON that trainc rejects (duplicate keys, excessive depth, lone surrogates), so that the
    YAML reader reports the problem. Surrogate pairs in the texts are replaced with escapes that YAML accepts.
    """
    decoder = json.JSONDecoder(
        object_pairs_hook=_unique, parse_int=_number, parse_float=_number, parse_constant=_number
    )
    at = _after_space(chunk.text, 0)
    # Python's parser recurses.
    is_deep = chunk.text.startswith("{", at) and is_deeper(chunk.text, min(depth, _MOST_LEVELS))
    while chunk.text.startswith("{", at) and not is_deep:
        try:
            value, end = decoder.raw_decode(chunk.text, at)
        except ValueError:
            break
        part = chunk.part(at, end)
        part = replace(part, text=_SURROGATE_PAIR.sub(_TWO_ESCAPES, part.text))
        if _SURROGATE.search(part.text):
            break
        yield value, part
        at = _after_space(chunk.text, end)
    yield None, chunk.part(at, len(chunk.text))


def _after_space(text: str, index: int) -> int:
    return match.end() if (match := _SPACE.match(text, index)) else index


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ValueError
    return mapping


def _number(text: str) -> int | float:
    value = number(text)
    if isinstance(value, str):
        raise ValueError(text)  # noqa: TRY004 - NaN, Infinity, or more than a float holds
    return value
