"""Render an explanation for a terminal: a section for each part of an object, a line for each field.

A field's line names its most recent origin; earlier origins follow below it, each with its value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, Literal, TypeAlias

from trainc.explain.model import ExplainedField, ExplainedObject, Explanation, Origin
from trainc.findings import Source
from trainc.findings.text import escape_line
from trainc.ir.deviations import deviations
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


def format_position(source: Source | None) -> str:
    """`file:line`, or an empty string."""
    return f"{escape_line(source.file)}:{source.line}" if source and source.file else ""


def _details(origin: Origin) -> str:
    match origin.kind:
        case "default" | "admission":
            return ""
        case "runtime" | "overlay" | "patch" | "trainjob":
            origin_input = origin.inputs[0]
            moved = origin.kind == "runtime" and origin_input.path[:2] != ("spec", "template")
            path = format_field(origin_input.path) if moved else ""
            return ", ".join(filter(None, (path, format_position(origin_input.source), origin.rule)))
        case _:
            inputs = [", ".join(filter(None, (format_field(i.path), format_position(i.source)))) for i in origin.inputs]
            more = len(inputs) - _SHOWN_INPUTS
            shown_inputs = [*inputs[:_SHOWN_INPUTS], *([f"and {more} more"] if more > 0 else ())]
            return "; ".join(filter(None, ("from " + "; ".join(shown_inputs) if inputs else "", origin.rule)))


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

_PATH_WIDTH = 46
_VALUE_WIDTH = 32


_ROLES: dict[str, Role] = {
    "runtime": "runtime", "overlay": "runtime", "patch": "trainjob", "trainjob": "trainjob", "plugin": "plugin",
    "default": "default", "admission": "default", "deviation": "deviation", "delivery": "plugin", "kept": "default",
}  # fmt: skip


def plain(text: str, role: Role) -> str:
    """Return `text` without styling."""
    return text


def explanation_text(explanation: Explanation, paint: Paint = plain) -> str:
    """Render the explanation, with full details if it has a single field, and without those that nobody reads to."""
    about = f"{explanation.runtime}, Trainer {explanation.release}, semantics {explanation.semantics}"
    lines = [f"{paint(explanation.job, 'heading')}  {paint(about, 'faint')}"]
    fields = [field for explained in explanation.objects for field in explained.fields]
    for explained in explanation.objects:
        if len(fields) == 1:
            lines += ["", *_format_field(explanation.prefix(explained), fields[0], paint)]
        else:
            lines += _object(explanation, explained, paint)
    if left_out := sum(explained.left_out for explained in explanation.objects):
        lines += ["", f"... and {left_out:,} more fields, of very long mappings and lists; name one to see it"]
    return "\n".join(lines) + "\n"


def _object(explanation: Explanation, explained: ExplainedObject, paint: Paint) -> Iterator[str]:
    yield ""
    yield paint(str(explained.name), "heading")
    for section in sections(explained.fields):
        if section.path:
            # A path that `trainc explain` accepts, without the steps that all jobs share.
            path, title = section.path, section.title
            short = format_field(path) if len(path) <= 6 else f"{format_field(path[:3])}...{format_field(path[7:])}"
            heading = f"{paint(title, 'heading')}  " if not short.endswith(title) else ""
            yield ""
            yield heading + paint(explanation.prefix(explained) + short, "faint" if heading else "heading")
        yield from _table(section.rows, paint)


def _table(rows: tuple[Row, ...], paint: Paint) -> Iterator[str]:
    paths = [escape_line(format_field(row.path)) for row in rows]
    columns = [[row.value, *(origin.value for origin in row.origins[1:])] for row in rows]
    values = [[shorten_value(value, _VALUE_WIDTH) for value in column] for column in columns]
    path_width = min(max(map(len, paths)), _PATH_WIDTH)
    value_width = min(max(len(value) for column in values for value in column), _VALUE_WIDTH)
    for path, column, row in zip(paths, values, rows, strict=True):
        for i, (value, origin) in enumerate(zip(column, row.origins, strict=True)):
            label = paint(f"{path:<{path_width}}", "path") if i == 0 else " " * path_width
            # An overlong path shifts only its own line.
            room = max(0, value_width - max(0, len(path) - path_width)) if i == 0 else value_width
            cell = paint(f"{value:<{room}}", "value" if i == 0 else "faint")
            arrow = "<-" if i == 0 else "   before:"
            role: Role = _ROLES[origin.kind] if i == 0 else "faint"
            yield f"  {label}  {cell}  {paint(arrow, 'faint')} {paint(describe_origin(origin), role)}"


def _format_field(before: str, field: ExplainedField, paint: Paint) -> Iterator[str]:
    yield paint(before + format_field(field.path), "path")
    for i, origin in enumerate(field.origins):
        yield ""
        value = format_value(origin.value) if i == 0 else shorten_value(origin.value, 2 * _VALUE_WIDTH)
        if i == 0 and isinstance(origin.value, str) and "\n" in origin.value:
            value = "\n  ".join(map(escape_line, origin.value.rstrip("\n").split("\n")))
        yield f"  {paint(value, 'value' if i == 0 else 'faint')}"
        role: Role = _ROLES[origin.kind] if i == 0 else "faint"
        yield f"    {paint('<-' if i == 0 else 'before:', 'faint')} {paint(origin_name(origin), role)}"
        yield from (f"       {line}" for line in _evidence(origin, paint))


def _evidence(origin: Origin, paint: Paint) -> Iterator[str]:
    for origin_input in origin.inputs:
        name = paint(origin_input.object, "faint")
        position = format_position(origin_input.source)
        where = paint(f"  {position}", "faint") if position else ""
        value = "" if isinstance(origin_input.value, dict | list) else f" = {shorten_value(origin_input.value)}"
        yield f"from {name} {format_field(origin_input.path)}{paint(value, 'value')}{where}"
    if origin.rule:
        yield origin.rule
    for deviation in deviations():
        if deviation.id == origin.deviation:
            yield f"{paint('deviation ' + deviation.id, 'deviation')}: {deviation.summary};"
            yield paint(f"  {deviation.reason}", "faint")


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
    grouped: dict[tuple[FieldPath, str], list[ExplainedField]] = {}
    for field in fields:
        grouped.setdefault(_section_of(field.path), []).append(field)
    return [Section(title, path, tuple(_group_rows(members, len(path)))) for (path, title), members in grouped.items()]


def _section_of(path: FieldPath) -> tuple[FieldPath, str]:
    """The path and the title of the section that a field belongs to."""
    if path[:2] != ("spec", "replicatedJobs"):
        parent = path[:1] if path[0] in ("metadata", "spec", "data") and len(path) > 1 else ()
        return parent, format_field(parent)
    job = f"job {path[2]}"
    if path[3:6] != POD_TEMPLATE:
        return path[:3], job
    if len(path) > 8 and path[7] in ("containers", "initContainers"):
        return path[:9], f"{job}, {'container' if path[7] == 'containers' else 'init container'} {path[8]}"
    return path[:6], f"{job}, its pods"


def _group_rows(fields: Sequence[ExplainedField], skipped: int) -> Iterator[Row]:
    """Yield a row for each field, and one for items of a list with the same origins: their values, without an index."""
    # All paths below which there is something else than the name of an item.
    holders = {f.path[:end] for f in fields if not is_item_name(f.path) for end in range(len(f.path))}
    visible = [f for f in fields if not (is_item_name(f.path) and f.path[:-1] in holders)]
    for _, group in groupby(visible, _row_key):
        first, *more = items = list(group)
        if not more:
            yield Row(first.path[skipped:], first.value, first.origins)
            continue
        origins = []
        for depth, origin in enumerate(first.origins):
            values = [item.origins[depth].value for item in items if depth < len(item.origins)]
            inputs = (
                replace(i, path=i.path[:-1]) if i.path and isinstance(i.path[-1], int) else i for i in origin.inputs
            )
            origins.append(replace(origin, value=values, inputs=tuple(inputs)))
        yield Row(first.path[skipped:-1], [item.value for item in items], tuple(origins))


def _row_key(field: ExplainedField) -> tuple[object, ...]:
    """Return what adjacent items of a list have in common if they share a row; any other field is alone."""
    if not isinstance(field.path[-1], int):
        return field.path
    origin = field.origin
    inputs = tuple((i.object, tuple(s for s in i.path if not isinstance(s, int))) for i in origin.inputs)
    return field.path[:-1], origin.kind, origin.by, origin.at, origin.rule, origin.deviation, inputs


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """Return the explanation as JSON-serializable data.

    The shape is::

        {"apiVersion": "trainc/v1alpha1", "kind": "Explanation",
         "job": "TrainJob team-a/llm", "runtime": "ClusterTrainingRuntime torch-distributed",
         "release": "2.3", "semantics": "gitops",
         "objects": [{"apiVersion", "kind", "namespace", "name",
                      "fields": [{"path", "value", "origins": [ORIGIN, ...]}]}]}

    An object with very many fields has `leftOut`, the number of those that are not listed unless they are named.
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
                **({"leftOut": explained.left_out} if explained.left_out else {}),
            }
            for explained in explanation.objects
        ],
    }


def source_json(source: Source) -> dict[str, Any]:
    """Return a position as JSON-serializable data."""
    return {"file": source.file, "line": source.line, "column": source.column}


def _origin(origin: Origin) -> dict[str, Any]:
    details = {"at": origin.at, "rule": origin.rule, "deviation": origin.deviation}
    inputs = []
    for origin_input in origin.inputs:
        document = {"object": origin_input.object, "path": format_field(origin_input.path), "value": origin_input.value}
        source = origin_input.source
        inputs.append(document if source is None else {**document, "source": source_json(source)})
    described = {"kind": origin.kind, "by": origin.by, "value": origin.value}
    return described | {key: value for key, value in {**details, "inputs": inputs}.items() if value}
