"""Globs over paths: what each means, as .gitignore has it."""

from __future__ import annotations

import re
from random import Random
from re import _parser
from typing import Any

import pytest
from tables import cases

from trainc.findings.policy import _compile, matches


@cases("glob", "path", "meant")
def test_a_glob_means_what_it_means_in_gitignore(glob: str, path: str, meant: bool) -> None:
    assert matches(path, glob) is meant


def translated(glob: str) -> re.Pattern[str]:
    """The same globs as an expression that may backtrack, for short paths."""
    parts = glob.removeprefix("./").strip("/").split("/")
    words = [re.escape(part).replace(r"\*", "[^/]*").replace(r"\?", "[^/]") for part in parts]
    above = "".join("(?:.*/)?" if part == "**" else f"{word}/" for part, word in zip(parts[:-1], words, strict=False))
    anywhere = "" if len(parts) > 1 or glob.startswith(("/", "./")) else "(?:.*/)?"
    return re.compile(f"{anywhere}{above}{'.*' if parts[-1] == '**' else words[-1]}(?:/.*)?", re.DOTALL)


def test_globs_match_what_their_translation_matches() -> None:
    random = Random(1)

    def word(letters: str) -> str:
        return "".join(random.choice(letters) for _ in range(random.randint(1, 4)))

    matching = 0
    for _ in range(5_000):
        path = "/".join(word("aab.") for _ in range(random.randint(1, 4)))
        glob = "/".join(random.choice(["**", word("ab*?"), word("ab")]) for _ in range(random.randint(1, 4)))
        glob = random.choice(["", "./", "/"]) + glob + random.choice(["", "/"])
        assert matches(path, glob) == (translated(glob).fullmatch(path) is not None), (path, glob)
        matching += matches(path, glob)
    assert matching > 500


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("*a" * 30 + "b", "a" * 200),
        ("a*" * 30 + "b", "a" * 200),
        ("**/" * 50 + "x", "/".join(["a"] * 100)),
        ("**/*a*a*b/" * 10 + "x", "/".join(["aaaaaaa"] * 100)),
        ("*" * 3_000 + "x", "a" * 4_000),
    ],
)
def test_no_glob_backtracks_for_ever(glob: str, path: str) -> None:
    """With the translation above, the first of these takes longer than anybody lives."""
    parts = [part for part in glob.split("/") if part.strip("*")]
    assert _open_ended(_parser.parse(_compile(glob).pattern)) <= len(parts) + 1, (
        "at most the end of each name is tried again"
    )
    assert not matches(path, glob)


def _open_ended(parsed: Any) -> int:
    """How many repetitions without a bound are tried again together: in one atomic group, and not in one in it."""
    here, most = 0, 0
    for code, value in parsed:
        if code in (_parser.MAX_REPEAT, _parser.MIN_REPEAT):
            here += value[1] is _parser.MAXREPEAT or _open_ended(value[2])
        elif code is _parser.SUBPATTERN:
            here += _open_ended(value[3])
        elif code is _parser.ATOMIC_GROUP:
            most = max(most, _open_ended(value))
    return max(here, most)


def test_a_glob_longer_than_any_path_matches_nothing() -> None:
    assert not matches("a/b", "**/" * 300_000 + "b")
