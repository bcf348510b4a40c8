"""Patterns that Go compiles and patterns that it does not."""

from __future__ import annotations

from importlib import import_module

import pytest
from hypothesis import given, settings, strategies as st

from trainc.kube.re2 import re2_error

GOOD = [
    "", "a|b|", "^*", "a(?i)*", "(?i-s:a)", "(?P<n>a)(?<n>b)", "(a*)*", "a*?", "x{2}", "x{2,}?", "x{,2}", "a{01}", "{", "}",
    "a]", "[]a]", "[^]a]", "[a-]", "[-a]", "[[:^alpha:]x]", "[[:alpha:]-z]", r"[\d-z]", "[[:]", r"\pL\P{Greek}\p{^Lu}",
    r"\A\b\B\z", r"[\a-\r]", r"\n\t", r"\Q(*\E+", r"\Qopen", r"\12\07\x41\x{10FFFF}", r"\.\_\-\é"[:-2], "(a{30}){33}", "((a{1000}){0}){1000}",
    "(?:)", "()", "ü+",
]  # fmt: skip
BAD = [
    "*", "a|*", "(*)", "(?i)*", "a**", "a+?+", "x{2}{3}", "a*{2}", "x{1001}", "x{2,1}", "x{99999999999}", "(a{32}){32}",
    "(", ")", "(?=a)", "(?!a)", "(?<=a)", "(?>a)", "(?#c)", "(?P=n)", "(?P<>a)", "(?P<a b>a)", "(?-)", "(?z)", "[", "[]", "[b-a]",
    r"[a-\d]", r"[\r-\a]", r"[a-\n]", "[[:word", "[[:vowel:]]", r"\1", r"\8", r"\Z", r"\q", r"\x", r"\x{110000}", r"\pQ", r"\p{lower}", "\\", r"\é",
    "(" * 1001 + ")" * 1001,
]  # fmt: skip


@pytest.mark.parametrize("pattern", GOOD)
def test_go_compiles(pattern: str) -> None:
    assert re2_error(pattern) is None


@pytest.mark.parametrize("pattern", BAD)
def test_go_does_not_compile(pattern: str) -> None:
    assert re2_error(pattern)


PIECES = st.sampled_from(
    [
        "a", "b", "(", ")", "[", "]", "[^", "-", "|", "*", "+", "?", "{2}", "{2,}", "{,3}", "{3,2}", "{30}", "{40}", "{1001}",
        "{01}", r"\d", r"\b", r"\z", r"\Z", r"\1", r"\12", r"\0", r"\x41", r"\x{41}", r"\x", r"\pL", r"\p{Greek}", r"\pQ",
        r"\Q", r"\E", "(?i)", "(?:", "(?i-s:", "(?=", "(?<n>", "(?P<m>", "[:alpha:]", "[:foo:]", "[:", "^", "$", ".", r"\_",
        r"\q", "é", "\\", "{", "}", "(?-)", "(?)", "z-a", "a-z",
    ]
)  # fmt: skip


@settings(max_examples=500)
@given(st.lists(PIECES, max_size=10).map("".join))
def test_re2_itself_agrees(pattern: str) -> None:
    re2 = import_module("re2")
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error:
        assert re2_error(pattern)
    else:
        assert re2_error(pattern) is None
