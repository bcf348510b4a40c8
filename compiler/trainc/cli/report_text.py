"""Diagnostics as text for people: where, what, the line itself, and how to mend it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainc.cli.colour import Paint
from trainc.cli.excerpt import Files, excerpt
from trainc.diagnostics import Diagnostic

_COMPILED = ("ConfigMap ", "JobSet ", "PodGroup ")


def text_report(diagnostics: Sequence[Diagnostic], files: Files, paint: Paint, *, quiet: bool = False) -> str:
    """Every diagnostic and a line that counts them; with `quiet` errors only. Empty if there is nothing to show."""
    shown = [d for d in diagnostics if d.severity == "error" or not quiet]
    blocks = ["\n".join(_block(d, files, paint)) for d in shown]
    summary = summarize(shown)
    return "".join(f"{block}\n" for block in (*blocks, *([summary] if summary else ())))


def _block(d: Diagnostic, files: Files, paint: Paint) -> Iterable[str]:
    place = str(d.source) if d.source else d.object or "trainc"
    # The path leads into an object that was compiled from the source, not into the source.
    inside = f"{d.object} " if d.source and d.object.startswith(_COMPILED) else ""
    what = f"{inside}{d.path}: {d.message}" if d.path else d.message
    yield f"{paint('place', place + ':')} {paint(d.severity, d.severity)}{paint('code', f'[{d.code}]')} {what}"
    if d.source and d.severity != "info":
        for line in excerpt(files, d.source):
            yield paint("excerpt", line)
    if d.hint:
        yield f"  {paint('mend', 'mend:')} {d.hint}"


def summarize(diagnostics: Iterable[Diagnostic]) -> str:
    """`3 errors, 1 warning in 2 files`; nothing where there are neither."""
    counted = [d for d in diagnostics if d.severity != "info"]
    parts = []
    for severity in ("error", "warning"):
        count = sum(d.severity == severity for d in counted)
        if count:
            parts.append(counted_noun(count, severity))
    files = {d.source.file for d in counted if d.source}
    return ", ".join(parts) + (f" in {counted_noun(len(files), 'file')}" if files else "")


def counted_noun(count: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
