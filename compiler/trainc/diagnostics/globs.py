"""Globs over paths, as .gitignore has them: which files a setting is about."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from re import Pattern


def matches(path: str, glob: str) -> bool:
    """Whether `path`, relative and with forward slashes, or a folder that it is in, is meant by `glob`.

    `*` and `?` stay within a name, `**` stands for any number of folders. A glob of one name is looked for in every
    folder: `*.tpl.yaml`, `charts`; one with a slash begins at the top: `jobs/legacy/**`.
    """
    return _compile(glob).fullmatch(path) is not None


@cache
def _compile(glob: str) -> Pattern[str]:
    import re  # Most commands have no globs.

    parts = glob.removeprefix("./").strip("/").split("/")
    text = "" if len(parts) > 1 or glob.startswith(("/", "./")) else "(?:.*/)?"
    for part in parts[:-1]:
        text += "(?:.*/)?" if part == "**" else f"{_name(part)}/"
    return re.compile(f"{text}{'.*' if parts[-1] == '**' else _name(parts[-1])}(?:/.*)?", re.DOTALL)


def _name(part: str) -> str:
    """One name of a path; a character without a meaning stands for itself."""
    from re import escape

    return "".join({"*": "[^/]*", "?": "[^/]"}.get(character) or escape(character) for character in part)
