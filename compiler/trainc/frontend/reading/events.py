"""YAML text straight to its value, for the documents that hold nothing unusual: nearly all of them.

What needs a position or a second thought (tags, anchors, merge keys, duplicate keys, too much depth) raises
`Unusual`, and the text is read again by way of `nodes` and `construct`.
"""

from __future__ import annotations

from typing import Any

from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from trainc.frontend.reading.event_parser import EventParser
from trainc.frontend.reading.scalars import MERGE, NUMBER_START, WORDS, number

_TEXT_KEYS = {str}


class Unusual(ValueError):
    """The document holds something that this reader does not judge."""


def read_events(text: str, depth: int) -> list[Any]:  # noqa: C901, PLR0912 - one loop, for speed
    """The documents in `text`: none or one. YAMLError where the syntax is wrong; ValueError as the module says."""
    if "! " in text or "!\n" in text or "!\t" in text:
        raise Unusual  # A lone tag `!` leaves no trace in the events.
    next_event = EventParser(text).get_event
    outer: list[list[Any]] = []
    children: list[Any] = []
    while True:
        event: Any = next_event()
        kind = type(event)
        if kind is ScalarEvent:
            value = event.value
            if event.tag is not None or event.anchor is not None:
                raise Unusual
            if event.implicit[0]:
                if value in WORDS:
                    value = WORDS[value]
                elif value[0] in NUMBER_START:
                    value = number(value)
                elif value == MERGE:
                    raise Unusual
            children.append(value)
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            if event.tag is not None or event.anchor is not None or len(outer) >= depth:
                raise Unusual
            outer.append(children)
            children = []
        elif kind is SequenceEndEvent:
            outer[-1].append(children)
            children = outer.pop()
        elif kind is MappingEndEvent:
            outer[-1].append(_mapping(children))
            children = outer.pop()
        elif kind is StreamEndEvent:
            return children
        elif kind is AliasEvent:
            raise Unusual


def _mapping(children: list[Any]) -> dict[str, Any]:
    try:
        mapping = dict(zip(children[::2], children[1::2], strict=True))
    except TypeError:
        raise Unusual from None
    if len(mapping) * 2 != len(children) or (mapping and set(map(type, mapping)) != _TEXT_KEYS):
        raise Unusual
    return mapping
