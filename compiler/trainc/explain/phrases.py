"""Origins in words."""

from __future__ import annotations

from collections.abc import Sequence

from trainc.api.field_path import format_field
from trainc.diagnostics import Source
from trainc.explain.model import Input, Origin

_SHOWN_INPUTS = 3


def phrase(origin: Origin) -> str:
    """Who set a field, and where that is written: `plugin Torch at EnforceMLPolicy (from ..., jobs/llm.yaml:12)`."""
    text = who(origin)
    details = _details(origin)
    if details:
        text += f" ({details})"
    return f"{text} [deviation {origin.deviation}]" if origin.deviation and origin.kind != "deviation" else text


def who(origin: Origin) -> str:
    """Who set a field."""
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
    """`file:line`, or nothing."""
    return f"{source.file}:{source.line}" if source and source.file else ""


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
