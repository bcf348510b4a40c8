"""Globs over paths: what each means, as .gitignore has it."""

from __future__ import annotations

import re
from random import Random

import pytest

from trainc.findings.policy import matches


@pytest.mark.parametrize(
    ("glob", "path", "meant"),
    [
        ("jobs/legacy/**", "jobs/legacy/a.yaml", True),
        ("jobs/legacy/**", "jobs/legacy/deep/er/a.yaml", True),
        ("jobs/legacy/**", "jobs/a.yaml", False),
        ("jobs/legacy/**", "other/jobs/legacy/a.yaml", False),
        ("jobs/*.yaml", "jobs/a.yaml", True),
        ("jobs/*.yaml", "jobs/deep/a.yaml", False),
        ("jobs/**/a.yaml", "jobs/a.yaml", True),
        ("jobs/**/a.yaml", "jobs/x/y/a.yaml", True),
        ("**/legacy/*", "jobs/legacy/a.yaml", True),
        # A folder stands for what it holds, with or without a slash at its end.
        ("jobs/legacy", "jobs/legacy/a.yaml", True),
        ("jobs/legacy/", "jobs/legacy/a.yaml", True),
        ("jobs/leg", "jobs/legacy/a.yaml", False),
        # A name without a slash is looked for everywhere.
        ("charts", "charts/x/templates/a.yaml", True),
        ("charts", "infra/charts/a.yaml", True),
        ("*.bak", "jobs/llm.yaml.bak", True),
        ("a?.yaml", "jobs/a1.yaml", True),
        ("./a.yaml", "a.yaml", True),
        ("./a.yaml", "jobs/a.yaml", False),
        # Characters of regular expressions mean nothing.
        ("a.b", "axb", False),
        ("[ab].yaml", "a.yaml", False),
    ],
)
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
    assert not matches(path, glob)


def test_a_glob_longer_than_any_path_matches_nothing() -> None:
    assert not matches("a/b", "**/" * 300_000 + "b")
