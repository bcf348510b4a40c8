"""The README: it shows the first commands, and its table of commands is complete."""

from __future__ import annotations

from shown import PAGES, ROOT, Shown, command_table, steps

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_shows_five_mistakes_and_then_a_first_job() -> None:
    shown = [step.command.split()[1] for step in steps(README) if isinstance(step, Shown)]
    assert shown == ["check", "check", "check", "explain", "diff", "graph", "build"]


def test_the_two_commands_that_set_everything_up_come_first() -> None:
    first = README.partition("```sh\n")[2].partition("```")[0]
    assert [line.partition("#")[0].strip() for line in first.splitlines()] == ["make demo", "make test"]


def test_one_place_says_that_nothing_is_published() -> None:
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PAGES}
    assert [name for name, text in texts.items() if "not published yet:" in text] == ["README.md"]


def test_the_table_of_commands_is_complete() -> None:
    assert command_table() in README
