"""The README: what it shows is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from commands import run

from trainc.cli.command import COMMANDS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
_FILE = re.compile(r"<!-- file: (\S+) -->\n```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_RUN = re.compile(r"<!-- run -->\n```console\n\$ trainc ([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"`(?:compiler|overlays|runtimes|tests|docs)/[\w./-]*`")


def test_there_is_something_to_check() -> None:
    assert (len(_FILE.findall(README)), len(_RUN.findall(README))) == (2, 4)


@pytest.mark.parametrize(("command", "shown"), _RUN.findall(README))
def test_a_command_prints_what_the_readme_shows(
    command: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in _FILE.findall(README):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = run(*shlex.split(command))
    assert result.stdout + result.stderr == shown


def test_the_table_of_commands_is_complete() -> None:
    rows = "".join(f"| `trainc {command.name}` | {command.summary} |\n" for command in COMMANDS)
    assert f"<!-- commands -->\n| command | does |\n|---|---|\n{rows}\n" in README


def test_every_path_that_is_named_exists() -> None:
    named = [match.strip("`") for match in _LINK.findall(README)]
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
