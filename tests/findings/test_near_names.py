"""Near names: what is similar comes first, and the beginning of a name will do."""

from __future__ import annotations

import pytest

from trainc.findings.text import did_you_mean, near_names

RUNTIMES = ("jax-distributed", "mpi-distributed", "torch-distributed", "torch-distributed-with-cache")


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("torch-distribute", ["torch-distributed", "torch-distributed-with-cache", "mpi-distributed"]),
        ("torch", ["torch-distributed", "torch-distributed-with-cache"]),
        ("jax", ["jax-distributed"]),
        ("ja", []),
        ("distributed", ["mpi-distributed", "jax-distributed", "torch-distributed"]),
        ("", []),
    ],
)
def test_a_word_is_near_to_names_that_it_resembles_or_else_begins(word: str, near: list[str]) -> None:
    assert near_names(word, RUNTIMES) == near


def test_a_hint_names_them_and_is_empty_without() -> None:
    assert did_you_mean("torch", RUNTIMES) == "did you mean torch-distributed or torch-distributed-with-cache?"
    assert did_you_mean("zebra", RUNTIMES) == ""
