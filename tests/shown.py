"""Markdown pages of the project: the files and commands that they show, and where their links lead.

`python tests/shown.py` (`make docs`) runs the commands of all pages and writes what they print into them.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from commands import run

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "editors").rglob("SKILL.md")])
_STEP = re.compile(
    r"^<!-- (?:file: (?P<name>\S+)|run) -->\n```\w+\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_COMMAND = re.compile(r"^\$ ", re.MULTILINE)
_FENCE = re.compile(r"^ *```(\w*)[^\n]*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
# A line that stands for lines that a page leaves out.
LEFT_OUT = "[...]"


@dataclass(frozen=True)
class Shown:
    """A command and the lines that a page shows below it."""

    command: str
    output: str


@dataclass(frozen=True)
class File:
    """A file that a page asks its reader to write."""

    name: str
    text: str


def steps(page: str) -> Iterator[Shown | File]:
    """What a page does, in order: a file after `<!-- file: NAME -->`, commands after `<!-- run -->`."""
    for found in _STEP.finditer(page):
        if found["name"]:
            yield File(found["name"], found["text"])
        else:
            for session in _COMMAND.split(found["text"])[1:]:
                command, _, output = session.partition("\n")
                yield Shown(command, output)


def follow(page: str, folder: Path) -> Iterator[tuple[Shown, str]]:
    """Do what a page says in `folder`, which is the current one: each command with what it really printed."""
    if "trainc" in page and "examples/" in page:
        shutil.copytree(ROOT / "examples", folder / "examples")
    for step in steps(page):
        if isinstance(step, File):
            path = folder / step.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text, encoding="utf-8")
        else:
            yield step, _printed(step.command, folder)


def _printed(command: str, folder: Path) -> str:
    line, _, target = command.partition(" > ")
    line, _, source = line.partition(" < ")
    program, *words = shlex.split(line)
    if program == "cat":
        return "".join((folder / name).read_text(encoding="utf-8") for name in words)
    if program == "mkdir":
        (folder / words[-1]).mkdir(parents=True, exist_ok=True)
        return ""
    assert program == "trainc", command
    result = run(*words, stdin=(folder / source).read_bytes() if source else b"")
    if target:
        (folder / target).write_text(result.stdout, encoding="utf-8")
    return result.stderr if target else result.stdout + result.stderr


def agrees(printed: str, shown: str) -> bool:
    """Whether a page shows what was printed; `[...]` stands for whole lines."""
    parts = [re.escape(part) for part in re.split(rf"^{re.escape(LEFT_OUT)}\n", shown, flags=re.MULTILINE)]
    return re.fullmatch("(?:.*\n)*?".join(parts), printed) is not None


def trainc_commands(page: str) -> Iterator[list[str]]:
    """The words after `trainc` of every command line in a block of shell, run or not."""
    for language, text in _FENCE.findall(page):
        if language not in ("sh", "console"):
            continue
        for line in text.splitlines():
            if language == "console" and not line.startswith("$ "):
                continue  # What a command printed.
            words = shlex.split(line.strip().removeprefix("$ "), comments=True) if "trainc " in line else []
            if words[:1] == ["trainc"]:
                ends = [i for i, word in enumerate(words) if word in (">", "<", "|", "&&", ";")]
                yield words[1 : min(ends, default=len(words))]


def links(page: str) -> list[str]:
    """Where the links of a page lead, those in examples left out."""
    return _LINK.findall(_FENCE.sub("", page))


def anchors(page: str) -> set[str]:
    """The names of a page's headings, as GitHub makes them."""
    headings = _HEADING.findall(_FENCE.sub("", page))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def refreshed(page: str, folder: Path) -> str:
    """A page with what its commands print now, `[...]` where it still stands for the rest; `folder` is the current one."""
    new = page
    for shown, printed in follow(page, folder):
        if not agrees(printed, shown.output):
            new = new.replace(f"$ {shown.command}\n{shown.output}", f"$ {shown.command}\n{printed}", 1)
    return new


def main() -> None:
    """Refresh every page."""
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            path.write_text(refreshed(page, Path(folder)), encoding="utf-8")
            os.chdir(ROOT)


if __name__ == "__main__":
    main()
