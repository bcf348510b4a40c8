"""Texts of others as people and CI read them: nothing in them that a terminal, a browser or a runner would obey.

Control characters and marks of direction are spelled out. So are the two beginnings of commands to GitHub's runner, which
looks for `##[` anywhere in a line and for `::` at its beginning (actions/runner ActionCommand.cs, TryParse and TryParseV2).
"""

from __future__ import annotations

from trainc.startup.patterns import pattern

# What `Paint` writes itself, blanks that lines begin with, and the end of a line as Windows has it.
_LOOK = r"\x1b\[[0-9;]*m"
_COMMAND = pattern(rf"##\[|(?m:^)(?P<before>(?:\s|{_LOOK})*)::")
_OBEYED = pattern(rf"(?P<look>{_LOOK})|(?P<end>\r(?=\n))|[^\t\n -~]")
_NOT_XML = pattern("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def printable(text: str) -> str:
    """A text on one line, with every character that is no character to look at spelled out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def unobeyed(text: str, *, coloured: bool = False) -> str:
    """A whole report; its lines stay lines, and colours stay where it is `coloured`."""
    if not text.replace("\n", "").isprintable():
        text = _OBEYED.sub(lambda found: _spelled(found[0], bool(found["end"] or (coloured and found["look"]))), text)
    if "##[" not in text and "::" not in text:
        return text
    return _COMMAND.sub(lambda found: r"#\x23[" if found[0] == "##[" else rf"{found['before']}\x3a:", text)


def well_formed(text: str) -> str:
    """XML or HTML without the characters that XML cannot have."""
    return _NOT_XML.sub(lambda found: printable(found[0]), text)


def _spelled(found: str, kept: bool) -> str:
    if kept:
        return found
    return printable(found) if not found.startswith("\x1b") else found.replace("\x1b", r"\x1b")
