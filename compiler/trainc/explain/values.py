"""Values on one line."""

from __future__ import annotations

import json
import re
from typing import Any

from trainc.startup.patterns import pattern

_WIDTH = 44
# What a reader would take for a number, a boolean or nothing at all, were it not in quotes.
_NOT_PLAIN = pattern(
    r"|[-+.]?\d.*|true|false|null|yes|no|on|off|~|.*[\"'\\\x00-\x1f].*|\s.*|.*\s", re.IGNORECASE | re.DOTALL
)


def shown(value: Any, width: int = _WIDTH) -> str:
    """A value in at most `width` characters; text that could be taken for something else is quoted."""
    if isinstance(value, list) and value:
        return shorten("[" + ", ".join(whole(word) for word in value) + "]", width)
    if isinstance(value, str) and "\n" in value:
        lines = value.rstrip("\n").split("\n")
        first = shorten(lines[0], width - 14)
        return f"{first} ({len(lines)} lines)" if len(lines) > 1 else f"{first} (1 line)"
    return shorten(whole(value), width)


def whole(value: Any) -> str:
    """A value on one line, however long."""
    if isinstance(value, str) and not _NOT_PLAIN.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def shorten(text: str, width: int) -> str:
    """Text cut in the middle, so that both of its ends can be told apart from others."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 3
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"
