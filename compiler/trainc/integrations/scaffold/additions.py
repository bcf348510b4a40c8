"""Files that a repository has already and init adds to: the hooks of pre-commit, and an editor's settings."""

from __future__ import annotations

import json

from trainc.diagnostics import has_errors
from trainc.options import Limits
from trainc.reading.yaml_reader import read_documents

_OUR_HOOK = "trainc-check"


def with_hooks(text: str, ours: str) -> str | None:
    """A .pre-commit-config.yaml with the items of `repos` of another at the end of its own, every other byte as it was.

    The same text where it has such hooks already; None where it cannot be added to: `repos` is not written as a block.
    """
    documents, problems = read_documents(text.encode(), "", Limits())
    if has_errors(problems) or len(documents) != 1:
        return None
    repos = documents[0].data.get("repos")
    if not isinstance(repos, list) or not repos:
        return None
    if any(hook.get("id") == _OUR_HOOK for repo in repos for hook in repo.get("hooks") or ()):
        return text
    first = documents[0].locate(("repos", 0))
    lines = text.splitlines(keepends=True)
    if first is None or not lines[first.line - 1].lstrip().startswith("- "):
        return None
    indent = lines[first.line - 1].partition("-")[0]
    end = _end_of_block(lines, first.line, len(indent))
    if not lines[end - 1].endswith("\n"):
        lines[end - 1] += "\n"
    items = ours.partition("\nrepos:\n")[2].splitlines(keepends=True)
    moved = [line if not line.strip() else indent + line.removeprefix("  ") for line in items]
    return "".join((*lines[:end], *moved, *lines[end:]))


def _end_of_block(lines: list[str], start: int, indent: int) -> int:
    """The line after the last one of a list whose dashes stand `indent` deep; comments that follow are not its own."""
    end = start
    for number, line in enumerate(lines[start:], start + 1):
        content = line.strip()
        depth = len(line) - len(line.lstrip())
        if not content or content.startswith("#"):
            continue
        if depth < indent or (depth == indent and not content.startswith("-")):
            break
        end = number
    return end


def with_settings(text: str, ours: str) -> str | None:
    """settings.json with our objects' keys added to its own; None where it is not plain JSON, as with comments in it."""
    try:
        settings = json.loads(text)
    except ValueError:
        return None
    if not isinstance(settings, dict):
        return None
    for key, value in json.loads(ours).items():
        theirs = settings.setdefault(key, {})
        if not isinstance(theirs, dict):
            return None
        settings[key] = theirs | value
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
