"""Which strings are written bare: the forms as a grammar, which the code finds out without a regular expression."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, strategies as st

from trainc.emit.yaml_writer import inline, literal

INSIDE = "[!-9;-~\u00e9\u0663\uff21]"  # All that is visible but the colon.
WORD = rf"(?:[A-Za-z_/$(\u00e9\u0663\uff21]|--?[A-Za-z]|\.\.?/){INSIDE}*(?:(?::+| +(?!#)){INSIDE}+)*"
QUANTITY = r"[0-9]+(?:\.[0-9]+)?(?:m|[KMGTPE]i|[kMGTP])"
CHARACTERS = "aZ09_-./$(:# \t\n\"'~{&*!\x07\x7f\u00e9\uff21\u00a0\u2028\u0663miEk"
PIECES = st.sampled_from((*CHARACTERS, "Ki", "yes", "NULL"))


@given(text=st.lists(PIECES, max_size=6).map("".join))
@example(text="registry.example.com/pretrain:1.0.2")
@example(text="64Gi")
@example(text="1.5E")
@example(text="1\u0663Ki")
@example(text="a1Ki")
@example(text="0x1E")
@example(text="1.xM")
@example(text="--lr=3e-4")
def test_a_string_is_bare_where_its_form_is_harmless(text: str) -> None:
    bare = re.fullmatch(f"{WORD}|{QUANTITY}", text) and text.lower() not in ("yes", "null")
    assert (inline(text) == text) == bool(bare)


@given(text=st.lists(PIECES, max_size=6).map("".join))
def test_a_block_holds_what_is_visible_with_tabs_and_line_feeds(text: str) -> None:
    holds = re.fullmatch("[\t\n -~\u00e9\uff21\u0663]*", text) and text.strip("\n")
    assert (literal(text, "  ") is not None) == bool(holds)


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\x7f", "\u0085", "\u200b", "\ufeff"])
def test_what_no_reader_of_a_diff_could_see_is_escaped(character: str) -> None:
    assert inline(f"a{character}b") == f'"a\\u{ord(character):04x}b"'
