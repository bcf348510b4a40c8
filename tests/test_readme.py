"""The README: it shows the first commands, and its table of commands is complete."""

from __future__ import annotations

from shown import ROOT, Shown, steps

from trainc.cli.command import COMMANDS

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_shows_the_four_commands_that_a_newcomer_needs_first() -> None:
    shown = [step.command.split()[1] for step in steps(README) if isinstance(step, Shown)]
    assert shown == ["check", "build", "explain", "graph"]


def test_the_table_of_commands_is_complete() -> None:
    rows = "".join(f"| `trainc {command.name}` | {command.summary} |\n" for command in COMMANDS)
    assert f"<!-- commands -->\n| command | does |\n|---|---|\n{rows}\n" in README
