"""`trainc runtimes`: what is shipped, and its text."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run

from trainc.reading.catalog import names

RUNTIMES = Path(__file__).parents[2] / "runtimes"


def test_the_list_names_framework_and_releases() -> None:
    head, *rows = run("runtimes", "list").stdout.splitlines()
    assert head.split() == ["NAME", "FRAMEWORK", "RELEASES"]
    assert [row.split()[0] for row in rows] == names()
    assert next(row.split() for row in rows if row.startswith("jax-")) == ["jax-distributed", "jax", "2.2", "2.3"]


def test_the_list_can_be_that_of_a_release() -> None:
    rows = run("runtimes", "list", "--release", "v2.0.1").stdout.splitlines()[1:]
    assert [row.split()[0] for row in rows] == names("2.0")


@pytest.mark.parametrize(("words", "file"), [([], "2.3"), (["--release", "2.1"], "2.0")])
def test_a_runtime_is_shown_as_it_is_shipped(words: list[str], file: str) -> None:
    result = run("runtimes", "show", "torch-distributed", *words)
    assert (result.status, result.stderr) == (0, "")
    assert result.stdout == (RUNTIMES / "torch-distributed" / f"{file}.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch-distribute", "torch-distributed"),
        ("mpi-distributed", "only up to Trainer 2.0"),
        ("zebra", "runtimes list"),
    ],
)
def test_what_there_is_not_leads_to_what_there_is(name: str, expected: str) -> None:
    result = run("runtimes", "show", name)
    assert (result.status, result.stdout) == (1, "")
    assert expected in result.stderr
