"""Without libyaml the reader reads the same, only slower."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest
from hypothesis import given, settings, strategies as st
from reading import data_of, errors_of, read
from tables import cases

from trainc.reading import libyaml

CASES = [path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parents[1] / "cases").glob("*.yaml"))]
LIBYAML = libyaml.EventParser


@pytest.fixture(autouse=True, scope="module")
def python_parser() -> Iterator[ModuleType]:
    """The reader on PyYAML's own parser, as on a machine whose PyYAML was built without libyaml."""
    original = libyaml.EventParser
    with patch.dict(sys.modules, {"yaml._yaml": None}):
        importlib.reload(libyaml)
    assert libyaml.EventParser is not original
    with patch.object(libyaml, "EventParser", libyaml.EventParser):
        yield libyaml
    libyaml.EventParser = original  # type: ignore[misc]


def test_documents_read_the_same() -> None:
    text = "a: 0400\nb: &x [yes, '1']\nc: |\n  one\n  two\nd: *x\ne: {<<: {f: 1}, g: \u00e9\U0001f600}\n---\nh: ! 12\n"
    assert data_of(text) == [
        {"a": 256, "b": [True, "1"], "c": "one\ntwo\n", "d": [True, "1"], "e": {"f": 1, "g": "\u00e9\U0001f600"}},
        {"h": "12"},
    ]


@cases("text", "errors")
def test_errors_are_the_same(text: str, errors: list[tuple[str, int, int]]) -> None:
    assert errors_of(text) == [tuple(each) for each in errors]


@pytest.mark.parametrize("text", ["a:\t1\n", "a: 1\t# one\n", "a: [1,\t2]\n", "a: {b: 1,\tc: 2}\t\n", "a:\n- b:\t1\n"])
def test_tabs_that_indent_nothing_are_read(text: str) -> None:
    assert data_of(text) == data_of(text.replace("\t", " "))


@pytest.mark.parametrize(
    "text", ["a: {b:, c: 1}\n", "a: [b:]\n", "a: {b :,c}\n", "a: {b:[1]}\n", "a: [b:?c]\n", "a: {b:{c: 1}}\n"]
)
def test_a_colon_that_only_one_parser_takes_for_the_end_of_a_key_is_refused(text: str) -> None:
    assert errors_of(text)


# What may be wrong with a line, a tab inside text included, which only libyaml reads.
_DAMAGE = st.sampled_from([*list("\t\"'{}[]#&*!|>%@`,?:- \n"), ": ", "? ", "- ", "&a ", "*a", "---\n", "<<: *a"])


@given(text=st.sampled_from(CASES), damage=_DAMAGE, at=st.floats(0, 1, exclude_max=True))
@settings(max_examples=300)
def test_whatever_it_reads_libyaml_reads_the_same(text: str, damage: str, at: float) -> None:
    place = int(len(text) * at)
    damaged = text[:place] + damage + text[place:]
    documents, problems = read(damaged)
    if not problems:
        with patch.object(libyaml, "EventParser", LIBYAML):
            assert ([document.data for document in documents], []) == (data_of(damaged), errors_of(damaged))


def test_positions_are_the_same() -> None:
    [document], _ = read("\u00e9: 1\na:\n- b: 2\n")
    assert str(document.locate(("a", 0, "b"))) == "jobs.yaml:3:3"
