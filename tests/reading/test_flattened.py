"""Documents whose indentation was lost are told apart from documents that are merely short or wrong."""

from __future__ import annotations

import pytest
from reading import data_of, errors_of, read
from tables import cases


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("apiVersion: v1\nkind: TrainJob\nmetadata:\nname: x\nspec:\nruntimeRef:\nname: y\nkind: Z\n", 3),
        ("mlPolicy:\nnumNodes: 3\ntorch:\nnumProcPerNode: gpu\n", 1),
        ("jobs:\n- name: x\ntemplate:\nspec:\ncontainers:\n- name: y\n", 4),
        ("metadata: # who\n# nobody\nname: x\n", 1),
        ("  metadata:\n  name: x\n", 1),
        ("metadata:\r\nname: x\r\n", 1),
        ("metadata:\nname: x\ncommand:\n- |\necho one\necho two\n", 1),
        ("metadata:\nname: x\nkind: [\n", 1),
    ],
)
def test_lost_indentation_is_the_one_error(text: str, line: int) -> None:
    [(code, at, _)] = errors_of(text)
    assert (code, at) == ("FlattenedYAML", line)


@cases("text")
def test_other_documents_are_not_taken_for_flattened(text: str) -> None:
    assert "FlattenedYAML" not in {code for code, _, _ in errors_of(text)}


def test_a_document_that_names_nulls_is_read() -> None:
    assert data_of("kind: A\nmetadata: null\nname: x\n") == [{"kind": "A", "metadata": None, "name": "x"}]


def test_the_message_names_both_keys() -> None:
    _, [error] = read("metadata:\nname: x\n")
    assert "`metadata:`" in error.message
    assert "`name:`" in error.message


@pytest.mark.parametrize("placeholder", ["...", "\u2026"])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("spec:\n  name: x\n  {0}\n", 3),
        ("spec:\n  {0}\n  name: x\n", 2),
        ("jobs:\n- name: x\n  {0}\n- name: y\n", 3),
        ("kind: A\n{0}\nname: x\n", 2),
        ("metadata:\n  name: x\n\n  {0}\n\nspec: 1\n", 4),
    ],
)
def test_an_ellipsis_is_named_as_such(text: str, line: int, placeholder: str) -> None:
    [(code, at, _)] = errors_of(text.format(placeholder))
    assert (code, at) == ("YAMLSyntax", line)
    _, [error] = read(text.format(placeholder))
    assert "ellipsis" in error.hint


def test_an_ellipsis_elsewhere_is_not_blamed() -> None:
    _, [error] = read("command: |\n  def f():\n    ...\nname: [x\n")
    assert "ellipsis" not in error.hint
    assert str(error.source) == "jobs.yaml:4:7"


# In one line, so that a search for conflicts does not find it.
CONFLICT = "metadata:\n<<<<<<< HEAD\n  name: x\n=======\n  name: y\n>>>>>>> other\n"


@pytest.mark.parametrize("text", [CONFLICT, CONFLICT.replace("  name", "\tname"), f"spec: 1\n{CONFLICT}"])
def test_a_merge_conflict_is_named_as_such(text: str) -> None:
    _, [error] = read(text)
    assert error.message == "this is an unresolved merge conflict"
    assert error.source is not None
    assert text.splitlines()[error.source.line - 1] == "<<<<<<< HEAD"


def test_arrows_in_a_text_are_not_a_merge_conflict() -> None:
    _, [error] = read("command: |\n  <<<<<<< HEAD\nname: [x\n")
    assert "conflict" not in error.message
