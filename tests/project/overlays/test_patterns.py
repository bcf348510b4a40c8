"""Regular expressions of overlays: the same answers as Python's where both have one, in time that does not explode."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from trainc.project.overlays.patterns import pattern

ATOMS = (
    "a",
    "b",
    ".",
    "[ab]",
    "[^a]",
    "[]a]",
    r"\w",
    r"\.",
    "(a|b)",
    "(?:a*)",
    "(a{1,2})",
    "(|a)",
    "(?P<n>ab)",
    r"[\]a]",
)
REPEATS = ("", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?")
EXPRESSIONS = st.lists(st.tuples(st.sampled_from(ATOMS), st.sampled_from(REPEATS)), min_size=1, max_size=4).map(
    lambda parts: "|".join(["".join(map("".join, parts[:2])), "".join(map("".join, parts[2:]))])
)


@given(EXPRESSIONS, st.text("ab.]", max_size=6))
def test_it_answers_as_python_does(expression: str, text: str) -> None:
    assert pattern(expression).matches(text) is (re.fullmatch(expression.replace("(?P<n>", "(?:"), text) is not None)


@pytest.mark.parametrize("text", ["llm", "llm-1", "", "a.b", "a\nb"])
@pytest.mark.parametrize("expression", ["llm", "llm-[0-9]+", "^llm.*$", ".*", "a.b", r"a\.b", "(llm|b)(-1)?", "", "^"])
def test_it_is_anchored_at_both_ends(expression: str, text: str) -> None:
    wanted = re.fullmatch(expression, text, re.DOTALL) is not None
    assert pattern(expression).matches(text) is wanted


@pytest.mark.parametrize(
    "expression", ["(a+)+b", "(a|a)*b", "(a|aa)+b", "(.*)(.*)(.*)(.*)(.*)b", "(a?){30}a{30}b", "((a*)*)*b"]
)
def test_what_takes_a_backtracking_matcher_for_ever_is_answered(expression: str) -> None:
    assert not pattern(expression).matches("a" * 900)
    assert pattern(expression).matches("a" * 900 + "b") is not expression.startswith("(a?)")


@pytest.mark.parametrize(
    "expression",
    ["(", ")", "a)", "[a", "*a", "a**", "(?=a)", "(?<!a)", r"(a)\1", r"\b", "a{2001}", "(a{900}){900}", "(" * 60 + ")" * 60,
     "a{3,2}", "(?i)a", "[z-a]", "\\"],
)  # fmt: skip
def test_what_is_not_an_expression_of_re2_or_too_large_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        pattern(expression)


def test_a_text_longer_than_any_name_fits_nothing() -> None:
    assert not pattern(".*").matches("a" * 1_001)
