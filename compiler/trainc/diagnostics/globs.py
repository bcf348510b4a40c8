"""Path globs with .gitignore syntax."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from re import Pattern


def matches(path: str, glob: str) -> bool:
    """Return whether `glob` matches `path` or one of its parent directories.

    `path` is relative and uses forward slashes. `*` and `?` do not match a slash; `**` matches any number of
    directories. A glob without a slash matches at any depth (`*.tpl.yaml`, `charts`); one with a slash is anchored at
    the root (`jobs/legacy/**`).
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
    """Translate one path segment to a regular expression."""
    from re import escape

    return "".join({"*": "[^/]*", "?": "[^/]"}.get(character) or escape(character) for character in part)
