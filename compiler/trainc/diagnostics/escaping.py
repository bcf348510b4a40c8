"""Texts of others as people and CI read them: nothing in them that a terminal, a browser or a runner would obey.

Control characters and marks of direction are spelled out. So are the beginnings of commands to runners: GitHub's looks for
`##[` anywhere in a line and for `::` at its beginning (actions/runner ActionCommand.cs, TryParse and TryParseV2), that of
Azure Pipelines for `##vso[` anywhere (microsoft/azure-pipelines-agent Command.cs), TeamCity for `##teamcity[`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainc.startup.patterns import pattern

if TYPE_CHECKING:
    import re

# What `Paint` writes itself, blanks that lines begin with, and the end of a line as Windows has it.
_LOOK = r"\x1b\[[0-9;]*m"
_COMMAND = pattern(rf"##(?P<called>\w*)\[|(?m:^)(?P<before>(?:\s|{_LOOK})*)::")
_OBEYED = pattern(rf"(?P<look>{_LOOK})|(?P<end>\r(?=\n))|[^\t\n -~]")
_NOT_XML = pattern("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escape_line(text: str) -> str:
    """A text on one line, with every character that is no character to look at spelled out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def escape_report(text: str, *, coloured: bool = False) -> str:
    """A whole report; its lines stay lines, and colours stay where it is `coloured`."""
    if not text.replace("\n", "").isprintable():
        text = _OBEYED.sub(
            lambda found: _escape_characters(found[0], bool(found["end"] or (coloured and found["look"]))), text
        )
    if "##" not in text and "::" not in text:
        return text
    return _COMMAND.sub(_break_command, text)


def escape_xml(text: str) -> str:
    """XML or HTML without the characters that XML cannot have."""
    return _NOT_XML.sub(lambda found: escape_line(found[0]), text)


def _break_command(command: re.Match[str]) -> str:
    called = command["called"]
    return rf"{command['before']}\x3a:" if called is None else rf"#\x23{called}["


def _escape_characters(found: str, kept: bool) -> str:
    if kept:
        return found
    return escape_line(found) if not found.startswith("\x1b") else found.replace("\x1b", r"\x1b")
