"""Finds out where a wrongly indented key belongs."""

from __future__ import annotations

import re

from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

_KEY_LINE = pattern(r"(?P<indent>[ ]*)(?P<key>[\w./-]+):(?:\s|$)")
_ITEM_LINE = pattern(r"(?P<indent>[ ]*)-(?P<gap>[ ]+)(?P<key>[\w./-]+):(?P<value>.*)")
_FIELD_LINE = pattern(r"(?P<indent>(?:[ ]*-[ ]+)?[ ]*)(?P<key>[\w./-]+):[ ]+(?![|>#])\S")


@dataclass(frozen=True, slots=True)
class MisplacedKey:
    """A key at `index` of the text, with a message and a hint about its indentation."""

    index: int
    message: str
    hint: str


def misplaced_key(text: str, index: int) -> MisplacedKey | None:
    """Explain the key on the line of `text[index]`, if the lines above show where it belongs."""
    start = text.rfind("\n", 0, index) + 1
    line = _KEY_LINE.match(text, start)
    above = [other for other in text[:start].splitlines() if other.strip() and not other.lstrip().startswith("#")]
    if line is None or not above:
        return None
    return _under_a_dash(line, above) or _too_deep(line, above[-1]) or _between(line, above)


def _under_a_dash(line: re.Match[str], above: list[str]) -> MisplacedKey | None:
    """A field of a list item that is in the column of the item's dash."""
    column = len(line["indent"])
    # Lines of the item itself are indented further than its dash.
    item = next((other for other in reversed(above) if len(other) - len(other.lstrip()) <= column), "")
    dash = _ITEM_LINE.match(item)
    if dash is None or len(dash["indent"]) != column:
        return None
    wanted = column + 1 + len(dash["gap"])
    return MisplacedKey(
        line.start("key"),
        f"`{line['key']}` is in the same column as the dash above, so it is outside that list item",
        f"move it to column {wanted + 1}, below `{dash['key']}`",
    )


def _between(line: re.Match[str], above: list[str]) -> MisplacedKey | None:
    """A key in a column between those of the surrounding mappings."""
    column = len(line["indent"])
    around: dict[int, str] = {}
    for other in reversed(above):
        found = _KEY_LINE.match(other) or _ITEM_LINE.match(other)
        if found is None:
            return None
        start = found.start("key")
        if start < min(around, default=start + 1):
            around[start] = found["key"]
        if start < column:
            break
    if column in around or len(around) < 2:
        return None
    deeper = min((start for start in around if start > column), default=None)
    choices = [f"{_spaces(start)} like `{around[start]}:`" for start in (deeper, min(around)) if start is not None]
    message = "the indentation of this line matches no mapping or list above it"
    return MisplacedKey(line.start("key"), message, f"indent it {', or '.join(choices)}")


def _spaces(count: int) -> str:
    return f"by {count} space{'' if count == 1 else 's'}" if count else "not at all,"


def _too_deep(line: re.Match[str], above: str) -> MisplacedKey | None:
    """A key that is indented under a key that already has a value."""
    field = _FIELD_LINE.match(above)
    if field is None or len(field["indent"]) >= len(line["indent"]):
        return None
    if field["key"].startswith("-"):
        return MisplacedKey(
            line.start("key"),
            f"`{field['key']}` above this line has no space after its dash, so it is a key and not a list item",
            f"write `- {above.strip()[1:]}` on the line above",
        )
    return MisplacedKey(
        line.start("key"),
        f"`{line['key']}` is indented under `{field['key']}`, which already has a value",
        f"move it to column {len(field['indent']) + 1}, below `{field['key']}`, if both are fields of one mapping",
    )
