"""Render an explanation for a terminal: a section for each part of an object, a line for each field.

A field's line names its most recent origin; earlier origins follow below it, each with its value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

from trainc.explain.model import ExplainedField, ExplainedObject, Explanation, Input, Origin, prefix
from trainc.findings import Source
from trainc.findings.text import escape_line
from trainc.ir.deviations import DEVIATIONS
from trainc.kube.documents import POD_TEMPLATE, FieldPath, format_field, is_item_name
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, replace

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
            origin_input = origin.inputs[0]
            moved = origin_input.path[:2] != ("spec", "template")
            return _joined_phrases(
                [format_field(origin_input.path) if moved else "", place(origin_input.source), origin.rule]
            )
        case "overlay" | "patch" | "trainjob":
            return _joined_phrases([place(origin.inputs[0].source), origin.rule])
        case _:
            return "; ".join(filter(None, [_from(origin.inputs), origin.rule]))


def _from(inputs: Sequence[Input]) -> str:
    if not inputs:
        return ""
    named = "; ".join(_joined_phrases([format_field(i.path), place(i.source)]) for i in inputs[:_SHOWN_INPUTS])
    rest = len(inputs) - _SHOWN_INPUTS
    return f"from {named}" + (f"; and {rest} more" if rest > 0 else "")


def _joined_phrases(parts: Sequence[str]) -> str:
    return ", ".join(filter(None, parts))


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


Role: TypeAlias = Literal["heading", "path", "value", "faint", "plugin", "trainjob", "runtime", "default", "deviation"]
# Applies the style of a role to text; plain output leaves it unchanged.
Paint: TypeAlias = Callable[[str, Role], str]

_MOST_FIELDS = 10_000
_PATH_WIDTH = 46
_VALUE_WIDTH = 32
_ROLES: dict[str, Role] = {
    "runtime": "runtime",
    "overlay": "runtime",
    "patch": "trainjob",
    "trainjob": "trainjob",
    "plugin": "plugin",
    "default": "default",
    "admission": "default",
    "deviation": "deviation",
    "delivery": "plugin",
    "kept": "default",
}


def plain(text: str, role: Role) -> str:
    """Return `text` without styling."""
    return text


def explanation_text(explanation: Explanation, paint: Paint = plain) -> str:
    """Render the explanation, with full details if it has a single field, and without those that nobody reads to."""
    lines = [_heading(explanation, paint)]
    fields = [field for explained in explanation.objects for field in explained.fields]
    room = _MOST_FIELDS
    for explained in explanation.objects:
        if len(fields) == 1:
            lines += ["", *_format_field(prefix(explanation, explained), fields[0], paint)]
        elif room > 0:
            lines += _object(explanation, replace(explained, fields=explained.fields[:room]), paint)
            room -= len(explained.fields)
    if len(fields) > _MOST_FIELDS:
        lines += ["", f"... and {len(fields) - _MOST_FIELDS:,} more fields; name one to see it, or see --format json"]
    return "\n".join(lines) + "\n"


def _heading(explanation: Explanation, paint: Paint) -> str:
    about = f"{explanation.runtime}, Trainer {explanation.release}, semantics {explanation.semantics}"
    return f"{paint(explanation.job, 'heading')}  {paint(about, 'faint')}"


def _object(explanation: Explanation, explained: ExplainedObject, paint: Paint) -> Iterator[str]:
    before = prefix(explanation, explained)
    place_of = "/".join(filter(None, (explained.name.namespace, explained.name.name)))
    yield ""
    yield paint(f"{explained.name.kind} {place_of}", "heading")
    for section in sections(explained.fields):
        if section.path:
            yield ""
            yield _title(section, before, paint)
        yield from _table(section.rows, paint)


def _title(section: Section, before: str, paint: Paint) -> str:
    path = before + _short(section.path)
    return (
        paint(path, "heading")
        if path.endswith(section.title)
        else f"{paint(section.title, 'heading')}  {paint(path, 'faint')}"
    )


def _short(path: FieldPath) -> str:
    """A path that `trainc explain` accepts, without the steps that all jobs share."""
    if len(path) <= 6:
        return format_field(path)
    return f"{format_field(path[:3])}...{format_field(path[7:])}"


def _table(rows: tuple[Row, ...], paint: Paint) -> Iterator[str]:
    paths = [escape_line(format_field(row.path)) for row in rows]
    values = [
        [shorten_value(row.value, _VALUE_WIDTH), *(shorten_value(o.value, _VALUE_WIDTH) for o in row.origins[1:])]
        for row in rows
    ]
    left = min(max(map(len, paths)), _PATH_WIDTH)
    right = min(max(len(value) for column in values for value in column), _VALUE_WIDTH)
    for path, column, row in zip(paths, values, rows, strict=True):
        for i, (value, origin) in enumerate(zip(column, row.origins, strict=True)):
            label = paint(f"{path:<{left}}", "path") if i == 0 else " " * left
            # An overlong path shifts only its own line.
            room = max(0, right - max(0, len(path) - left)) if i == 0 else right
            written = paint(f"{value:<{room}}", "value" if i == 0 else "faint")
            arrow = "<-" if i == 0 else "   before:"
            role: Role = _ROLES[origin.kind] if i == 0 else "faint"
            yield f"  {label}  {written}  {paint(arrow, 'faint')} {paint(describe_origin(origin), role)}"


def _format_field(before: str, field: ExplainedField, paint: Paint) -> Iterator[str]:
    yield paint(before + format_field(field.path), "path")
    for i, origin in enumerate(field.origins):
        yield ""
        value = _block(origin.value) if i == 0 else shorten_value(origin.value, 2 * _VALUE_WIDTH)
        yield f"  {paint(value, 'value' if i == 0 else 'faint')}"
        role: Role = _ROLES[origin.kind] if i == 0 else "faint"
        yield f"    {paint('<-' if i == 0 else 'before:', 'faint')} {paint(origin_name(origin), role)}"
        yield from (f"       {line}" for line in _evidence(origin, paint))


def _block(value: object) -> str:
    """A value in full; multi-line text is kept on several lines."""
    if isinstance(value, str) and "\n" in value:
        return "\n  ".join(map(escape_line, value.rstrip("\n").split("\n")))
    return format_value(value)


def _evidence(origin: Origin, paint: Paint) -> Iterator[str]:
    for origin_input in origin.inputs:
        name = paint(origin_input.object, "faint")
        where = paint(f"  {place(origin_input.source)}", "faint") if place(origin_input.source) else ""
        value = "" if isinstance(origin_input.value, dict | list) else f" = {shorten_value(origin_input.value)}"
        yield f"from {name} {format_field(origin_input.path)}{paint(value, 'value')}{where}"
    if origin.rule:
        yield origin.rule
    for deviation in DEVIATIONS:
        if deviation.id == origin.deviation:
            yield f"{paint('deviation ' + deviation.id, 'deviation')}: {deviation.summary};"
            yield paint(f"  {deviation.reason}", "faint")


_CONTAINERS = ("containers", "initContainers")


@dataclass(frozen=True, slots=True)
class Row:
    """A field, or adjacent list items with the same origins; `value` is then the list of their values."""

    path: FieldPath
    value: Any
    origins: tuple[Origin, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """Rows below a common path; `title` describes it.

    It is the object itself, its spec, a replicated job, a job's pod, or a container. The names of list items are
    omitted, because the paths of their other fields contain them.
    """

    title: str
    path: FieldPath
    rows: tuple[Row, ...]


def sections(fields: Sequence[ExplainedField]) -> list[Section]:
    """Assign every field to the section of the innermost part that contains it, in output order."""
    grouped: dict[FieldPath, list[ExplainedField]] = {}
    for field in fields:
        grouped.setdefault(_home(field.path), []).append(field)
    return [Section(_row_title(path), path, tuple(_rows(members, len(path)))) for path, members in grouped.items()]


def _home(path: FieldPath) -> FieldPath:
    if path[:2] != ("spec", "replicatedJobs"):
        return path[:1] if path[0] in ("metadata", "spec", "data") and len(path) > 1 else ()
    inside = path[3:]
    if inside[:3] != POD_TEMPLATE:
        return path[:3]
    if len(inside) > 5 and inside[4] in _CONTAINERS:
        return path[:9]
    return path[:6]


def _row_title(path: FieldPath) -> str:
    if path[:2] != ("spec", "replicatedJobs"):
        return format_field(path)
    if len(path) == 3:
        return f"job {path[2]}"
    if len(path) == 6:
        return f"job {path[2]}, its pods"
    kind = "container" if path[7] == "containers" else "init container"
    return f"job {path[2]}, {kind} {path[8]}"


def _rows(fields: Sequence[ExplainedField], skipped: int) -> Iterable[Row]:
    # All paths below which there is something else than the name of an item.
    named = {f.path[:end] for f in fields if not is_item_name(f.path) for end in range(len(f.path))}
    shown = [f for f in fields if not (is_item_name(f.path) and f.path[:-1] in named)]
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
    """Items of one list as a single row: their values as a list, and the first item's origins without its index."""
    origins = tuple(_of_list(words, depth) for depth in range(len(words[0].origins)))
    return Row(words[0].path[skipped:-1], [word.value for word in words], origins)


def _of_list(words: Sequence[ExplainedField], depth: int) -> Origin:
    first = words[0].origins[depth]
    values = [word.origins[depth].value for word in words if depth < len(word.origins)]
    return replace(first, value=values, inputs=tuple(_without_index(origin_input) for origin_input in first.inputs))


def _without_index(origin_input: Input) -> Input:
    return (
        replace(origin_input, path=origin_input.path[:-1])
        if origin_input.path and isinstance(origin_input.path[-1], int)
        else origin_input
    )


def _continues(left: ExplainedField, right: ExplainedField) -> bool:
    """Whether two items of one list have the same origins."""
    words = isinstance(left.path[-1], int) and isinstance(right.path[-1], int) and left.path[:-1] == right.path[:-1]
    return words and _hand(left.origin) == _hand(right.origin)


def _hand(origin: Origin) -> tuple[object, ...]:
    inputs = tuple((i.object, tuple(s for s in i.path if not isinstance(s, int))) for i in origin.inputs)
    return origin.kind, origin.by, origin.at, origin.rule, origin.deviation, inputs


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """Return the explanation as JSON-serializable data.

    The shape is::

        {"apiVersion": "trainc/v1alpha1", "kind": "Explanation",
         "job": "TrainJob team-a/llm", "runtime": "ClusterTrainingRuntime torch-distributed",
         "release": "2.3", "semantics": "gitops",
         "objects": [{"apiVersion", "kind", "namespace", "name",
                      "fields": [{"path", "value", "origins": [ORIGIN, ...]}]}]}

    Origins are listed most recent first. An origin has `kind` (runtime, overlay, patch, trainjob, plugin, default,
    admission, deviation or delivery), `by`, `value` and, if applicable, `at` (a plugin's extension point), `rule`,
    `deviation` and `inputs`: [{"object", "path", "value", "source": {"file", "line", "column"}}].
    """
    return {
        "apiVersion": "trainc/v1alpha1",
        "kind": "Explanation",
        "job": explanation.job,
        "runtime": explanation.runtime,
        "release": explanation.release,
        "semantics": explanation.semantics,
        "objects": [
            {
                "apiVersion": explained.name.api_version,
                "kind": explained.name.kind,
                "namespace": explained.name.namespace,
                "name": explained.name.name,
                "fields": [
                    {"path": format_field(field.path), "value": field.value, "origins": [*map(_origin, field.origins)]}
                    for field in explained.fields
                ],
            }
            for explained in explanation.objects
        ],
    }


def _origin(origin: Origin) -> dict[str, Any]:
    details = {"at": origin.at, "rule": origin.rule, "deviation": origin.deviation}
    return {
        "kind": origin.kind,
        "by": origin.by,
        "value": origin.value,
        **{key: value for key, value in details.items() if value},
        **({"inputs": [_input(origin_input) for origin_input in origin.inputs]} if origin.inputs else {}),
    }


def _input(origin_input: Input) -> dict[str, Any]:
    document = {"object": origin_input.object, "path": format_field(origin_input.path), "value": origin_input.value}
    source = origin_input.source
    if source is None:
        return document
    return {**document, "source": {"file": source.file, "line": source.line, "column": source.column}}
