"""Diagnostics as HTML for a notebook, with no scripts, no style sheets, and no colors except for severities.

This way it looks right in any theme and does not affect the rest of the page. All text is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from trainc.findings import Diagnostic
from trainc.findings.text import counted, escape_report, escape_xml

# Dark enough to be readable as a background for white text in light and dark themes.
_COLORS = {"error": "#c62828", "warning": "#9a5b00", "info": "#1565c0"}
MONOSPACE = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:0.92em"
_BADGE = "color:#fff;border-radius:3px;padding:0 5px;font-size:0.85em;font-weight:600;background:"
_FAINT = "opacity:0.75"


def html_text(text: str) -> str:
    """Escape untrusted text for HTML."""
    return escape_xml(escape(escape_report(text)))


def count_severities(diagnostics: Sequence[Diagnostic]) -> str:
    """Return `2 errors, 1 warning`, or an empty string if there are no diagnostics."""
    counts = [(sum(d.severity == severity for d in diagnostics), severity) for severity in _COLORS]
    return ", ".join(counted(n, noun) for n, noun in counts if n)


def diagnostics_html(diagnostics: Sequence[Diagnostic], most: int = 50) -> str:
    """Return an HTML list of up to `most` diagnostics, errors first, or an empty string if there are none."""
    ranked = sorted(diagnostics, key=lambda d: list(_COLORS).index(d.severity) if d.severity in _COLORS else 9)
    items = []
    for d in ranked[:most]:
        severity = f'<span style="{_BADGE}{_COLORS.get(d.severity, "#555")}">{html_text(d.severity)}</span> '
        position = f"{html_text(d.code)} {html_text(str(d.source or d.object))}"
        path = f'<span style="{MONOSPACE}">{html_text(d.path)}</span>: ' if d.path else ""
        message = f'<span style="white-space:pre-wrap">{path}{html_text(d.message)}</span>'
        hint = f'<br/><span style="white-space:pre-wrap"><b>help:</b> {html_text(d.hint)}</span>' if d.hint else ""
        head = f'{severity}<span style="{MONOSPACE};{_FAINT}">{position}</span><br/>'
        items.append(f'<li style="margin:4px 0">{head}{message}{hint}</li>')
    if len(ranked) > most:
        items.append(f'<li style="{_FAINT}">and {len(ranked) - most:,} more</li>')
    return f'<ul style="list-style:none;margin:6px 0;padding:0">{"".join(items)}</ul>' if items else ""
