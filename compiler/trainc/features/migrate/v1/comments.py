"""Comments: those of a YAML text, each with what it is about, to be put next to the same values in another text."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from trainc.findings import Path
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

_COMMENT = pattern(r"(?:(?<=\s)|^)#[^\n]*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment. `path` is what it stands above, or behind; empty at the head of the text, None at its end."""

    text: str
    path: Path | None
    is_behind: bool


def comments_of(text: str) -> list[Comment]:
    """Every comment of a text of one document, in order."""
    starts = [match.start() for match in re.finditer("^", text, re.MULTILINE)]
    lines = lines_of(text)
    found: list[Comment] = []
    for start, content in _outside_scalars(text):
        line = bisect.bisect_right(starts, start) - 1
        if text[starts[line] : start].strip():
            found.append(Comment(content, lines[line][-1] if line in lines else (), is_behind=True))
        else:
            below = next((number for number in sorted(lines) if number > line), None)
            first = below is not None and below == min(lines)
            path = None if below is None else () if first else lines[below][0]
            found.append(Comment(content, path, is_behind=False))
    return found


def _outside_scalars(text: str) -> Iterator[tuple[int, str]]:
    """The place and text of whatever looks like a comment and is not part of a value."""
    from yaml import ScalarToken, YAMLError, scan

    try:
        spans = [(t.start_mark.index, t.end_mark.index) for t in scan(text) if isinstance(t, ScalarToken)]
    except YAMLError:  # What kubectl reads and PyYAML does not, such as tabs.
        spans = []
    begins = [begin for begin, _ in spans]
    for match in _COMMENT.finditer(text):
        at = bisect.bisect_right(begins, match.start()) - 1
        if at < 0 or match.start() >= spans[at][1]:
            yield match.start(), match[0].rstrip()


def lines_of(text: str) -> dict[int, list[Path]]:
    """For each line on which something is named, from 0, what: the outermost first, the innermost last."""
    from yaml import SafeLoader, YAMLError, compose

    lines: dict[int, list[Path]] = {}
    with suppress(YAMLError):
        _walk(compose(text, Loader=SafeLoader), (), lines)
    return lines


def _walk(node: Any, path: Path, lines: dict[int, list[Path]]) -> None:
    if node is None or node.id == "scalar":
        return
    for index, child in enumerate(node.value):
        named, inner = child if node.id == "mapping" else (child, child)
        step = named.value if node.id == "mapping" else index
        if isinstance(step, (str, int)):
            lines.setdefault(named.start_mark.line, []).append((*path, step))
            _walk(inner, (*path, step), lines)


def with_comments(text: str, comments: Sequence[tuple[Path, Comment]]) -> str:
    """`text` with each comment above or behind what is at its path there; at the head for the empty path."""
    lines = text.splitlines()
    at: dict[Path, int] = {}
    for number, paths in lines_of(text).items():
        for path in paths:
            at.setdefault(path, number)
    above: dict[int, list[str]] = {}
    taken: set[int] = set()
    for path, comment in comments:
        number = at.get(path, 0) if path else 0
        if comment.is_behind and path and number not in taken:
            lines[number] += f"  {comment.text}"
            taken.add(number)
        else:
            above.setdefault(number, []).append(comment.text)
    return "".join(
        f"{line}\n" for number, whole in enumerate(lines) for line in (*_indented(above, number, whole), whole)
    )


def _indented(above: Mapping[int, Sequence[str]], number: int, line: str) -> Iterator[str]:
    indent = line[: len(line) - len(line.lstrip())]
    yield from (indent + comment for comment in above.get(number, ()))
