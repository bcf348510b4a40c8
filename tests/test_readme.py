"""The README: short, it shows what trainc catches, and its first commands set everything up."""

from __future__ import annotations

from shown import PAGES, ROOT, Shown, steps

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_shows_three_mistakes() -> None:
    shown = [step.command.split()[1] for step in steps(README) if isinstance(step, Shown)]
    assert shown == ["check", "check", "diff"]


def test_the_two_commands_that_set_everything_up_come_first() -> None:
    first = README.partition("```sh\n")[2].partition("```")[0]
    commands = [line.partition("#")[0].strip() for line in first.splitlines()]
    assert commands == ["make demo", ".venv/bin/trainc check train.yaml", "make test"]


def test_it_is_read_in_three_minutes() -> None:
    assert 500 <= len(README.split()) <= 700


def test_one_place_says_that_nothing_is_published() -> None:
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PAGES}
    assert [name for name, text in texts.items() if "not published yet:" in text] == ["docs/install.md"]
