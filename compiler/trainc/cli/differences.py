"""Two texts as a unified diff, which `patch` and `git apply` read."""

from __future__ import annotations

_UNENDED = "\\ No newline at end of file\n"


def difference(old: str, new: str, old_name: str, new_name: str) -> str:
    """What turns `old` into `new`; nothing where they are the same."""
    from difflib import unified_diff

    lines = unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), old_name, new_name)
    return "".join(line if line.endswith("\n") else f"{line}\n{_UNENDED}" for line in lines)
