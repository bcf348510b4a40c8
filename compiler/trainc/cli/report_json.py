"""Diagnostics as JSON for programs; docs/diagnostics-json.md describes the shape, which `version` counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from trainc.diagnostics import Diagnostic

VERSION = 1


def json_report(diagnostics: Sequence[Diagnostic]) -> str:
    """One JSON object with every diagnostic in order, and how many there are of each severity."""
    counts = {f"{s}s": sum(d.severity == s for d in diagnostics) for s in ("error", "warning", "info")}
    document = {"version": VERSION, "diagnostics": [_entry(d) for d in diagnostics], "summary": counts}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _entry(d: Diagnostic) -> dict[str, Any]:
    source = None
    if d.source is not None:
        source = {"file": d.source.file, "line": d.source.line, "column": d.source.column}
    return {
        "code": d.code,
        "severity": d.severity,
        "message": d.message,
        "hint": d.hint,
        "object": d.object,
        "path": d.path,
        "source": source,
    }
