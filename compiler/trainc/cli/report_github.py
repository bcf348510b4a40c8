"""Diagnostics as GitHub workflow commands, which show them beside the changed lines of a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from trainc.diagnostics import Diagnostic

_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def github_report(diagnostics: Sequence[Diagnostic]) -> str:
    """One command a line."""
    return "".join(_command(d) for d in diagnostics)


def _command(d: Diagnostic) -> str:
    properties = {}
    if d.source is not None:
        properties = {"file": d.source.file, "line": str(d.source.line), "col": str(d.source.column)}
    properties["title"] = f"{d.code} ({d.object})" if d.object else d.code
    what = f"{d.path}: {d.message}" if d.path else d.message
    text = f"{what}\n{d.hint}" if d.hint else what
    written = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in properties.items())
    return f"::{_LEVELS[d.severity]} {written}::{_escaped(text, '')}\n"


def _escaped(text: str, special: str) -> str:
    """With %, line ends and the characters of `special` as the runner's own percent escapes."""
    return "".join(f"%{ord(c):02X}" if c in "%\r\n" + special else c for c in text)
