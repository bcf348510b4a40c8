"""How diagnostics are shown on a terminal: as text, in color, with the line they are about."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from trainc.cli.command import Arguments, Status, Streams
from trainc.cli.diagnostics import STANDING, Files, full_message, once, rule_page
from trainc.findings import Diagnostic, Source, has_errors
from trainc.findings.text import counted, escape_line, escape_report, find_underline
from trainc.startup.records import replace
from trainc.startup.typing import BinaryIO, Literal, TextIO

Part = Literal[
    "error", "warning", "info", "place", "code", "excerpt", "help", "added", "removed", "heading", "value", "faint",
    "plugin", "trainjob", "runtime", "deviation",
]  # fmt: skip

_CODES: dict[Part, str] = {
    "error": "1;31",
    "warning": "1;33",
    "info": "1;36",
    "place": "1",
    "code": "2",
    "excerpt": "34",
    "help": "32",
    "added": "32",
    "removed": "31",
    "heading": "1",
    "value": "1;36",
    "faint": "2",
    "plugin": "33",
    "trainjob": "32",
    "runtime": "34",
    "deviation": "35",
}


class Paint:
    """Colors a part of a text, or returns it unchanged."""

    def __init__(self, mode: str, stream: TextIO | BinaryIO) -> None:
        """`mode` is always, never or auto; auto consults NO_COLOR, FORCE_COLOR and the stream, in this order."""
        self.is_on = mode == "always" or (mode == "auto" and _automatic(stream))

    def __call__(self, part: Part, text: str) -> str:
        """`text` styled as `part`."""
        return f"\x1b[{_CODES[part]}m{text}\x1b[0m" if self.is_on and text else text


def _automatic(stream: TextIO | BinaryIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


# Variables that CI runners set: most of them, Azure Pipelines, TeamCity.
_RUNNERS = ("CI", "TF_BUILD", "TEAMCITY_VERSION")


def _obeys_escapes(stream: TextIO | BinaryIO) -> bool:
    """Return whether escape sequences in `stream` may have an effect: a terminal, or a CI runner that parses job output."""
    return stream.isatty() or any(os.environ.get(name) for name in _RUNNERS)


_WIDEST = 160
# Whitespace that YAML does not treat as spaces -> a visible character of the same width.
_SEEN = {9: "\N{RIGHTWARDS ARROW}", **dict.fromkeys((0xA0, *range(0x2000, 0x200C), 0x202F, 0x3000), "\N{MIDDLE DOT}")}


def excerpt(files: Files, source: Source, message: str = "", hint: str = "") -> list[str]:
    """The line that `source` points at with its number, and carets below the relevant word; empty if unavailable.

    The carets mark the value of a key if the message mentions it, else the key.
    """
    number, start, end = find_underline(lambda number: files.line(replace(source, line=number)), source, message, hint)
    from trainc.cli.hidden import hidden_in

    line = hidden_in(files.line(replace(source, line=number)) or "")
    if len(line) > _WIDEST and end - start < _WIDEST:  # What is around the word.
        first = max(0, start - _WIDEST // 2)
        cut = f"... {line[first + 4 : first + _WIDEST]}" if first else line[:_WIDEST]
        line, start, end = cut, start - first, min(end - first, _WIDEST)
    if len(line) > _WIDEST or not line.strip() or not (visible := line.translate(_SEEN)).isprintable():
        return []
    gutter = " " * len(str(number))
    return [f"{gutter} |", f"{number} | {visible}", f"{gutter} | {' ' * start}{'^' * max(1, end - start)}"]


# Nobody reads more than this, and the report could grow to hundreds of megabytes.
_MOST_SHOWN = 1_000
# What is outside, and what is secret.
_NOT_SHOWN = ("OutsideRoot", "PlainToken")
_COMPILED = ("ConfigMap ", "Job ", "JobSet ", "Pod ", "PodGroup ", "Workload ")


def text_report(diagnostics: Sequence[Diagnostic], files: Files, paint: Paint, *, quiet: bool = False) -> str:
    """Every diagnostic and a summary line; only errors if `quiet`. Empty if there is nothing to show."""
    merged = once([d for d in diagnostics if d.severity == "error" or not quiet])
    some = _most_serious(merged)
    linked = _first_of_each_code(some)
    blocks = ["\n".join(_block(d, files, paint, linked=i in linked)) for i, d in enumerate(some)]
    if len(merged) > len(some):
        blocks.append(f"... and {len(merged) - len(some):,} more; fix these first")
    summary = summarize(merged)
    report = "".join(f"{block}\n" for block in (*blocks, *([summary] if summary else ())))
    return escape_report(report, colored=True)


def report(
    diagnostics: Sequence[Diagnostic], arguments: Arguments, streams: Streams, files: Files | None = None
) -> Status:
    """Show diagnostics as the arguments of the command say; return whether they make it fail."""
    chosen = vars(arguments)
    if chosen.get("format") == "github":
        from trainc.cli.report_formats import github_report

        streams.write(github_report(diagnostics))
    else:
        paint = Paint(chosen.get("color", "auto"), streams.err)
        shown = [d for d in diagnostics if d.severity != "info" or d.code not in STANDING or chosen.get("verbose")]
        text = text_report(shown, files or Files(), paint, quiet=chosen.get("quiet", False))
        streams.err.write(text)
    return Status.DIAGNOSED if is_failure(diagnostics, strict=chosen.get("strict", False)) else Status.DONE


def is_failure(diagnostics: Sequence[Diagnostic], *, strict: bool) -> bool:
    """Return whether diagnostics make a command fail: errors do, and with --strict, warnings do as well."""
    return has_errors(diagnostics) or (strict and any(d.severity == "warning" for d in diagnostics))


def _most_serious(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics to show, in their original order. If there are too many, errors take precedence."""
    if len(diagnostics) <= _MOST_SHOWN:
        return diagnostics
    chosen = sorted(range(len(diagnostics)), key=lambda i: diagnostics[i].severity != "error")[:_MOST_SHOWN]
    return [diagnostics[i] for i in sorted(chosen)]


def _first_of_each_code(diagnostics: list[Diagnostic]) -> set[int]:
    """The index of the first of each code, which is shown with its rule; infos about no line in particular stay short."""
    first: dict[str, int] = {}
    for i, d in enumerate(diagnostics):
        if d.severity != "info" or d.source:
            first.setdefault(d.code, i)
    return set(first.values())


def _block(d: Diagnostic, files: Files, paint: Paint, *, linked: bool) -> Iterable[str]:
    assert d.severity != "ignored"
    location = str(d.source) if d.source else d.object or "trainc"
    # The path refers to a compiled object, not to the source.
    inside = f"{d.object} " if d.path and d.source and d.object.startswith(_COMPILED) else ""
    location, message = escape_line(location), escape_line(inside + full_message(d))
    yield f"{paint('place', location + ':')} {paint(d.severity, d.severity)}{paint('code', f'[{d.code}]')} {message}"
    if d.source and d.severity != "info" and d.code not in _NOT_SHOWN:
        for line in excerpt(files, d.source, d.message, d.hint):
            yield paint("excerpt", line)
    if d.hint:
        yield f"  {paint('help', 'help:')} {escape_line(d.hint)}"
    if linked:
        yield paint("faint", f"  rule: {escape_line(rule_page(d.code) or f'trainc rule {d.code}')}")


def summarize(diagnostics: Iterable[Diagnostic]) -> str:
    """`3 errors, 1 warning in 2 files`; empty if there are none."""
    serious = [d for d in diagnostics if d.severity != "info"]
    counts = [(sum(d.severity == severity for d in serious), severity) for severity in ("error", "warning")]
    files = {d.source.file for d in serious if d.source}
    summary = ", ".join(counted(count, severity) for count, severity in counts if count)
    return summary + (f" in {counted(len(files), 'file')}" if files else "")


def difference(old: str, new: str, old_name: str, new_name: str, out: BinaryIO | None = None) -> str:
    """A unified diff that turns `old` into `new`, as `patch` and `git apply` read it; empty where they are equal.

    If people or a runner read `out`, what they would obey is broken in it, and the patch with it.
    """
    from trainc.findings.differences import unified

    patch = unified(old, new, old_name, new_name)
    return escape_report(patch) if out is not None and _obeys_escapes(out) else patch
