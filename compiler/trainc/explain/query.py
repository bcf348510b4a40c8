"""Field expressions: exact paths, prefixes, globs, and `...` for any number of steps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from trainc.api.field_path import FieldPath, Item, format_field
from trainc.diagnostics.near_names import near_names
from trainc.startup.patterns import pattern

ANY_STEPS = "..."
_TOKEN = pattern(r"""\.\.\.|\["((?:[^"\\]|\\.)*)"\]|\[([^\]]*)\]|\.?([^.\[]+)""")


class QueryError(ValueError):
    """A malformed field expression."""


@cache
def parse(text: str) -> tuple[str, ...]:
    """The steps of an expression: `...`, or a key or item with the wildcards `*` and `?`. Raises QueryError."""
    steps: list[str] = []
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise QueryError(f"cannot parse {text[position:]!r} in {text!r} as a field path")
        quoted, item, key = token.groups()
        if token[0] == ANY_STEPS:
            steps.append(ANY_STEPS)
        elif quoted is not None:
            steps.append(re.sub(r"\\(.)", r"\1", quoted))
        else:
            steps.append(item if item is not None else key)
        position = token.end()
    return tuple(steps)


def matches(pattern: Sequence[str], path: FieldPath, index: FieldPath | None = None, *, whole: bool = False) -> bool:
    """Whether `pattern` matches `path` or, unless `whole`, a parent of it. `index` is the path with indexes."""
    numbers = path if index is None else index
    return _matches(tuple(pattern), tuple(zip(map(str, path), map(str, numbers), strict=True)), whole)


def _matches(pattern: tuple[str, ...], steps: tuple[tuple[str, str], ...], whole: bool) -> bool:
    if not pattern:
        return not (whole and steps)
    if pattern[0] == ANY_STEPS:
        return any(_matches(pattern[1:], steps[skip:], whole) for skip in range(len(steps) + 1))
    if not steps or not any(_same(pattern[0], name) for name in steps[0]):
        return False
    return _matches(pattern[1:], steps[1:], whole)


def _same(pattern: str, text: str) -> bool:
    if "*" not in pattern and "?" not in pattern:
        return pattern == text
    return _glob(pattern, text)


def _glob(pattern: str, text: str) -> bool:
    """Whether `text` matches, where `*` is any text and `?` any character. Only the last `*` is backtracked to."""
    at = here = 0
    star, after_star = -1, 0
    while here < len(text):
        if at < len(pattern) and pattern[at] == "*":
            star, after_star, at = at, here, at + 1
        elif at < len(pattern) and pattern[at] in ("?", text[here]):
            at, here = at + 1, here + 1
        elif star >= 0:
            after_star += 1
            at, here = star + 1, after_star
        else:
            return False
    return not pattern[at:].strip("*")


def suggest_paths(text: str, paths: Iterable[FieldPath], count: int = 3) -> list[str]:
    """Suggest existing fields, or parts of them, that are spelled like `text`."""
    wanted = [step for step in parse(text) if step != ANY_STEPS]
    if not wanted:
        return []
    known: dict[str, str] = {}
    for path in paths:
        for end in range(1, len(path) + 1):
            for start in range(max(0, end - len(wanted)), end):
                known.setdefault(".".join(map(str, path[start:end])), _shortest(path, start, end))
    found = near_names(".".join(wanted), known, count) or near_names(wanted[-1], known, count)
    return list(dict.fromkeys(known[name] for name in found))


def path_ending(path: FieldPath) -> str:
    """The end of a path, from the last field or the list item that it belongs to, as an expression."""
    return _shortest(path, len(path) - (2 if isinstance(path[-2:][0], int | Item) else 1), len(path))


def _shortest(path: FieldPath, start: int, end: int) -> str:
    """Part of a path that is a complete expression by itself."""
    while start and isinstance(path[start], int | Item):
        start -= 1
    return format_field(path[start:end])
