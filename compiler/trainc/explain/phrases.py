"""Descriptions of origins for readers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from trainc.api.field_path import format_field
from trainc.diagnostics import Source
from trainc.diagnostics.escaping import escape_line
from trainc.explain.model import Input, Origin
from trainc.startup.patterns import pattern

_SHOWN_INPUTS = 3


def describe_origin(origin: Origin) -> str:
    """Describe an origin with its location: `plugin Torch at EnforceMLPolicy (from ..., jobs/llm.yaml:12)`."""
    text = origin_name(origin)
    details = _details(origin)
    if details:
        text += f" ({details})"
    return f"{text} [deviation {origin.deviation}]" if origin.deviation and origin.kind != "deviation" else text


def origin_name(origin: Origin) -> str:
    """The name of an origin, without its location."""
    match origin.kind:
        case "plugin":
            return f"plugin {origin.by} at {origin.at}"
        case "patch":
            return f"patch {origin.by}"
        case "overlay":
            return "overlay"
        case "trainjob":
            return f"{origin.by.partition(' ')[0]} {format_field(origin.inputs[0].path)}"
        case "default":
            return f"default of {origin.by.partition(' ')[0]}"
        case "admission":
            return f"default of {origin.by}"
        case "deviation":
            return f"deviation {origin.deviation}"
        case _:
            return origin.by


def place(source: Source | None) -> str:
    """`file:line`, or an empty string."""
    return f"{escape_line(source.file)}:{source.line}" if source and source.file else ""


def _details(origin: Origin) -> str:
    match origin.kind:
        case "default" | "admission":
            return ""
        case "runtime":
            given = origin.inputs[0]
            moved = given.path[:2] != ("spec", "template")
            return _joined([format_field(given.path) if moved else "", place(given.source), origin.rule])
        case "overlay" | "patch" | "trainjob":
            return _joined([place(origin.inputs[0].source), origin.rule])
        case _:
            return "; ".join(filter(None, [_from(origin.inputs), origin.rule]))


def _from(inputs: Sequence[Input]) -> str:
    if not inputs:
        return ""
    named = "; ".join(_joined([format_field(i.path), place(i.source)]) for i in inputs[:_SHOWN_INPUTS])
    rest = len(inputs) - _SHOWN_INPUTS
    return f"from {named}" + (f"; and {rest} more" if rest > 0 else "")


def _joined(parts: Sequence[str]) -> str:
    return ", ".join(filter(None, parts))


# Formatting of values on one line.


_WIDTH = 44
# Strings that would read as a number, a boolean or null without quotes.
_NOT_PLAIN = pattern(
    r"|[-+.]?\d.*|true|false|null|yes|no|on|off|~|.*[\"'\\\x00-\x1f].*|\s.*|.*\s", re.IGNORECASE | re.DOTALL
)


def shorten_value(value: Any, width: int = _WIDTH) -> str:
    """Format a value in at most `width` characters; ambiguous strings are quoted."""
    if isinstance(value, list) and value:
        return shorten("[" + ", ".join(format_value(word) for word in value) + "]", width)
    if isinstance(value, str) and "\n" in value:
        lines = value.rstrip("\n").split("\n")
        first = shorten(escape_line(lines[0]), width - 14)
        return f"{first} ({len(lines)} lines)" if len(lines) > 1 else f"{first} (1 line)"
    return shorten(format_value(value), width)


def format_value(value: Any) -> str:
    """Format a value on one line of any length."""
    if isinstance(value, str) and not _NOT_PLAIN.fullmatch(value):
        return escape_line(value)
    return escape_line(json.dumps(value, ensure_ascii=False))


def shorten(text: str, width: int) -> str:
    """Shorten text by cutting out the middle, since names often differ only at the start or the end."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 3
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"
