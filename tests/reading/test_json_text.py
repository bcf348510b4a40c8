"""JSON input: one object, several in a row, and what only looks like JSON."""

from __future__ import annotations

import pytest
from reading import data_of, errors_of, read
from tables import cases


@cases("text", "documents")
def test_json_reads_as(text: str, documents: list[object]) -> None:
    assert data_of(text) == documents


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ('{"a": 1, "a": 2}', [("DuplicateKey", 1, 10)]),
        ('{"a": "\\ud800"}', [("YAMLSyntax", 1, 10)]),
        ('{"a": 1}\n{"b": 1, "b": 2}', [("DuplicateKey", 2, 10)]),
        ('{"a": 1}\n{"b": [1}', [("YAMLSyntax", 2, 7)]),
        ('{"a": 1} {"b": .inf}', [("NonFiniteNumber", 1, 16)]),
        ('[{"a": 1}]', [("NotAnObject", 1, 1)]),
    ],
)
def test_json_is_refused_at(text: str, errors: list[tuple[str, int, int]]) -> None:
    assert errors_of(text) == errors


def test_an_object_that_reads_is_kept_next_to_one_that_does_not() -> None:
    documents, [error] = read('{"a": 1}\n{"b": [1}\n')
    assert [document.data for document in documents] == [{"a": 1}]
    assert error.code == "YAMLSyntax"


def test_positions_in_json_are_those_of_the_text() -> None:
    documents, _ = read('{"a": {"\\ud83d\\ude00": 1,\n  "c": 2}} {"d": [5]}')
    assert str(documents[0].locate(("a", "c"))) == "jobs.yaml:2:3"
    assert str(documents[1].locate(("d",))) == "jobs.yaml:2:13"
    assert str(documents[1].locate(("d", 0))) == "jobs.yaml:2:19"
