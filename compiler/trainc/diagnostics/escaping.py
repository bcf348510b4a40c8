"""Escape untrusted text so that terminals, browsers and CI runners display it instead of acting on it.

Escapes control characters, bidirectional marks, and the prefixes of CI workflow commands. GitHub Actions looks for
`##[` anywhere in a line and for `::` at its start (actions/runner ActionCommand.cs, TryParse and TryParseV2), Azure
Pipelines for `##vso[` anywhere (microsoft/azure-pipelines-agent Command.cs), and TeamCity for `##teamcity[`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainc.startup.patterns import pattern

if TYPE_CHECKING:
    import re

# The color sequences that `Paint` writes.
_LOOK = r"\x1b\[[0-9;]*m"
_COMMAND = pattern(rf"##(?P<called>\w*)\[|(?m:^)(?P<before>(?:\s|{_LOOK})*)::")
_OBEYED = pattern(rf"(?P<look>{_LOOK})|(?P<end>\r(?=\n))|[^\t\n -~]")
_NOT_XML = pattern("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escape_line(text: str) -> str:
    """Escape everything in `text` that is not printable, line breaks included."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def escape_report(text: str, *, coloured: bool = False) -> str:
    """Escape a report of several lines. Keeps line breaks, and color sequences if `coloured`."""
    if not text.replace("\n", "").isprintable():
        text = _OBEYED.sub(
            lambda found: _escape_characters(found[0], bool(found["end"] or (coloured and found["look"]))), text
        )
    if "##" not in text and "::" not in text:
        return text
    return _COMMAND.sub(_break_command, text)


def escape_xml(text: str) -> str:
    """Escape the characters that XML 1.0 does not allow, in XML or HTML."""
    return _NOT_XML.sub(lambda found: escape_line(found[0]), text)


def _break_command(command: re.Match[str]) -> str:
    called = command["called"]
    return rf"{command['before']}\x3a:" if called is None else rf"#\x23{called}["


def _escape_characters(found: str, kept: bool) -> str:
    if kept:
        return found
    return escape_line(found) if not found.startswith("\x1b") else found.replace("\x1b", r"\x1b")
