"""Without libyaml the reader reads the same, only slower."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
from reading import data_of, errors_of, read

from trainc.reading import event_parser, nodes


@pytest.fixture(autouse=True)
def python_parser(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The reader on PyYAML's own parser, as on a machine whose PyYAML was built without libyaml."""
    original = event_parser.EventParser
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "yaml._yaml", None)
        importlib.reload(event_parser)
    monkeypatch.setattr(nodes, "EventParser", event_parser.EventParser)
    assert event_parser.EventParser is not original
    yield event_parser
    event_parser.EventParser = original  # type: ignore[misc]


def test_documents_read_the_same() -> None:
    text = "a: 0400\nb: &x [yes, '1']\nc: |\n  one\n  two\nd: *x\ne: {<<: {f: 1}, g: \u00e9\U0001f600}\n---\nh: ! 12\n"
    assert data_of(text) == [
        {"a": 256, "b": [True, "1"], "c": "one\ntwo\n", "d": [True, "1"], "e": {"f": 1, "g": "\u00e9\U0001f600"}},
        {"h": "12"},
    ]


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("a: [1, 2\nb: 3\n", [("YAMLSyntax", 1, 4)]),
        ("a: {x: 1\n", [("YAMLSyntax", 1, 4)]),
        ("a: 'x\n", [("YAMLSyntax", 1, 4)]),
        ("a:\n\tb: 1\n", [("YAMLSyntax", 2, 1)]),
        ("a: @b\n", [("YAMLSyntax", 1, 4)]),
        ("a: - b\n", [("YAMLSyntax", 1, 4)]),
        ('a: "\\ud800"\n', [("YAMLSyntax", 1, 4)]),
        ("a: 1\n...\nb: 2\n", [("YAMLSyntax", 2, 1)]),
        ("a: 1\nb: 2\na: 3\n", [("DuplicateKey", 3, 1)]),
        ("a: " + "[" * 10_000 + "\n", [("TooDeep", 1, 103)]),
    ],
)
def test_errors_are_the_same(text: str, errors: list[tuple[str, int, int]]) -> None:
    assert errors_of(text) == errors


def test_positions_are_the_same() -> None:
    [document], _ = read("\u00e9: 1\na:\n- b: 2\n")
    assert str(document.locate(("a", 0, "b"))) == "jobs.yaml:3:3"
