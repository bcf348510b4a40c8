"""An explanation as text for a terminal: a section for each part of each object, a line for each field.

The line of a field says who set it last; those who set it before stand beneath it, each with the value it had.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from trainc.api.field_path import FieldPath, format_field
from trainc.explain.choice import prefix
from trainc.explain.model import ExplainedField, ExplainedObject, Explanation, Origin
from trainc.explain.phrases import phrase, place, who
from trainc.explain.rows import Row, Section, sections
from trainc.explain.values import shown, whole
from trainc.ir.deviations import DEVIATIONS

Role: TypeAlias = Literal["heading", "path", "value", "faint", "plugin", "trainjob", "runtime", "default", "deviation"]
# Gives a piece of text the look of its role; plain text stays as it is.
Paint: TypeAlias = Callable[[str, Role], str]

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
}


def plain(text: str, role: Role) -> str:
    """No look at all."""
    return text


def explanation_text(explanation: Explanation, paint: Paint = plain) -> str:
    """The whole explanation; a single field is told at length."""
    lines = [_heading(explanation, paint)]
    fields = [field for found in explanation.objects for field in found.fields]
    for found in explanation.objects:
        if len(fields) == 1:
            lines += ["", *_at_length(explanation, found, fields[0], paint)]
        else:
            lines += _object(explanation, found, paint)
    return "\n".join(lines) + "\n"


def _heading(explanation: Explanation, paint: Paint) -> str:
    about = f"{explanation.runtime}, Trainer {explanation.release}, semantics {explanation.semantics}"
    return f"{paint(explanation.job, 'heading')}  {paint(about, 'faint')}"


def _object(explanation: Explanation, found: ExplainedObject, paint: Paint) -> Iterator[str]:
    before = prefix(explanation, found)
    place_of = "/".join(filter(None, (found.name.namespace, found.name.name)))
    yield ""
    yield paint(f"{found.name.kind} {place_of}", "heading")
    for section in sections(found.fields):
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
    """A path that `trainc explain` takes, without the steps that are the same for every job."""
    if len(path) <= 6:
        return format_field(path)
    return f"{format_field(path[:3])}...{format_field(path[7:])}"


def _table(rows: tuple[Row, ...], paint: Paint) -> Iterator[str]:
    paths = [format_field(row.path) for row in rows]
    values = [
        [shown(row.value, _VALUE_WIDTH), *(shown(o.value, _VALUE_WIDTH) for o in row.origins[1:])] for row in rows
    ]
    left = min(max(map(len, paths)), _PATH_WIDTH)
    right = min(max(len(value) for column in values for value in column), _VALUE_WIDTH)
    for path, column, row in zip(paths, values, rows, strict=True):
        for i, (value, origin) in enumerate(zip(column, row.origins, strict=True)):
            label = paint(f"{path:<{left}}", "path") if i == 0 else " " * left
            # A path that is too long moves its own line only.
            room = max(0, right - max(0, len(path) - left)) if i == 0 else right
            written = paint(f"{value:<{room}}", "value" if i == 0 else "faint")
            arrow = "<-" if i == 0 else "   before:"
            yield f"  {label}  {written}  {paint(arrow, 'faint')} {paint(phrase(origin), _role(origin, i))}"


def _role(origin: Origin, depth: int) -> Role:
    return _ROLES[origin.kind] if depth == 0 else "faint"


def _at_length(explanation: Explanation, found: ExplainedObject, field: ExplainedField, paint: Paint) -> Iterator[str]:
    yield paint(prefix(explanation, found) + format_field(field.path), "path")
    for i, origin in enumerate(field.origins):
        yield ""
        value = _block(origin.value) if i == 0 else shown(origin.value, 2 * _VALUE_WIDTH)
        yield f"  {paint(value, 'value' if i == 0 else 'faint')}"
        yield f"    {paint('<-' if i == 0 else 'before:', 'faint')} {paint(who(origin), _role(origin, i))}"
        yield from (f"       {line}" for line in _evidence(origin, paint))


def _block(value: object) -> str:
    """A value in full; text of several lines as such."""
    if isinstance(value, str) and "\n" in value:
        return value.rstrip("\n").replace("\n", "\n  ")
    return whole(value)


def _evidence(origin: Origin, paint: Paint) -> Iterator[str]:
    for given in origin.inputs:
        name = paint(given.object, "faint")
        where = paint(f"  {place(given.source)}", "faint") if place(given.source) else ""
        value = "" if isinstance(given.value, dict | list) else f" = {shown(given.value)}"
        yield f"from {name} {format_field(given.path)}{paint(value, 'value')}{where}"
    if origin.rule:
        yield origin.rule
    for deviation in DEVIATIONS:
        if deviation.id == origin.deviation:
            yield f"{paint('deviation ' + deviation.id, 'deviation')}: {deviation.summary};"
            yield paint(f"  {deviation.reason}", "faint")
