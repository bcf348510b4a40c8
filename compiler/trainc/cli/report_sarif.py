"""Diagnostics as SARIF 2.1.0, for code scanning dashboards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from trainc.diagnostics import Diagnostic
from trainc.diagnostics.rulebook import page, summary_of

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def sarif_report(diagnostics: Sequence[Diagnostic]) -> str:
    """One SARIF log with one run."""
    codes = sorted({d.code for d in diagnostics})
    rules = [_rule(code) for code in codes]
    driver = {"name": "trainc", "version": version("trainc"), "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(d, codes.index(d.code)) for d in diagnostics],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rule(code: str) -> dict[str, Any]:
    """A code as dashboards explain it: its page, which is Markdown and reads as text too."""
    text = page(code)
    described = {"id": code, "shortDescription": {"text": summary_of(code) or code}}
    return described if text is None else {**described, "help": {"text": text, "markdown": text}}


def _result(d: Diagnostic, rule: int) -> dict[str, Any]:
    what = f"{d.path}: {d.message}" if d.path else d.message
    text = f"{what}. Help: {d.hint}" if d.hint else what
    result = {"ruleId": d.code, "ruleIndex": rule, "level": _LEVELS[d.severity], "message": {"text": text}}
    if location := _location(d):
        result["locations"] = [location]
    return result


def _location(d: Diagnostic) -> dict[str, Any]:
    location: dict[str, Any] = {}
    if d.source is not None:
        region = {"startLine": d.source.line, "startColumn": d.source.column}
        location["physicalLocation"] = {"artifactLocation": {"uri": _uri(d.source.file)}, "region": region}
    if d.object:
        location["logicalLocations"] = [{"fullyQualifiedName": f"{d.object} {d.path}".rstrip(), "kind": "resource"}]
    return location


def _uri(file: str) -> str:
    from urllib.parse import quote

    return quote(file)
