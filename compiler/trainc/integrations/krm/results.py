"""Diagnostics as the `results` of a KRM function, for tools that show them; kustomize does not.

Source: kubernetes-sigs/kustomize cmd/config/docs/api-conventions/functions-spec.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from trainc.diagnostics import Diagnostic
from trainc.integrations.krm.tool_metadata import file_of
from trainc.reading.document import label_of

Json = Mapping[str, Any]


def results_of(diagnostics: Iterable[Diagnostic], items: Iterable[Json]) -> list[dict[str, Any]]:
    """One result per diagnostic; `items` are the objects that they may be about."""
    known = {label_of(item): item for item in items}
    return [_result(d, known.get(d.object)) for d in diagnostics]


def _result(d: Diagnostic, item: Json | None) -> dict[str, Any]:
    tags = {"code": d.code, **({"hint": d.hint} if d.hint else {})}
    result: dict[str, Any] = {"message": d.message, "severity": d.severity, "tags": tags}
    if item is None:
        # A field may be named only beside the resource that has it.
        place = ": ".join(part for part in (d.object, d.path) if part)
        return {**result, "message": f"{place}: {d.message}" if place else d.message}
    result["resourceRef"] = _reference(item)
    if d.path:
        result["field"] = {"path": d.path}
    if file := file_of(item):
        result["file"] = {"path": file}
    return result


def _reference(item: Json) -> dict[str, str]:
    metadata = item.get("metadata")
    named = metadata if isinstance(metadata, Mapping) else {}
    reference = {
        "apiVersion": item.get("apiVersion"),
        "kind": item.get("kind"),
        "name": named.get("name"),
        "namespace": named.get("namespace"),
    }
    return {field: value for field, value in reference.items() if isinstance(value, str) and value}
