"""The fields of an object in sections, a row for each thing there is to say.

A section is the object itself, its spec, a replicated job, a job's pod, or a container; list items' names are left
out, because the paths of their other fields say them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from trainc.api.field_path import FieldPath, format_field, is_item_name
from trainc.explain.model import ExplainedField, Input, Origin
from trainc.startup.records import dataclass, replace

_POD = ("template", "spec", "template")
_CONTAINERS = ("containers", "initContainers")


@dataclass(frozen=True, slots=True)
class Row:
    """A field, or neighbouring items of a list that have the same origins; `value` is then the list of them."""

    path: FieldPath
    value: Any
    origins: tuple[Origin, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """Rows below one path; `title` says in words what is there."""

    title: str
    path: FieldPath
    rows: tuple[Row, ...]


def sections(fields: Sequence[ExplainedField]) -> list[Section]:
    """Every field in the section of the innermost thing it belongs to, in the order of the output."""
    grouped: dict[FieldPath, list[ExplainedField]] = {}
    for field in fields:
        grouped.setdefault(_home(field.path), []).append(field)
    return [Section(_title(path), path, tuple(_rows(found, len(path)))) for path, found in grouped.items()]


def _home(path: FieldPath) -> FieldPath:
    if path[:2] != ("spec", "replicatedJobs"):
        return path[:1] if path[0] in ("metadata", "spec", "data") and len(path) > 1 else ()
    inside = path[3:]
    if inside[:3] != _POD:
        return path[:3]
    if len(inside) > 5 and inside[4] in _CONTAINERS:
        return path[:9]
    return path[:6]


def _title(path: FieldPath) -> str:
    if path[:2] != ("spec", "replicatedJobs"):
        return format_field(path)
    if len(path) == 3:
        return f"job {path[2]}"
    if len(path) == 6:
        return f"job {path[2]}, its pods"
    kind = "container" if path[7] == "containers" else "init container"
    return f"job {path[2]}, {kind} {path[8]}"


def _rows(fields: Sequence[ExplainedField], skipped: int) -> Iterable[Row]:
    named = {f.path[:-1] for f in fields if not is_item_name(f.path)}
    shown = [f for f in fields if not (is_item_name(f.path) and _has_others(f.path[:-1], named))]
    start = 0
    while start < len(shown):
        end = start + 1
        while end < len(shown) and _continues(shown[end - 1], shown[end]):
            end += 1
        if end - start > 1:
            yield _joined(shown[start:end], skipped)
        else:
            yield Row(shown[start].path[skipped:], shown[start].value, shown[start].origins)
        start = end


def _joined(words: Sequence[ExplainedField], skipped: int) -> Row:
    """Words of one list as one row: the values as lists, the origins those of the first word, less its index."""
    origins = tuple(_of_list(words, depth) for depth in range(len(words[0].origins)))
    return Row(words[0].path[skipped:-1], [word.value for word in words], origins)


def _of_list(words: Sequence[ExplainedField], depth: int) -> Origin:
    first = words[0].origins[depth]
    values = [word.origins[depth].value for word in words if depth < len(word.origins)]
    return replace(first, value=values, inputs=tuple(_without_index(given) for given in first.inputs))


def _without_index(given: Input) -> Input:
    return replace(given, path=given.path[:-1]) if given.path and isinstance(given.path[-1], int) else given


def _has_others(item: FieldPath, named: Iterable[FieldPath]) -> bool:
    return any(path[: len(item)] == item for path in named)


def _continues(left: ExplainedField, right: ExplainedField) -> bool:
    """Whether two words of one list were set by the same hands."""
    words = isinstance(left.path[-1], int) and isinstance(right.path[-1], int) and left.path[:-1] == right.path[:-1]
    return words and _hand(left.origin) == _hand(right.origin)


def _hand(origin: Origin) -> tuple[object, ...]:
    inputs = tuple((i.object, tuple(s for s in i.path if not isinstance(s, int))) for i in origin.inputs)
    return origin.kind, origin.by, origin.at, origin.rule, origin.deviation, inputs
