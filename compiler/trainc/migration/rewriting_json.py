"""Rewriting JSON: an object's text with its data changed, in the indentation, spacing and characters that it had."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from trainc.migration.kept_lines import with_kept_lines
from trainc.startup.patterns import pattern

_SPACE = pattern(r"\s*")
_INDENT = pattern(r"\{[ \t]*\n(?P<indent>[ \t]+)")
_COLON_AND_NO_SPACE = pattern(r'"\s*:\S')


def leading_objects(text: str) -> Iterator[tuple[str, Any, str]]:
    """Each JSON object that `text` begins with: the space before it, its data, its text. Last, what is left, and None.

    As a reader takes them: JSON comes first, one object after the other, and YAML only where it ends.
    """
    decoder = json.JSONDecoder()
    start = 0
    while (space := _SPACE.match(text, start)) and text.startswith("{", space.end()):
        try:
            value, end = decoder.raw_decode(text, space.end())
        except (ValueError, RecursionError):
            break
        yield space[0], value, text[space.end() : end]
        start = end
    yield "", None, text[start:]


def rewrite_json(text: str, now: Any, wanted: Any) -> str:
    """`text`, whose data is `now`, with the data `wanted`; lines whose data does not change are as they were."""
    write = _writer(text)
    after = write(wanted)
    kept = with_kept_lines(text, write(now), after)
    try:
        return kept if json.loads(kept) == wanted else after
    except ValueError:
        return after


def _writer(text: str) -> Callable[[Any], str]:
    found = _INDENT.match(text)
    colon = ":" if _COLON_AND_NO_SPACE.search(text) else ": "
    comma = "," if found or colon == ":" else ", "
    indent = found["indent"] if found else None
    return lambda value: json.dumps(value, indent=indent, separators=(comma, colon), ensure_ascii=text.isascii())
